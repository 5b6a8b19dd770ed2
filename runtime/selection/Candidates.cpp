#include "selection/Candidates.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace coll::selection {
namespace {

constexpr const char *kNcclNames[] = {"nccl", "nccl-symmetric"};
/// Nanoseconds: what the model alone says differs by less is alike, and the first name is taken.
constexpr std::uint64_t kModelStep = 50;
constexpr const char *kDefaultGpu = "NVIDIA H200";

bool isNccl(const std::string &name) {
  return name.rfind("nccl", 0) == 0;
}

bool isNamedBy(const Member &member, const std::string &given) {
  return member.algorithm == given || member.name == given || member.algorithm.rfind(given + ".", 0) == 0 ||
         member.name.rfind(given + ".", 0) == 0;
}

template <class Value>
bool contains(const std::vector<Value> &list, const Value &value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// How near a measurement is to a call: the less the better. The same type before one of its size, before any; then
/// the same GPU; then the same placement.
int distance(const Section &section, const Call &call, const std::string &gpu) {
  const DType measured = parseDType(section.dtype).value_or(DType::F32);
  const int type = measured == call.dtype ? 0 : sizeOf(measured) == sizeOf(call.dtype) ? 1 : 2;
  return type * 4 + (section.gpu != gpu) * 2 + (section.inplace != call.inplace);
}

/// A line that is drawn on far beyond what was measured is no measurement.
bool endsBelow(const Curve &curve, std::uint64_t bytes) {
  return bytes / 2 > curve.points.back().bytes;
}

SelectionOptions withDefaults(SelectionOptions options) {
  if (options.gpu.empty()) options.gpu = kDefaultGpu;
  return options;
}

/// FNV-1a.
void mix(std::uint64_t &hash, const std::string &text) {
  for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3ull;
  hash = (hash ^ 0xff) * 0x100000001b3ull;
}

} // namespace

Candidates::Candidates(const Program &program, const std::string &collective, const SelectionOptions &options,
                       Table own)
    : program(program), collective(collective), options(withDefaults(options)), tables(std::move(own)),
      ownSections(tables.sections.size()) {
  for (const Section &section : builtinTable().sections) tables.sections.push_back(section);
  bool onlyCopies = true;
  std::vector<const Member *> withMulticast; // where there is none, they are loops
  for (const Member &member : program.members()) {
    if (member.collective != collective) continue;
    onlyCopies &= member.ops.empty();
    if (!options.algorithm.empty() && !isNamedBy(member, options.algorithm)) continue;
    if (!options.order.empty() && !member.ops.empty() && member.order != options.order) continue;
    if (member.unsplitBytes > options.unsplitBytes) continue;
    if (program.emittable(member).empty()) continue; // after what costs nothing to find out
    // Who names one means its loops.
    const bool needsMulticast = member.usesMulticast && !options.multicast && options.algorithm.empty();
    (needsMulticast ? withMulticast : members).push_back(&member);
  }
  if (members.empty()) members = std::move(withMulticast); // a loop is slow, but right
  // NCCL promises no order of its sums, and neither how many CTAs it takes.
  nccl = options.nccl && options.algorithm.empty() && options.maxCtas == 0 && ncclHas(collective) &&
         (options.order.empty() || onlyCopies);
}

std::string Candidates::reasonAgainst(const Member &member, const Call &call) const {
  if (call.ranks < member.minRanks || call.ranks > member.maxRanks)
    return "offered for " + std::to_string(member.minRanks) + " to " + std::to_string(member.maxRanks) + " ranks";
  if (!contains(member.dtypes, call.dtype)) return "not offered for " + std::string(keyword(call.dtype));
  if (member.maxBytes && call.bytes > member.maxBytes) return "made for up to " + std::to_string(member.maxBytes) + " bytes";
  if (!member.ops.empty() && !contains(member.ops, call.op)) return "not offered for " + std::string(keyword(call.op));
  if (member.outOfPlace && call.inplace) return "not for calls in place";
  if (!manifestOf(member, call.ranks, call.dtype, call.op))
    return "it cannot be emitted for these ranks, types and operators; `coll emit` says why";
  if (!options.symmetric && hasWindows(member, call)) return "opens windows, for which buffers must be in symmetric memory";
  return "";
}

bool Candidates::includes(const Member &member) const {
  return contains(members, &member);
}

const Member *Candidates::memberOf(const std::string &name) const {
  for (const Member *member : members)
    if (member->algorithm == name) return member;
  return nullptr;
}

const Manifest *Candidates::manifestOf(const Member &member, int ranks, DType dtype, ReduceOp op) const {
  const std::lock_guard held(mutex);
  auto [place, isNew] = manifests.try_emplace({member.name, ranks, dtype, op});
  if (isNew) {
    CompileOptions unchecked;
    unchecked.unchecked = true; // load() asks the checker
    Diagnostics ignored;
    if (const auto kernel = program.compile({member.name, ranks, dtype, op}, unchecked, ignored))
      place->second = kernel->manifest;
  }
  return place->second ? &*place->second : nullptr;
}

bool Candidates::hasWindows(const Member &member, const Call &call) const {
  const Manifest *manifest = manifestOf(member, call.ranks, call.dtype, call.op);
  return !manifest || manifest->hasWindows();
}

/// The nearest measurement of a way: for the call's number of ranks, or for the number nearest to it. One that ends below
/// the call says less of it than any that does not; then the caller's say more than the library's.
const Section *Candidates::sectionFor(const std::string &name, const Call &call, bool anyRanks) const {
  const Section *best = nullptr;
  const auto order = [&](const Section &section) {
    const bool own = &section < tables.sections.data() + ownSections;
    return std::tuple(std::abs(section.ranks - call.ranks), endsBelow(section.curves.at(name), call.bytes), !own,
                      distance(section, call, options.gpu));
  };
  for (const Section &section : tables.sections)
    if (section.collective == collective && (anyRanks || section.ranks == call.ranks) && section.curves.count(name))
      if (!best || order(section) < order(*best)) best = &section;
  return best;
}

std::optional<Terms> Candidates::termsOf(const std::string &name, const Call &call, int ranks,
                                         const bench::Floors &floors) const {
  if (isNccl(name)) return ncclTerms(collective, ranks, call.bytes, floors);
  const Member *member = memberOf(name);
  if (!member || ranks < member->minRanks || ranks > member->maxRanks) return std::nullopt;
  const Manifest *manifest = manifestOf(*member, ranks, call.dtype, call.op);
  if (!manifest) return std::nullopt;
  return memberTerms(*manifest, member->maxBytes, call.bytes, floors);
}

std::set<std::string> Candidates::gpus() const {
  std::set<std::string> names;
  for (const Section &section : tables.sections) names.insert(section.gpu);
  return names;
}

const bench::Floors &Candidates::floorsFor(const Call &call) const {
  const Section *best = nullptr;
  for (const Section &section : tables.sections)
    if (!best || distance(section, call, options.gpu) < distance(*best, call, options.gpu)) best = &section;
  static const bench::Floors kNone{0.44, 0.54, 0.75, 390e3, ""};
  return best ? best->floors : kNone;
}

/// What the model leaves out of the members that were measured, at the most: what nobody measured is not taken for
/// better than that. Microseconds.
double Candidates::unexplained(const Call &call) const {
  constexpr double kOfNothing = 0.6; // as on two H200s
  double most = 0;
  for (const Member *member : members) {
    const Section *from = sectionFor(member->algorithm, call, /*anyRanks=*/true);
    const auto terms = from ? termsOf(member->algorithm, call, from->ranks, from->floors) : std::nullopt;
    if (terms && (!member->maxBytes || call.bytes <= member->maxBytes))
      most = std::max(most, double(from->curves.at(member->algorithm).at(call.bytes)) / 1e3 - terms->total());
  }
  return std::max(most, kOfNothing);
}

std::optional<Estimate> Candidates::estimate(const std::string &name, const Call &call) const {
  if (const Section *exact = sectionFor(name, call, /*anyRanks=*/false)) {
    const Curve &curve = exact->curves.at(name);
    const Point &shape = curve.shapeFor(call.bytes);
    return Estimate{curve.at(call.bytes), shape.ctas, shape.threads, endsBelow(curve, call.bytes), exact};
  }
  Estimate result;
  result.predicted = true;
  result.from = sectionFor(name, call, /*anyRanks=*/true);
  const bench::Floors &floors = result.from ? result.from->floors : floorsFor(call);
  const auto terms = termsOf(name, call, call.ranks, floors);
  if (!terms) return std::nullopt;
  double microseconds = terms->total();
  // What the model does not explain at the number of ranks that was measured is taken to be the same here.
  if (result.from) {
    if (const auto there = termsOf(name, call, result.from->ranks, floors))
      microseconds += double(result.from->curves.at(name).at(call.bytes)) / 1e3 - there->total();
    result.nanoseconds = std::uint64_t(std::max(1LL, std::llround(std::max(microseconds, terms->total()) * 1e3)));
    return result;
  }
  microseconds += unexplained(call);
  result.nanoseconds = (std::uint64_t(std::llround(microseconds * 1e3)) / kModelStep + 1) * kModelStep;
  return result;
}

std::vector<Choice> Candidates::ranked(const Call &call) const {
  std::vector<Choice> choices;
  std::set<std::string> unmeasured;
  std::uint64_t quickest = UINT64_MAX; // of those that were measured somewhere
  bool beyond = true;                  // whether all of them are drawn on from there
  const auto add = [&](const std::string &name) {
    const auto estimated = estimate(name, call);
    if (!estimated) return;
    if (estimated->from) quickest = std::min(quickest, estimated->nanoseconds), beyond &= estimated->predicted;
    else unmeasured.insert(name);
    Choice choice{name, estimated->ctas, estimated->threads, estimated->nanoseconds, estimated->predicted};
    if (options.maxCtas && choice.ctas > options.maxCtas) choice.ctas = options.maxCtas;
    choices.push_back(std::move(choice));
  };
  for (const Member *member : members)
    if (reasonAgainst(*member, call).empty()) add(member->algorithm);
  if (nccl)
    for (const char *name : kNcclNames)
      if (options.ncclSymmetric || name == std::string("nccl")) add(name);
  // Where nothing near was measured, what nobody has measured is not taken before what somebody has.
  for (Choice &choice : choices)
    if (beyond && quickest != UINT64_MAX && unmeasured.count(choice.name))
      choice.nanoseconds = std::max(choice.nanoseconds, quickest + (quickest != UINT64_MAX - 1));
  std::sort(choices.begin(), choices.end(), [](const Choice &a, const Choice &b) {
    return std::tie(a.nanoseconds, a.name) < std::tie(b.nanoseconds, b.name);
  });
  return choices;
}

void Candidates::addSizes(const Call &call, std::set<std::uint64_t> &sizes) const {
  for (const Member *member : members)
    if (member->maxBytes) sizes.insert(member->maxBytes);
  for (const Section &section : tables.sections)
    if (section.collective == collective && section.ranks == call.ranks)
      for (const auto &[name, curve] : section.curves)
        for (const Point &point : curve.points) sizes.insert(point.bytes);
}

std::uint64_t Candidates::hash() const {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  mix(hash, tables.toJson());
  mix(hash, collective + "\n" + options.gpu + "\n" + options.order + "\n" + options.algorithm + "\n" +
                std::to_string(options.maxCtas) + (nccl ? "n" : "-") + (options.symmetric ? "s" : "-") +
                (options.ncclSymmetric ? "s" : "-") +
                (options.multicast ? "m" : "-"));
  for (const Member *member : members) mix(hash, member->name + " " + std::to_string(member->maxBytes));
  return hash;
}

} // namespace coll::selection
