// Context::collective: members of one collective and NCCL, chosen at each launch.
#include "context/Backend.h"

#include <algorithm>

namespace coll {

struct SelectedCollective::State {
  State(Context &context, Selector selector, const CollectiveRequest &request)
      : backend(backendOf(context)), ranks(context.ranks()), selector(std::move(selector)),
        maxCtas(request.selection.maxCtas), call{0, request.dtype, ranks, request.inplace, request.op} {}

  std::uint64_t bytesOf(std::span<const std::uint64_t> extents) const;

  Backend &backend;
  const int ranks;
  const Selector selector;
  const unsigned maxCtas;
  const Call call; ///< but for its bytes
  std::vector<std::pair<std::string, Collective>> members; ///< by the name of the choice
  std::optional<Manifest> contract;
  std::optional<NcclCall> nccl;
};

/// Bytes of the largest argument.
std::uint64_t SelectedCollective::State::bytesOf(std::span<const std::uint64_t> values) const {
  std::uint64_t most = 0;
  for (const Manifest::Argument &argument : contract->arguments) {
    std::uint64_t bytes = sizeOf(argument.dtype);
    bool large = false;
    for (const std::string &extent : argument.extents) {
      const auto at = std::find(contract->extents.begin(), contract->extents.end(), extent) - contract->extents.begin();
      const std::uint64_t factor = std::size_t(at) < contract->extents.size() ? values[std::size_t(at)]
                                   : extent == "N"                            ? std::uint64_t(ranks)
                                                                              : std::stoull(extent);
      large |= __builtin_mul_overflow(bytes, factor, &bytes);
    }
    most = std::max(most, large ? UINT64_MAX : bytes);
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
  return state->selector.ranked(call).front();
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
  if (!choice) return bad("no member and no NCCL for " + std::to_string(state->bytesOf(extents)) + " bytes");
  if (choice.isNccl()) {
    for (const std::vector<void *> &ofRank : buffers)
      if (ofRank.size() != contract.arguments.size())
        return bad("it takes " + std::to_string(contract.arguments.size()) + " buffers of each rank");
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
  options.nccl &= backendOf(*this).hasNccl();
  options.symmetric = false;
  options.unsplitBytes = std::min(options.unsplitBytes, backendOf(*this).unsplitBytes());
  auto selector = Selector::create(program, request.collective, options);
  if (!selector) return selector.error();
  auto made = std::make_shared<SelectedCollective::State>(*this, std::move(*selector), request);
  bool usesNccl = false;
  for (const Selector::Step &step : made->selector.steps(made->call)) {
    const Choice &choice = step.choices.front();
    usesNccl |= choice.isNccl();
    if (!choice || choice.isNccl()) continue;
    if (std::any_of(made->members.begin(), made->members.end(), [&](auto &each) { return each.first == choice.name; }))
      continue;
    auto member = load(program, {request.collective + "." + choice.name, ranks(), request.dtype, request.op});
    if (!member) return member.error();
    made->members.emplace_back(choice.name, *member);
  }
  if (made->members.empty())
    return Error{Error::Code::BadInput, "no member of `" + request.collective + "` would ever be chosen for " +
                                            std::to_string(ranks()) + " ranks and " +
                                            std::string(keyword(request.dtype))};
  made->contract = made->members.front().second.manifest();
  made->nccl = NcclCall::of(*made->contract);
  if (usesNccl && !made->nccl)
    return Error{Error::Code::BadInput, "NCCL has no `" + request.collective + "` with these arguments"};
  return SelectedCollective(std::move(made));
}

} // namespace coll
