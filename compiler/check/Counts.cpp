#include "check/Counts.h"

#include "check/Expansion.h"
#include "check/Lengths.h"
#include "coll/Extent.h"
#include "ir/Indices.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace coll::check {

static bool sharesRows(const ir::Program &program) {
  return llvm::any_of(program.values, [](const ir::Value &v) { return v.length.isPieceOfRows(); });
}

/// Whether anything goes by pieces.
static bool splits(const ir::Program &program) {
  bool pieces = llvm::any_of(program.values, [](const ir::Value &v) { return v.length.kind == ir::Length::Kind::Piece; });
  ir::walk(program.body, [&](const ir::Stmt &s) {
    const auto *loop = std::get_if<ir::PacketLoop>(&s.op());
    pieces |= loop && loop->domain.kind == ir::Length::Kind::Piece;
  });
  return pieces;
}

/// Whether `when bytes <= ...` allows these counts; of arguments that have one extent, if one is named.
static bool isAllowed(const ir::Program &program, const Extents &counts, const std::string &extent = {}) {
  return !program.maxBytes || llvm::all_of(program.buffers, [&](const ir::Buffer &b) {
    const bool meant = extent.empty() || llvm::any_of(b.extents, [&](const std::string &e) { return mentions(e, extent); });
    return !meant || program.product(b.extents, counts) * sizeOf(b.dtype) <= program.maxBytes;
  });
}

/// How large one of the extents may be beside the others, in groups; 0 if not even one.
static std::uint64_t mostAllowed(const ir::Program &program, Extents counts, const std::string &extent) {
  const std::uint64_t group = groupOf(program, extent);
  std::uint64_t most = 0, tooMany = counts[extent] / group;
  while (tooMany - most > 1) {
    const std::uint64_t middle = most + (tooMany - most) / 2;
    counts[extent] = middle * group;
    (isAllowed(program, counts, extent) ? most : tooMany) = middle;
  }
  return most;
}

/// Numbers of elements near the largest allowed: if they are split, with all pieces full, and with the last short or empty.
static std::vector<std::uint64_t> sizesUpTo(const ir::Program &program, std::uint64_t most, std::uint64_t least) {
  std::vector<std::uint64_t> sizes;
  const std::uint64_t line = std::uint64_t(program.ranks) * least, full = most / line * line;
  if (splits(program) && full) sizes = {full - line + least + 1, full - 1, full};
  if (most > 1) sizes.push_back(most - 1);
  sizes.push_back(most);
  return sizes;
}

/// Instead of counts that are not allowed, the largest that are. The last extents stay as they are as far as possible.
static std::vector<Extents> allowedInstead(const ir::Program &program, Extents counts, std::uint64_t least) {
  for (const std::string &e : program.extents) {
    if (isAllowed(program, counts, e)) continue;
    const std::uint64_t most = mostAllowed(program, counts, e), group = groupOf(program, e);
    counts[e] = std::max<std::uint64_t>(most, 1) * group;
    if (!isAllowed(program, counts)) continue;
    std::vector<Extents> all;
    for (const std::uint64_t s : group == 1 ? sizesUpTo(program, most, least) : std::vector{most})
      counts[e] = s * group, all.push_back(counts);
    return all;
  }
  return {};
}

/// Of vectors whose extents are worked out of others: each extent in turn as large as gives such a vector so many elements.
static std::vector<Extents> countsOfComputed(const ir::Program &program, const std::vector<std::uint64_t> &classes) {
  constexpr std::uint64_t kMost = 1 << 20; // an extent: what takes more never gets there
  std::vector<Extents> all;
  for (const ir::Length &domain : program.domains())
    for (const std::string &name : program.extents) {
      if (llvm::none_of(domain.extents, [&](const std::string &e) { return isComputed(e) && mentions(e, name); })) continue;
      for (const std::uint64_t c : classes) {
        Extents counts;
        for (const std::string &e : program.extents) counts[e] = c;
        const auto reaches = [&](std::uint64_t value) {
          counts[name] = value;
          return program.product(domain.extents, counts) >= c;
        };
        std::uint64_t tooFew = 0, least = 1;
        while (least < kMost && !reaches(least)) tooFew = least, least *= 2;
        while (least - tooFew > 1) {
          const std::uint64_t middle = tooFew + (least - tooFew) / 2;
          (reaches(middle) ? least : tooFew) = middle;
        }
        if (reaches(least)) all.push_back(counts);
      }
    }
  return all;
}

/// The numbers that a program names, of which ranks, slots and pieces are some.
static std::set<std::int64_t> numbersOf(const ir::Program &program) {
  std::set<std::int64_t> numbers;
  const std::function<void(const ir::Index &)> visit = [&](const ir::Index &i) {
    if (i.kind() == ir::Index::Kind::Constant) return void(numbers.insert(i.value()));
    if (i.kind() == ir::Index::Kind::Variable) return;
    visit(i.left()), visit(i.right());
  };
  ir::forEachIndex(program, [&](const ir::Index &i, ir::SourceOffset, bool) { visit(i); });
  return numbers;
}

PiecesTried piecesTried(const ir::Program &program) {
  constexpr int kFewRanks = 16;
  PiecesTried tried;
  const int n = program.ranks;
  if (!splits(program)) return tried;
  std::set<int> all{1, n / 2, n - 1, n};
  if (n <= kFewRanks)
    for (int i = 1; i <= n; ++i) all.insert(i);
  // Where one piece is something else, it may be the last that is not empty, or the first that is.
  for (const std::int64_t number : numbersOf(program))
    for (const std::int64_t at : {number, number + 1})
      if (at >= 1 && at <= n) all.insert(int(at));
  tried.numbers.assign(all.begin(), all.end());
  tried.all = int(all.size()) == n;
  return tried;
}

/// As many elements, or rows, that so many pieces are not empty, all of them as short as can be: then ranks tell the least
/// of each other. Beside vectors that have as many elements, and beside none.
static std::vector<Extents> countsOfPieces(const ir::Program &program, std::uint64_t least) {
  constexpr std::uint64_t kMost = 1 << 20;
  std::vector<Extents> all;
  for (const ir::Length &domain : program.domains()) {
    if (domain.kind != ir::Length::Kind::Piece) continue;
    const bool rows = domain.isPieceOfRows();
    const auto isOf = [&](const std::string &name, llvm::ArrayRef<std::string> extents) {
      return llvm::any_of(extents, [&](const std::string &e) { return mentions(e, name); });
    };
    const llvm::ArrayRef<std::string> extents = domain.extents, longest = rows ? extents.drop_back() : extents;
    std::string last; // name that says how many there are
    for (const std::string &name : program.extents)
      if (isOf(name, longest)) last = name;
    if (last.empty()) continue;
    for (const int pieces : piecesTried(program).numbers) // the usual counts have one and all
      for (const bool beside : {true, false}) {
        if (pieces == 1 || pieces == program.ranks) continue;
        const std::uint64_t count = std::uint64_t(pieces) * (rows ? 1 : least);
        Extents counts;
        for (const std::string &e : program.extents) counts[e] = isOf(e, extents) ? 1 : beside ? count : std::uint64_t(program.hasCounts());
        const auto reaches = [&](std::uint64_t value) {
          counts[last] = value;
          return program.product(longest.vec(), counts) >= count;
        };
        std::uint64_t few = 0, enough = 1;
        while (enough < kMost && !reaches(enough)) few = enough, enough *= 2;
        while (enough - few > 1) (reaches(few + (enough - few) / 2) ? enough : few) = few + (enough - few) / 2;
        if (reaches(enough)) all.push_back(counts);
      }
  }
  return all;
}

std::vector<Extents> countClasses(const ir::Program &program) {
  if (program.extents.empty()) return {Extents()};
  const std::uint64_t n = std::uint64_t(program.ranks), unit = packetElements(program);
  const std::uint64_t least = 16 / std::min(16u, sizeOf(program.dtype)); // of a piece
  // Pieces of three packets: in the one all of them full, in the other the last third of them short or empty. Where
  // packets come in groups, pieces are not whole numbers of those: then all but the last pieces have a few elements more
  // than one group.
  const std::uint64_t few = program.wire().together > 1 ? n * unit + 1 : 2 * n * unit + unit + 1;
  std::vector<std::uint64_t> classes = {1, n - 1, n, 3 * n * unit, few};
  // The last chunks of a launch: only the last piece is short, or has ended before.
  if (program.chunks && program.chunks->of.kind == ir::Length::Kind::Piece)
    classes.insert(classes.end(), {3 * n * unit - least - 1, (n - 1) * least});
  const std::vector<std::uint64_t> usual = classes;
  std::vector<Extents> all;
  auto add = [&](Extents counts) {
    for (auto &[name, count] : counts) count *= groupOf(program, name);
    std::vector<Extents> some{counts};
    if (!isAllowed(program, counts)) some = allowedInstead(program, counts, least);
    for (const Extents &c : some)
      if (!llvm::is_contained(all, c)) all.push_back(c);
  };
  // Rows that the ranks share: pieces of up to three packets, full, short and empty.
  if (sharesRows(program)) {
    for (const auto &[rows, length] : std::initializer_list<std::pair<std::uint64_t, std::uint64_t>>{
             {1, 1}, {n - 1, 2}, {n, unit + 1}, {2 * n + 1, unit}, {3 * n, unit}}) {
      Extents counts;
      for (const std::string &e : program.extents) counts[e] = e == program.extents.back() ? length : rows;
      add(counts);
    }
    classes.clear();
  }
  for (std::uint64_t c : classes) {
    Extents counts;
    for (const std::string &e : program.extents) counts[e] = c;
    add(counts);
    if (program.extents.size() == 1) continue;
    for (const std::string &e : program.extents) counts[e] = e == program.extents.front() ? 2 : c;
    add(counts);
  }
  for (const Extents &counts : countsOfComputed(program, classes)) add(counts);
  // The last stays the largest. Chunks have the forms of launches, but for their size.
  const std::vector<Extents> largest = all.empty() ? all : std::vector<Extents>{all.back()};
  if (!all.empty()) all.pop_back();
  for (const Extents &counts : countsOfPieces(program, least))
    if (isAllowed(program, counts)) add(counts);
  for (const Extents &counts : largest)
    if (!llvm::is_contained(all, counts)) all.push_back(counts);
  const auto isMeant = [&](const Extents &counts) { return isAllowed(program, counts); };
  for (const Extents &counts : countsOfLengths(program, usual, isMeant))
    if (!llvm::is_contained(all, counts)) all.push_back(counts);
  // Vectors of unrelated lengths: each nearly or wholly empty where the others are long, and the other way round. A message
  // with a count is sent all the same.
  if (const std::vector<ir::Length> domains = program.domains(); domains.size() > 1)
    for (const std::string &one : program.extents)
      for (const std::uint64_t c : {std::uint64_t(program.hasCounts()), std::uint64_t(1)})
        for (const bool alone : {false, true}) {
          Extents counts;
          for (const std::string &e : program.extents) counts[e] = (e == one) == alone ? few : c;
          const auto isEmpty = [&](const ir::Length &l) { return program.product(l.extents, counts) == 0; };
          if (!llvm::all_of(domains, isEmpty)) add(counts); // without elements there is no launch
        }
  // A bound below all of them still allows the smallest launch.
  if (all.empty()) {
    Extents counts;
    for (const std::string &e : program.extents) counts[e] = groupOf(program, e);
    all.push_back(counts);
  }
  return all;
}

namespace {

/// Appends a cyclic word over `kinds` letters that contains every word of `length` letters once (de Bruijn, by
/// concatenating Lyndon words), and its begin again.
void appendAllWords(int kinds, int length, std::vector<int> &out) {
  std::vector<int> word{-1}, cycle;
  while (!word.empty()) {
    ++word.back();
    if (length % int(word.size()) == 0) cycle.insert(cycle.end(), word.begin(), word.end());
    for (std::size_t m = word.size(); int(word.size()) < length;) word.push_back(word[word.size() - m]);
    while (!word.empty() && word.back() == kinds - 1) word.pop_back();
  }
  out.insert(out.end(), cycle.begin(), cycle.end());
  for (int i = 0; i + 1 < length; ++i) out.push_back(cycle[std::size_t(i) % cycle.size()]);
}

// From a to b and back, at once, in turns, and after a window of b.
void appendChanges(int a, int b, int window, std::vector<int> &out) {
  for (int i = 0; i < window; ++i) out.push_back(i % 2 ? b : a);
  out.push_back(a);
  out.insert(out.end(), window - 2, b);
  out.push_back(a);
}

} // namespace

constexpr int kMostWords = 150; // a longer sequence has not all

std::vector<int> launchSequence(int kinds, int window) {
  std::vector<int> sequence;
  for (int k = 0; k < kinds; ++k) sequence.insert(sequence.end(), window, k);
  if (kinds == 1) return sequence;
  if (std::pow(double(kinds), window - 1) <= kMostWords) {
    appendAllWords(kinds, window - 1, sequence);
    return sequence;
  }
  // Too many words: from each kind to each other and back, at once, in turns, and after a window of the other.
  for (int a = 0; a < kinds; ++a)
    for (int b = 0; b < kinds; ++b) {
      if (a == b) continue;
      appendChanges(a, b, window, sequence);
    }
  return sequence;
}

bool isEveryWord(const std::vector<LaunchKind> &kinds, int window) {
  const auto same = [&](const LaunchKind &k) { return k.scalars == kinds.front().scalars; };
  return llvm::all_of(kinds, same) && (kinds.size() == 1 || std::pow(double(kinds.size()), window - 1) <= kMostWords);
}

std::vector<int> launchSequence(const std::vector<LaunchKind> &kinds, int window) {
  std::vector<int> sequence;
  int first = 0; // so many kinds, at the begin, have the first scalars
  while (first < int(kinds.size()) && kinds[first].scalars == kinds.front().scalars) ++first;
  sequence = launchSequence(first, window);
  if (first == int(kinds.size())) return sequence;
  std::vector<int> large; // the last counts are the largest
  for (std::size_t k = 0; k < kinds.size(); ++k)
    if (kinds[k].counts == kinds.back().counts) large.push_back(int(k));
  auto words = [&](std::size_t letters) {
    double n = 1;
    for (int i = 1; i < window; ++i) n *= double(letters);
    return n;
  };
  std::size_t letters = large.size();
  while (letters > 1 && words(letters) > 1500) --letters; // of many copies there are too many words of two
  std::vector<int> all;
  if (letters > 1 || large.size() == 1) appendAllWords(int(letters), window - 1, all);
  for (int i : all) sequence.push_back(large[i]);
  for (std::size_t stride = 1; stride < large.size(); ++stride)
    for (std::size_t i = 0; i <= large.size() + window; ++i) sequence.push_back(large[i * stride % large.size()]);
  for (std::size_t a = 0; a < kinds.size(); ++a) sequence.insert(sequence.end(), window, int(a));
  for (std::size_t a = 0; a < kinds.size(); ++a)
    for (std::size_t b = 0; b < kinds.size(); ++b)
      if (a != b) appendChanges(int(a), int(b), window, sequence);
  return sequence;
}

} // namespace coll::check
