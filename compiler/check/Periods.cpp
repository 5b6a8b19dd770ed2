#include "check/Periods.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace coll::check {
namespace {

using Kind = ir::Index::Kind;

constexpr std::int64_t kMostPeriod = 1 << 16;   ///< no program has such a one and a need for it
constexpr std::int64_t kMostFactor = 1 << 20;   ///< products of these do not overflow
constexpr double kMostBound = 1e15;             ///< up to there a double is exact
constexpr std::size_t kMostNumbers = 20000;
constexpr double kMostNear = 1000;              ///< between two scalars: numbers are looked at in pairs

/// Of the numbers from `low` to `high` so many that follow each other, as near to 0 as they lie.
void nearest(std::int64_t low, std::int64_t high, std::int64_t count, std::vector<std::int64_t> &out) {
  const std::int64_t first = high < 0 ? std::max(low, high - count + 1) : std::max<std::int64_t>(low, 0);
  // Across 0 they may reach the end of the range: then those before 0 do as well.
  const std::int64_t begin = std::max(low, std::min(first, high - count + 1));
  for (std::int64_t v = begin; v <= high && v < begin + count; ++v) out.push_back(v);
}

} // namespace

bool Periods::note(const ir::Index &i, std::optional<std::int64_t> most) {
  auto form = formOf(i);
  if (!form) return false;
  const std::int64_t together = std::lcm(period, form->period);
  if (form->up && (!most || !mark(alone(*form), -1, double(*most) + 1))) return isFollowed = most && !form->times, reason = i, false;
  if (together > kMostPeriod) return isFollowed = true, reason = i, false;
  period = together;
  return true;
}

// Take values of all related scalars in their order, with the spans of all of them. Where two that follow each other are
// more than `near` and a period apart, those above come down by periods until they are not, or those that nothing such
// parts from the span above them stay. No comparison changes, nor anything that repeats; and then each is in a span, or
// no further from one than that, as often as there are scalars. What a type ends with is a span.
void Periods::relate(std::vector<Periods> &all) {
  std::int64_t period = 1, near = 0, count = 0;
  std::vector<Range> spans{{0, 0}}; // so that small numbers are there
  for (const Periods &one : all) {
    if (!one.related) continue;
    ++count, near = std::max(near, one.near);
    period = std::min(std::lcm(period, one.period), kMostPeriod + 1);
    spans.insert(spans.end(), one.spans.begin(), one.spans.end());
    const Range &range = one.ranges.at(one.scalar);
    for (const double end : {range.low, range.high}) spans.push_back({end, end});
  }
  for (Periods &one : all)
    if (one.related) one.spans = spans, one.period = period, one.near = near, one.reach = count * (near + period);
}

/// The numbers that stand for those between two spans.
void Periods::fill(std::int64_t low, std::int64_t high, std::vector<std::int64_t> &all) const {
  if (!reach) return nearest(low, high, period, all);
  for (std::int64_t v = low; v <= high; ++v) {
    if (v == low + reach) v = std::max(v, high - reach + 1);
    all.push_back(v);
  }
}

std::optional<std::vector<std::int64_t>> Periods::numbers(std::int64_t low, std::int64_t high) const {
  std::vector<Range> sorted = spans;
  std::sort(sorted.begin(), sorted.end(), [](const Range &a, const Range &b) { return a.low < b.low; });
  std::vector<std::int64_t> all;
  if (period > kMostPeriod || reach > std::int64_t(kMostNumbers)) return std::nullopt;
  std::int64_t next = low; // all below are done
  for (const Range &span : sorted) {
    const std::int64_t begin = std::max(next, std::int64_t(span.low)), end = std::min(high, std::int64_t(span.high));
    if (end < next || begin > high) continue;
    if (begin > next) fill(next, begin - 1, all);
    if (std::size_t(end - begin) + all.size() > kMostNumbers) return std::nullopt;
    for (std::int64_t v = begin; v <= end; ++v) all.push_back(v);
    next = end + 1;
  }
  if (next <= high) fill(next, high, all);
  if (all.size() > kMostNumbers) return std::nullopt;
  return all;
}

/// Notes where a number may be between two bounds.
bool Periods::mark(const Form &form, double from, double to) {
  const double slope = double(form.up) / double(form.down);
  double low = (from - form.high) / slope, high = (to - form.low) / slope;
  if (slope < 0) std::swap(low, high);
  if (!(std::abs(low) < kMostBound && std::abs(high) < kMostBound && high - low < double(kMostNumbers))) return false;
  spans.push_back({std::floor(low) - 2, std::ceil(high) + 2});
  return true;
}

std::optional<Periods::Form> Periods::truth(const Form &difference) {
  if (!difference.up) return Form{0, 1, difference.period, 0, 1};
  const double rest = std::max(std::abs(difference.low), std::abs(difference.high));
  if (difference.times && difference.down == 1 && difference.up == -difference.times && std::abs(difference.up) == 1 && rest <= kMostNear) {
    related = true, near = std::max(near, std::int64_t(std::ceil(rest)));
    return Form{0, 1, difference.period, 0, 1};
  }
  if (!mark(alone(difference), 0, 0)) return isFollowed = !difference.times && std::isfinite(rest), std::nullopt;
  return Form{0, 1, 1, 0, 1};
}

/// The other scalar as something between its bounds.
Periods::Form Periods::alone(Form form) const {
  if (!form.times) return form;
  const Range &range = ranges.at(form.other);
  const auto [low, high] = std::minmax({double(form.times) * range.low, double(form.times) * range.high});
  form.low += low, form.high += high;
  form.times = 0;
  return form;
}

std::optional<Periods::Form> Periods::scaled(Form a, std::int64_t by) const {
  if (std::abs(by) > kMostFactor || std::abs(a.up) > kMostFactor) return std::nullopt;
  const std::int64_t common = std::gcd(a.up * by, a.down);
  a.up = a.up * by / common, a.down /= common;
  a.low *= double(by), a.high *= double(by);
  if (by < 0) std::swap(a.low, a.high);
  a.times *= by;
  return a;
}

/// A quotient rounded down or up, or a remainder, which is never negative.
std::optional<Periods::Form> Periods::divided(const Form &a, std::int64_t by, Kind kind) {
  if (by < 1 || by > kMostFactor) return std::nullopt;
  const std::int64_t rise = a.up * (a.period / a.down); // from period to period: a whole number, and so is the factor
  const std::int64_t period = a.period * (by / std::gcd(rise, by));
  if (period > kMostPeriod) return isFollowed = true, std::nullopt;
  if (kind == Kind::Mod) return Form{0, 1, period, 0, double(by) - 1};
  const std::int64_t common = std::gcd(a.up, by);
  return Form{a.up / common, a.down * (by / common), period, a.low / double(by) - 1, a.high / double(by) + 1};
}

std::optional<Periods::Form> Periods::operation(const ir::Index &i, Form a, Form b) {
  const Kind kind = i.kind();
  const bool sums = kind == Kind::Add || kind == Kind::Sub || kind == Kind::Eq || kind == Kind::Ne || kind == Kind::Lt || kind == Kind::Le;
  if (!sums || (a.times && b.times && a.other != b.other)) a = alone(a), b = alone(b);
  const std::int64_t period = std::lcm(a.period, b.period);
  if (period > kMostPeriod || a.down > kMostFactor || b.down > kMostFactor || std::abs(a.up) > kMostFactor || std::abs(b.up) > kMostFactor)
    return std::nullopt;
  const auto sum = [&](const Form &x, const Form &y) {
    const std::int64_t up = x.up * y.down + y.up * x.down, down = x.down * y.down, common = std::gcd(up, down);
    return Form{up / common, down / common, period, x.low + y.low, x.high + y.high, x.times ? x.other : y.other, x.times + y.times};
  };
  const auto difference = [&] { return sum(a, *scaled(b, -1)); };
  const ir::Index left = i.left(), right = i.right();
  switch (kind) {
  case Kind::Add: return sum(a, b);
  case Kind::Sub: return difference();
  case Kind::Mul: {
    if (right.kind() == Kind::Constant) return scaled(a, right.value());
    if (left.kind() == Kind::Constant) return scaled(b, left.value());
    if (a.up || b.up) return std::nullopt;
    const auto [low, high] = std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
    return Form{0, 1, period, low, high};
  }
  case Kind::Shl:
    if (right.kind() != Kind::Constant || right.value() < 0 || right.value() > 20) return std::nullopt;
    return scaled(a, std::int64_t(1) << right.value());
  case Kind::Div:
  case Kind::CeilDiv:
  case Kind::Mod: return right.kind() == Kind::Constant ? divided(a, right.value(), kind) : std::nullopt;
  case Kind::Min:
  case Kind::Max: {
    if (difference().up) return std::nullopt;
    const bool least = kind == Kind::Min;
    return Form{a.up, a.down, period, least ? std::min(a.low, b.low) : std::max(a.low, b.low),
                least ? std::min(a.high, b.high) : std::max(a.high, b.high)};
  }
  case Kind::Eq:
  case Kind::Ne:
  case Kind::Lt:
  case Kind::Le: return truth(difference());
  case Kind::And:
  case Kind::Or: {
    const auto x = truth(a), y = truth(b);
    return x && y ? std::optional(Form{0, 1, std::lcm(x->period, y->period), 0, 1}) : std::nullopt;
  }
  default: return std::nullopt;
  }
}

std::optional<Periods::Form> Periods::formOf(const ir::Index &i) {
  if (i.kind() == Kind::Constant) return Form{0, 1, 1, double(i.value()), double(i.value())};
  if (i.kind() == Kind::Variable) {
    if (i.name() == scalar) return Form{1, 1, 1, 0, 0};
    const auto range = ranges.find(i.name());
    if (range == ranges.end()) return reason = i, std::nullopt;
    if (llvm::is_contained(integers, i.name())) return Form{0, 1, 1, 0, 0, i.name(), 1};
    return Form{0, 1, 1, range->second.low, range->second.high};
  }
  const auto a = formOf(i.left()), b = formOf(i.right());
  if (!a || !b) return std::nullopt;
  auto form = operation(i, *a, *b);
  if (!form && !i.uses(scalar)) // repeats, whatever it is
    form = Form{0, 1, 1, -INFINITY, INFINITY};
  if (!form) reason = i;
  return form;
}

} // namespace coll::check
