#include "coll/Selection.h"

#include "platform/Env.h"
#include "selection/Candidates.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <tuple>

namespace coll {

using namespace selection;

struct Selector::State {
  using Key = std::tuple<DType, int, bool, ReduceOp>; ///< type, ranks, in place, operator

  State(const Program &program, const std::string &collective, const SelectionOptions &options, Table table)
      : options(options), candidates(program, collective, options, std::move(table)) {}

  const std::vector<Step> &steps(const Call &call) const {
    const std::lock_guard held(mutex);
    auto [place, isNew] = known.try_emplace({call.dtype, call.ranks, call.inplace, call.op});
    if (isNew) place->second = compute(call);
    return place->second;
  }

  const SelectionOptions options;
  const Candidates candidates;

private:
  std::vector<Step> compute(Call call) const;

  mutable std::mutex mutex;
  mutable std::map<Key, std::vector<Step>> known;
};

namespace {

constexpr unsigned kLargestShift = 40; ///< 1 TiB: above, nothing changes

/// Where a decision may change: powers of two and the middles between them, the bounds of members, and the measured
/// sizes. A decision made for one of them holds down to the one before, so all of a member's sizes are within its bound.
std::set<std::uint64_t> sizesOf(const Candidates &candidates, const Call &call) {
  std::set<std::uint64_t> sizes = {0, 1};
  for (unsigned shift = 1; shift <= kLargestShift; ++shift) {
    sizes.insert(1ull << shift);
    if (shift > 1) sizes.insert(3ull << (shift - 2));
  }
  candidates.addSizes(call, sizes);
  return sizes;
}

bool alike(const std::vector<Choice> &a, const std::vector<Choice> &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Choice &x, const Choice &y) {
    return x.name == y.name && x.ctas == y.ctas && x.threads == y.threads && x.nanoseconds == y.nanoseconds;
  });
}

Result<std::string> tableText(const SelectionOptions &options, std::string &name) {
  name = "table";
  if (!options.table.empty()) return options.table;
  const auto file = env::get(env::Variable::Table);
  if (!file) return std::string();
  name = *file;
  std::ifstream stream(*file, std::ios::binary);
  if (!stream) return Error{Error::Code::BadInput, "`" + *file + "` (COLL_TABLE) cannot be read"};
  return std::string{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

} // namespace

std::vector<Selector::Step> Selector::State::compute(Call call) const {
  std::vector<Step> result;
  for (std::uint64_t size : sizesOf(candidates, call)) {
    call.bytes = size;
    std::vector<Choice> choices = candidates.ranked(call);
    if (choices.empty()) choices.emplace_back();
    if (!result.empty() && alike(result.back().choices, choices))
      result.back().upTo = size;
    else
      result.push_back({size, std::move(choices)});
  }
  return result;
}

Result<Selector> Selector::create(const Program &program, const std::string &collective,
                                  const SelectionOptions &options) {
  std::string name;
  auto text = tableText(options, name);
  if (!text) return text.error();
  Table table;
  if (!text->empty()) {
    auto parsed = Table::parse(*text, name);
    if (!parsed) return parsed.error();
    table = std::move(*parsed);
  }
  if (!options.order.empty() && options.order != "ascending" && options.order != "fixed")
    return Error{Error::Code::BadInput, "order class `" + options.order + "`; known are ascending, fixed"};
  auto made = std::make_shared<State>(program, collective, options, std::move(table));
  if (!made->candidates.any())
    return Error{Error::Code::BadInput,
                 "no way to carry out `" + collective + "`" +
                     (options.algorithm.empty() ? "" : " with algorithm `" + options.algorithm + "`") +
                     (options.order.empty() ? "" : " in order class `" + options.order + "`")};
  return Selector(std::move(made));
}

const std::vector<Choice> &Selector::ranked(const Call &call) const {
  const std::vector<Step> &all = steps(call);
  const auto found = std::lower_bound(all.begin(), all.end(), call.bytes,
                                      [](const Step &step, std::uint64_t bytes) { return step.upTo < bytes; });
  return found == all.end() ? all.back().choices : found->choices;
}

bool Selector::shouldUse(std::uint64_t bytes, DType dtype, int ranks) const {
  const Choice choice = choose({bytes, dtype, ranks});
  return choice && !choice.isNccl();
}

const std::vector<Selector::Step> &Selector::steps(const Call &call) const {
  return state->steps(call);
}

const selection::Candidates &candidatesOf(const Selector &selector) {
  return selector.state->candidates;
}

std::uint64_t Selector::hash() const {
  return state->candidates.hash();
}

} // namespace coll
