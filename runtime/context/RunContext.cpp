#include "context/RunContext.h"

#include "platform/Machine.h"

namespace coll {

Result<Context> contextFor(const RunRequest &request, int ranks) {
  if (request.place == Place::Gpu)
    if (auto machine = machineGpus(); !machine) return machine.error();
  ContextOptions options;
  options.multicast = request.multicast;
  options.ranks = ranks;
  options.fabric = request.place == Place::Cpu ? FabricKind::Emulated : request.fabric;
  options.timeoutSeconds = request.timeoutSeconds;
  for (int gpu = 0; gpu < request.gpus; ++gpu) options.gpus.push_back(gpu);
  auto context = Context::create(options);
  if (context && request.place == Place::Gpu && context->fabric() == FabricKind::Emulated)
    return Error{Error::Code::MachineLacks, "there is no GPU, or COLL_FABRIC asks for emulated ranks"};
  return context;
}

Result<RunMemory> RunMemory::allocate(Context &context, std::uint64_t bytes, bool isSymmetric) {
  RunMemory memory;
  if (isSymmetric) {
    auto buffer = context.allocateSymmetric(bytes);
    if (!buffer) return buffer.error();
    memory.symmetric = *buffer;
    for (int rank = 0; rank < context.ranks(); ++rank) memory.parts.push_back(buffer->address(rank));
    return memory;
  }
  for (int rank = 0; rank < context.ranks(); ++rank) {
    auto part = context.allocate(rank, bytes);
    if (!part) return part.error();
    memory.parts.push_back(*part);
  }
  return memory;
}

void RunMemory::release(Context &context) const {
  if (symmetric) return context.release(*symmetric);
  for (int rank = 0; rank < context.ranks(); ++rank) context.release(rank, parts[std::size_t(rank)]);
}

} // namespace coll
