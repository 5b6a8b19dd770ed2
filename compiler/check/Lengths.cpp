#include "check/Lengths.h"

#include "check/Expansion.h"
#include "coll/Extent.h"

#include <algorithm>
#include <map>

namespace coll::check {
namespace {

constexpr std::uint64_t kMost = 1 << 20; ///< of a name: what takes more never gets there

enum Way : unsigned { kRises = 1, kFalls = 2 };

/// Which way an extent goes as one of its names grows.
struct Trends {
  using Trend = std::map<std::string, unsigned, std::less<>>;

  Trend number(std::uint64_t) { return {}; }
  Trend named(std::string_view name) { return name == "N" ? Trend() : Trend{{std::string(name), kRises}}; }
  Trend log2(Trend of) { return of; }
  Trend binary(char op, Trend a, const Trend &b) {
    for (const auto &[name, way] : b) {
      const unsigned other = (way & kRises ? kFalls : 0u) | (way & kFalls ? kRises : 0u);
      a[name] |= op == '-' ? other : op == '/' ? kRises | kFalls : way; // by 0 it is 0
    }
    return a;
  }
};

/// What the vectors of one launch are like: those with other such views matter apart.
using View = std::vector<int>;

class Lengths {
public:
  Lengths(const ir::Program &p, const std::vector<std::uint64_t> &c, llvm::function_ref<bool(const Extents &)> allowed)
      : program(p), classes(c), isAllowed(allowed), domains(p.domains()), unit(packetElements(p)),
        many(*std::max_element(c.begin(), c.end())) {
    for (const ir::Length &domain : domains)
      for (const std::string &e : domain.extents)
        if (isComputed(e)) computed.emplace(e, trendOf(e));
  }

  /// Whether the usual counts may miss some that matter.
  bool matter() const {
    return llvm::any_of(computed, [&](const auto &e) { return matters(e.first, e.second); });
  }

  std::vector<Extents> run() {
    choose();
    for (const bool asNames : {false, true}) tryAll(asNames); // of the same view, the counts that there are come first
    std::vector<Extents> all;
    for (const auto &[key, views] : found)
      for (const auto &[view, counts] : views) {
        const auto isLess = [&, &view = view](const auto &other) { return other.first != view && isWithin(other.first, view); };
        if (llvm::none_of(views, isLess)) all.push_back(counts);
      }
    // Those that there are come first: a report is about them if it can be.
    llvm::stable_sort(all, [](const Extents &a, const Extents &b) { return a.size() < b.size(); });
    return all;
  }

private:
  const ir::Program &program;
  const std::vector<std::uint64_t> &classes;
  const llvm::function_ref<bool(const Extents &)> isAllowed;
  const std::vector<ir::Length> domains;
  const std::uint64_t unit; ///< of a packet
  const std::uint64_t many; ///< the largest class
  std::map<std::string, Trends::Trend> computed;
  std::map<std::string, std::vector<std::uint64_t>> values; ///< to be tried: of names, and of extents as if they were names
  std::map<View, std::map<View, Extents>> found;            ///< by vector, and how long it is: those beside it

  static Trends::Trend trendOf(const std::string &extent) {
    Trends trends;
    return ExtentReader<Trends::Trend, Trends>(extent, trends).read();
  }

  static bool falls(const Trends::Trend &trend) {
    return llvm::any_of(trend, [](const auto &t) { return (t.second & kFalls) != 0; });
  }

  /// Whether it may be empty, or short, where the usual counts do not make it so.
  bool matters(const std::string &extent, const Trends::Trend &trend) const {
    Extents counts;
    for (const std::string &e : program.extents) counts[e] = many * groupOf(program, e);
    return falls(trend) || trend.size() > 1 || (!trend.empty() && program.product({extent}, counts) == 0);
  }

  /// Whether the numbers on both sides of where it begins and ends show all that it can be beside others.
  bool isFollowed(const std::string &extent, const Trends::Trend &trend) const {
    if (program.chunks && matters(extent, trend)) return false; // no chunk is longer than the usual numbers
    if (!falls(trend)) return true;
    if (trend.size() == 1) return trend.begin()->second == kFalls;
    const bool isDifference = extent.find_first_of("+*/(") == std::string::npos && llvm::count(extent, '-') == 1;
    return isDifference && llvm::all_of(computed, [&](const auto &other) {
             return other.first == extent || llvm::none_of(trend, [&](const auto &t) { return other.second.count(t.first); });
           });
  }

  /// Numbers of `name` beside which an extent has another class of length, with all other names at `rest`.
  void addTurns(const std::string &extent, const std::string &name, bool rises, std::uint64_t rest) {
    Extents counts;
    for (const std::string &e : program.extents) counts[e] = rest;
    for (const std::uint64_t c : classes) {
      const auto isBeyond = [&](std::uint64_t value) {
        counts[name] = value;
        return (program.product({extent}, counts) >= c) == rises;
      };
      if (isBeyond(0) || !isBeyond(kMost)) continue;
      std::uint64_t below = 0, turn = kMost;
      while (turn - below > 1) {
        const std::uint64_t middle = below + (turn - below) / 2;
        (isBeyond(middle) ? turn : below) = middle;
      }
      for (const std::uint64_t v : {below, turn, turn + 1}) values[name].push_back(v);
    }
  }

  /// The usual numbers, and those up to the largest that is allowed.
  void addUsual(const std::string &name) {
    std::vector<std::uint64_t> &to = values[name];
    to.push_back(0);
    to.insert(to.end(), classes.begin(), classes.end());
    if (program.chunks) return;
    to.push_back(2 * many);
    for (std::uint64_t power = 64; power <= kMost; power *= 4) to.push_back(power);
  }

  void choose() {
    for (const std::string &name : program.extents) addUsual(name);
    for (const auto &[extent, trend] : computed) {
      if (!isFollowed(extent, trend)) {
        takeForName(extent);
        continue;
      }
      for (const auto &[name, way] : trend)
        for (const std::uint64_t rest : {std::uint64_t(0), std::uint64_t(1), many})
          if (trend.size() > 1 || rest == 0) addTurns(extent, name, way == kRises, rest);
    }
    if (!program.chunks) addMost();
    shorten();
    for (auto &[name, of] : values) tidy(of, groupOf(program, name));
  }

  void takeForName(const std::string &extent) {
    std::vector<std::uint64_t> &to = values[extent];
    to = {0};
    to.insert(to.end(), classes.begin(), classes.end());
  }

  /// The largest that a bound on bytes allows, beside few and many of the others.
  void addMost() {
    for (const std::string &name : program.extents)
      for (const std::uint64_t rest : {std::uint64_t(0), std::uint64_t(1), many}) {
        Extents counts;
        for (const auto &[other, of] : values) counts[other] = rest;
        std::uint64_t most = 0, tooMany = kMost;
        while (tooMany - most > 1) {
          const std::uint64_t middle = most + (tooMany - most) / 2;
          counts[name] = middle;
          (isAllowed(counts) ? most : tooMany) = middle;
        }
        if (tooMany < kMost) values[name].push_back(most);
      }
  }

  static void tidy(std::vector<std::uint64_t> &of, std::uint64_t group) {
    for (std::uint64_t &v : of) v = (v + group - 1) / group * group; // rows in groups are whole ones
    llvm::sort(of);
    of.erase(std::unique(of.begin(), of.end()), of.end());
  }

  std::uint64_t combinations() {
    std::uint64_t all = 1;
    for (auto &[name, of] : values) tidy(of, 1), all = std::min<std::uint64_t>(all * of.size(), 1 << 30);
    return all;
  }

  /// Leaves fewer values where there are too many combinations: then no length is followed as its names change.
  void shorten() {
    constexpr std::uint64_t kCombinations = 10000;
    if (combinations() <= kCombinations) return;
    for (const auto &[extent, trend] : computed)
      if (!trend.empty()) takeForName(extent);
    for (auto &[name, of] : values) of = {0, 1, unit + 1};
    if (combinations() <= kCombinations) return;
    for (auto &[name, of] : values) of = {0, unit + 1};
  }

  /// If `asNames`, with lengths that are taken for names.
  void tryAll(bool asNames) {
    constexpr std::uint64_t kCombinations = 1 << 16;
    std::vector<std::pair<std::string, std::vector<std::uint64_t>>> of;
    std::uint64_t all = 1;
    for (const auto &[name, some] : values)
      if (asNames || !isComputed(name)) of.emplace_back(name, some), all = std::min<std::uint64_t>(all * some.size(), 1 << 30);
    if (all <= kCombinations) {
      for (std::uint64_t i = 0; i < all; ++i) {
        Extents counts;
        std::uint64_t rest = i;
        for (const auto &[name, some] : of) counts[name] = some[rest % some.size()], rest /= some.size();
        note(counts);
      }
      return;
    }
    // Too many names: each alone, and each two.
    for (std::size_t a = 0; a < of.size(); ++a)
      for (std::size_t b = a; b < of.size(); ++b) {
        Extents counts;
        for (const auto &[name, some] : of) counts[name] = 0;
        counts[of[a].first] = of[a].second.back(), counts[of[b].first] = of[b].second.back();
        note(counts);
      }
  }

  void note(const Extents &counts) {
    if (!isAllowed(counts)) return;
    std::vector<std::uint64_t> packets;
    View last;
    for (const ir::Length &domain : domains) {
      double size = 1;
      for (const std::string &e : domain.extents) size *= double(program.product({e}, counts));
      if (size > 1e15) return;
      const std::uint64_t whole = program.product(domain.extents, counts);
      const auto isCounted = [&](const ir::Mailbox &m) { return m.counted && m.length.extents == domain.extents; };
      if (!whole && llvm::any_of(program.mailboxes, isCounted)) return; // it is sent without elements, too
      const bool split = domain.kind == ir::Length::Kind::Piece;
      const std::uint64_t piece = split ? program.pieceElements(domain, counts) : whole;
      const std::uint64_t before = std::min(whole, piece * std::uint64_t(program.ranks - 1));
      packets.push_back((std::min(piece, whole) + unit - 1) / unit);
      last.push_back(!split || whole - before == piece ? 2 : whole > before ? 1 : 0);
    }
    for (std::size_t d = 0; d < domains.size(); ++d) {
      if (!packets[d]) continue;
      View beside;
      for (std::size_t o = 0; o < domains.size(); ++o) beside.push_back(o == d ? 0 : !packets[o] ? 0 : packets[o] < packets[d] ? 1 : 2);
      found[{int(d), packets[d] > 1, last[d]}].try_emplace(std::move(beside), counts);
    }
  }

  static bool isWithin(const View &a, const View &b) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a[i] > b[i]) return false;
    return true;
  }
};

} // namespace

std::uint64_t groupOf(const ir::Program &program, const std::string &name) {
  std::uint64_t group = 1;
  for (const ir::Value &v : program.values) { // groups are powers of two
    if (!v.group || v.length.extents.empty()) continue;
    const std::string &row = v.length.extents.back();
    if (row == name || mentions(row, name)) group = std::max<std::uint64_t>(group, v.group);
  }
  return group;
}

std::vector<Extents> countsOfLengths(const ir::Program &program, const std::vector<std::uint64_t> &classes,
                                     llvm::function_ref<bool(const Extents &)> isAllowed) {
  Lengths lengths(program, classes, isAllowed);
  return lengths.matter() ? lengths.run() : std::vector<Extents>();
}

} // namespace coll::check
