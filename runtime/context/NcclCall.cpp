#include "context/NcclCall.h"

#include <algorithm>

namespace coll {
namespace {

/// The number of ncclDataType_t.
int typeNumber(DType type) {
  switch (type) {
  case DType::I8: return 0;
  case DType::U8: return 1;
  case DType::I32: return 2;
  case DType::U32: return 3;
  case DType::I64: return 4;
  case DType::U64: return 5;
  case DType::F16: return 6;
  case DType::F32: return 7;
  case DType::F64: return 8;
  case DType::BF16: return 9;
  case DType::F8E4M3: return 10;
  case DType::F8E5M2: return 11;
  }
  return -1;
}

/// The number of ncclRedOp_t.
int opNumber(ReduceOp op) {
  switch (op) {
  case ReduceOp::Sum: return 0;
  case ReduceOp::Prod: return 1;
  case ReduceOp::Max: return 2;
  case ReduceOp::Min: return 3;
  case ReduceOp::Avg: return 4;
  }
  return -1;
}

} // namespace

NcclCall::NcclCall(Kind kind, const Manifest &contract) : kind(kind), contract(contract) {
  this->contract.promises.clear();
  for (std::size_t i = 0; i < contract.arguments.size(); ++i)
    (contract.arguments[i].direction == Direction::In ? in : out) = i;
}

std::optional<NcclCall> NcclCall::of(const Manifest &contract) {
  struct Name {
    const char *name;
    Kind kind;
  };
  static constexpr Name kNames[] = {{"allreduce", Kind::AllReduce}, {"reducescatter", Kind::ReduceScatter},
                                    {"reduce", Kind::Reduce},       {"allgather", Kind::AllGather},
                                    {"broadcast", Kind::Broadcast}, {"alltoall", Kind::AllToAll}};
  const auto count = [&](Direction direction) {
    return std::count_if(contract.arguments.begin(), contract.arguments.end(),
                         [&](const Manifest::Argument &argument) { return argument.direction == direction; });
  };
  if (contract.arguments.size() != 2 || count(Direction::In) != 1 || count(Direction::Out) != 1) return std::nullopt;
  std::string name = contract.collective;
  std::erase(name, '_');
  for (const Name &known : kNames)
    if (name == known.name) return NcclCall(known.kind, contract);
  return std::nullopt;
}

bool NcclCall::availableIn(const Nccl &nccl) const {
  return kind != Kind::AllToAll || nccl.allToAll;
}

int NcclCall::enqueue(const Nccl &nccl, NcclComm comm, std::span<void *const> pointers,
                      std::span<const std::uint64_t> values, int root, void *stream) const {
  Extents extents;
  for (std::size_t i = 0; i < contract.extents.size(); ++i) extents[contract.extents[i]] = values[i];
  const std::uint64_t sent = contract.elements(contract.arguments[in], extents);
  const std::uint64_t received = contract.elements(contract.arguments[out], extents);
  const void *from = pointers[in];
  void *to = pointers[out];
  const int type = typeNumber(contract.dtype), op = opNumber(contract.op.value_or(ReduceOp::Sum));
  switch (kind) {
  case Kind::AllReduce: return nccl.allReduce(from, to, sent, type, op, comm, stream);
  case Kind::ReduceScatter: return nccl.reduceScatter(from, to, received, type, op, comm, stream);
  case Kind::Reduce: return nccl.reduce(from, to, sent, type, op, root, comm, stream);
  case Kind::AllGather: return nccl.allGather(from, to, sent, type, comm, stream);
  case Kind::Broadcast: return nccl.broadcast(from, to, sent, type, root, comm, stream);
  case Kind::AllToAll: return nccl.allToAll(from, to, sent / std::uint64_t(contract.ranks), type, comm, stream);
  }
  return 0;
}

} // namespace coll
