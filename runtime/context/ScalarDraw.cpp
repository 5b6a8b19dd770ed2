#include "context/ScalarDraw.h"

#include "check/Scalars.h"
#include "context/Parameters.h"
#include "context/Values.h"

#include <algorithm>
#include <limits>

namespace coll {

static bool isWhole(const Manifest::Scalar &scalar) { return scalar.type != "rank" && !isFloatName(scalar.type); }

ScalarDraw::ScalarDraw(const Manifest &manifest, const ir::Program *program)
    : scalars(manifest.scalars), ranks(manifest.ranks), each(scalars.size()) {
  if (!program || std::none_of(scalars.begin(), scalars.end(), isWhole)) return; // any rank is as good as another
  check::ScalarClasses classes = check::scalarClasses(*program);
  together = std::move(classes.values), each = std::move(classes.each);
  // A number that is only computed with says nothing of its limits.
  for (std::size_t i = 0; i < scalars.size(); ++i)
    if (scalars[i].least == std::numeric_limits<std::int64_t>::min()) each[i].clear();
}

/// One that has the values that are given. Every other launch takes the next one, so that few seeds see all; else any may
/// follow any.
const ScalarDraw::Values *ScalarDraw::combination(const RunRequest &request, std::uint64_t number, std::uint64_t random) const {
  const auto fits = [&](const Values &values) {
    for (std::size_t i = 0; i < scalars.size(); ++i) {
      const auto given = request.scalars.find(scalars[i].name);
      if (given == request.scalars.end() || each[i].empty()) continue;
      if (parseScalar(given->second, scalars[i].type).integer != values[i]) return false;
    }
    return true;
  };
  const std::size_t count = together.size();
  const std::uint64_t next = request.seed * ((request.launches + 1) / 2) + number / 2;
  for (std::size_t i = 0, from = (number % 2 ? random : next) % std::max<std::size_t>(count, 1); i < count; ++i)
    if (const Values &values = together[(from + i) % count]; fits(values)) return &values;
  return nullptr;
}

/// Mostly one of those that stand for all, but also one beside them, or any: it is to have the outcome of one of them.
std::string ScalarDraw::open(std::size_t scalar, std::uint64_t random) const {
  const Manifest::Scalar &declared = scalars[scalar];
  if (declared.type == "rank") return std::to_string(random % std::uint64_t(ranks));
  if (each[scalar].empty()) return "0";
  const std::int64_t one = each[scalar][mix(random, 1) % each[scalar].size()];
  std::int64_t value = one;
  if (random % 4 == 0) value = one + (random / 4 % 2 ? 1 : -1);
  if (random % 8 == 1) value = std::int64_t(mix(random, 2)) >> (random / 8 % 64); // of any magnitude
  return std::to_string(value < declared.least || value > declared.greatest ? one : value);
}

std::map<std::string, Scalar> ScalarDraw::at(const RunRequest &request, std::uint64_t number) const {
  const std::uint64_t whole = mix(request.seed, 0x5ca1a4);
  const std::uint64_t seen = mix(whole, number / 4) % 2 ? number : number / 4 * 4;
  const bool isTogether = mix(whole, seen + 1) % 4 != 0;
  const Values *values = isTogether ? combination(request, seen, mix(whole, seen)) : nullptr;
  std::map<std::string, Scalar> drawn;
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    const Manifest::Scalar &scalar = scalars[i];
    const auto given = request.scalars.find(scalar.name);
    const std::uint64_t key = mix(request.seed, 0x5ca1a5 + i);
    const bool stays = mix(key, number / 4) % 2 == 0;
    std::string text = open(i, mix(mix(key, 1), stays ? number / 4 : number));
    if (values && !each[i].empty()) text = std::to_string((*values)[i]);
    drawn.emplace(scalar.name, parseScalar(given == request.scalars.end() ? text : given->second, scalar.type));
  }
  return drawn;
}

} // namespace coll
