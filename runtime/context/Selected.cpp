// Context::collective: members of one collective and NCCL, chosen at each launch.
#include "context/Backend.h"
#include "context/LaunchPlan.h"
#include "context/Parameters.h"

#include <algorithm>
#include <map>

namespace coll {

struct SelectedCollective::State {
  State(Context &context, Selector selector, const CollectiveRequest &request)
      : backend(backendOf(context)), ranks(context.ranks()), selector(std::move(selector)),
        maxCtas(request.selection.maxCtas), call{0, request.dtype, ranks, request.inplace, request.op} {}

  std::uint64_t bytesOf(std::span<const std::uint64_t> extents) const;
  bool isLoaded(const Choice &choice) const;
  Error refusal(std::span<const std::uint64_t> extents) const;

  Backend &backend;
  const int ranks;
  const Selector selector;
  const unsigned maxCtas;
  const Call call; ///< but for its bytes
  std::vector<std::pair<std::string, Collective>> members; ///< by the name of the choice
  std::map<std::string, LaunchPlan> rows; ///< of those that go by rows: they take whole packets, so short rows take more room
  Result<void> takes(const Choice &choice, std::span<const std::uint64_t> extents) const {
    const auto plan = rows.find(choice.name);
    return plan == rows.end() ? Result<void>() : plan->second.checkExtents(extents);
  }
  std::optional<Manifest> contract;
  std::optional<LaunchPlan> plan; ///< of the contract
  std::optional<NcclCall> nccl;
};

bool SelectedCollective::State::isLoaded(const Choice &choice) const {
  return choice.isNccl() ? nccl.has_value()
                         : std::any_of(members.begin(), members.end(), [&](auto &each) { return each.first == choice.name; });
}

/// Why nothing can be chosen.
Error SelectedCollective::State::refusal(std::span<const std::uint64_t> extents) const {
  Call sized = call;
  sized.bytes = bytesOf(extents);
  for (const Choice &choice : selector.ranked(sized))
    if (auto taken = takes(choice, extents); isLoaded(choice) && !taken) return taken.error();
  return {Error::Code::BadInput, "`" + contract->collective + "`: no member and no NCCL for " + std::to_string(sized.bytes) + " bytes"};
}

/// Bytes of the largest argument.
std::uint64_t SelectedCollective::State::bytesOf(std::span<const std::uint64_t> extents) const {
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < contract->arguments.size(); ++i) {
    std::uint64_t bytes = plan->argumentElements(i, extents);
    if (__builtin_mul_overflow(bytes, std::uint64_t(sizeOf(contract->arguments[i].dtype)), &bytes)) bytes = UINT64_MAX;
    most = std::max(most, bytes);
  }
  return most;
}

const Selector &SelectedCollective::selector() const {
  return state->selector;
}

const Manifest &SelectedCollective::contract() const {
  return *state->contract;
}

const Choice &SelectedCollective::choose(std::span<const std::uint64_t> extents) const {
  static const Choice kNone;
  if (extents.size() != state->contract->extents.size()) return kNone;
  Call call = state->call;
  call.bytes = state->bytesOf(extents);
  const std::vector<Choice> &ranked = state->selector.ranked(call);
  if (state->rows.empty()) return ranked.front();
  const auto takes = [&](const Choice &choice) { return state->isLoaded(choice) && bool(state->takes(choice, extents)); };
  const auto best = std::find_if(ranked.begin(), ranked.end(), takes);
  return best == ranked.end() ? kNone : *best;
}

Result<void> SelectedCollective::launch(std::span<const std::vector<void *>> buffers,
                                        std::span<const std::uint64_t> extents, std::span<const Scalar> scalars,
                                        std::span<void *const> streams) const {
  const Manifest &contract = *state->contract;
  const auto bad = [&](const std::string &text) {
    return Error{Error::Code::BadInput, "`" + contract.collective + "`: " + text};
  };
  const std::span<const int> own = state->backend.ownRanks();
  if (buffers.size() != own.size() || (!streams.empty() && streams.size() != own.size()))
    return bad("it takes buffers, and streams if any, of each of " + std::to_string(own.size()) + " ranks");
  if (extents.size() != contract.extents.size())
    return bad("it takes " + std::to_string(contract.extents.size()) + " extents");
  const Choice &choice = choose(extents);
  if (!choice) return state->refusal(extents);
  if (choice.isNccl()) {
    for (const std::vector<void *> &ofRank : buffers)
      if (ofRank.size() != contract.arguments.size())
        return bad("it takes " + std::to_string(contract.arguments.size()) + " buffers of each rank");
    if (scalars.size() != contract.scalars.size()) return bad("it takes " + std::to_string(contract.scalars.size()) + " scalars");
    for (std::size_t i = 0; i < scalars.size(); ++i)
      if (!isAllowed(contract.scalars[i], scalars[i])) return bad(scalarBeyond(contract, contract.scalars[i], scalars[i]));
    return state->backend.launchNccl(*state->nccl, buffers, extents, scalars.empty() ? 0 : int(scalars[0].integer),
                                     streams);
  }
  const auto member = std::find_if(state->members.begin(), state->members.end(),
                                   [&](const auto &each) { return each.first == choice.name; });
  const Shape shape{choice.ctas, choice.threads, state->maxCtas};
  for (std::size_t i = 0; i < own.size(); ++i)
    if (auto done = member->second.launch(own[i], buffers[i], extents, scalars, streams.empty() ? nullptr : streams[i], shape);
        !done)
      return done;
  return {};
}

Result<SelectedCollective> Context::collective(const Program &program, const CollectiveRequest &request) {
  SelectionOptions options = request.selection;
  if (options.gpu.empty()) options.gpu = backendOf(*this).gpuName();
  options.nccl &= backendOf(*this).hasNccl();
  options.ncclSymmetric = false; // no memory of a context is registered so
  options.unsplitBytes = std::min(options.unsplitBytes, backendOf(*this).unsplitBytes());
  auto selector = Selector::create(program, request.collective, options);
  if (!selector) return selector.error();
  auto made = std::make_shared<SelectedCollective::State>(*this, std::move(*selector), request);
  bool usesNccl = false, rows = false;
  std::vector<std::string> names;
  std::vector<Kernel> kernels;
  for (const Selector::Step &step : made->selector.steps(made->call))
    for (const Choice &choice : step.choices) {
      // What is second best has a turn only where the best may not take rows as short as a call's.
      if (&choice != &step.choices.front() && !rows) break;
      usesNccl |= choice.isNccl() && &choice == &step.choices.front();
      if (!choice || choice.isNccl() || std::find(names.begin(), names.end(), choice.name) != names.end()) continue;
      auto kernel = compiled(program, {request.collective + "." + choice.name, ranks(), request.dtype, request.op});
      if (!kernel) return kernel.error();
      rows |= kernel->manifest.domain.rows;
      names.push_back(choice.name);
      kernels.push_back(std::move(*kernel));
    }
  auto members = load(kernels);
  if (!members) return members.error();
  for (std::size_t i = 0; i < names.size(); ++i) {
    made->members.emplace_back(names[i], (*members)[i]);
    const Manifest &manifest = (*members)[i].manifest();
    if (manifest.domain.rows) made->rows.emplace(names[i], LaunchPlan(manifest));
  }
  if (made->members.empty())
    return Error{Error::Code::BadInput, "no member of `" + request.collective + "` would ever be chosen for " +
                                            std::to_string(ranks()) + " ranks and " +
                                            std::string(keyword(request.dtype))};
  made->contract = made->members.front().second.manifest();
  made->plan.emplace(*made->contract);
  made->nccl = NcclCall::of(*made->contract);
  if (usesNccl && !made->nccl)
    return Error{Error::Code::BadInput, "NCCL has no `" + request.collective + "` with these arguments"};
  return SelectedCollective(std::move(made));
}

} // namespace coll
