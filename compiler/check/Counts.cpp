#include "check/Counts.h"

#include "check/Expansion.h"

#include <algorithm>

namespace coll::check {

/// Rows in groups are whole ones: how many elements a group has where `NAME/SIZE` is the extent of a buffer, else 1.
static std::uint64_t groupOf(const ir::Program &program, const std::string &name) {
  for (const ir::Buffer &b : program.buffers)
    for (const std::string &e : b.extents)
      if (e.rfind(name + "/", 0) == 0) return std::stoull(e.substr(name.size() + 1));
  return 1;
}

static bool sharesRows(const ir::Program &program) {
  return llvm::any_of(program.values, [](const ir::Value &v) { return v.length.isPieceOfRows(); });
}

std::vector<Extents> countClasses(const ir::Program &program) {
  if (program.extents.empty()) return {Extents()};
  const std::uint64_t n = std::uint64_t(program.ranks), unit = packetElements(program);
  // Pieces of three packets: in the one all of them full, in the other the last third of them short or empty. Where
  // packets come in groups, pieces are not whole numbers of those: then all but the last pieces have a few elements more
  // than one group.
  const std::uint64_t few = program.wire().together > 1 ? n * unit + 1 : 2 * n * unit + unit + 1;
  std::vector<std::uint64_t> classes = {1, n - 1, n, 3 * n * unit, few};
  // The last chunks of a launch: only the last piece is short, or has ended before.
  const std::uint64_t least = 16 / std::min(16u, sizeOf(program.dtype));
  if (program.chunks && program.chunks->of.kind == ir::Length::Kind::Piece)
    classes.insert(classes.end(), {3 * n * unit - least - 1, (n - 1) * least});
  std::vector<Extents> all;
  auto add = [&](Extents counts) {
    for (auto &[name, count] : counts) count *= groupOf(program, name);
    for (const ir::Buffer &b : program.buffers)
      if (program.maxBytes && program.product(b.extents, counts) * sizeOf(b.dtype) > program.maxBytes) return;
    if (std::find(all.begin(), all.end(), counts) == all.end()) all.push_back(counts);
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

ScalarClasses scalarClasses(const ir::Program &program) {
  // Few ranks are all tried in a row. With many, neighbours and the ends of the range stand for the others.
  const std::int64_t n = program.ranks;
  std::vector<std::int64_t> some, rest;
  for (std::int64_t r = 0; r < n; ++r) (n <= 8 || r < 2 || r == n / 2 || r == n - 1 ? some : rest).push_back(r);
  std::vector<std::int64_t> all = some;
  all.insert(all.end(), rest.begin(), rest.end());
  ScalarClasses result{{{}}, 1};
  for (const ir::Scalar &s : program.scalars) {
    std::vector<std::int64_t> values = s.rank ? all : std::vector<std::int64_t>{0, 1, 2, n};
    if (!s.isIndex()) values = {0}; // data: decides nothing
    // Of several scalars, only the first takes more than a few.
    if (&s != program.scalars.data()) values.resize(std::min<std::size_t>(values.size(), 4));
    const std::size_t few = s.rank ? std::min(values.size(), some.size()) : values.size();
    std::vector<std::vector<std::int64_t>> product;
    for (const bool first : {true, false})
      for (std::size_t i = 0; i < result.values.size(); ++i)
        for (std::size_t v = 0; v < values.size(); ++v) {
          if ((v < few && int(i) < result.few) != first) continue;
          product.push_back(result.values[i]);
          product.back().push_back(values[v]);
        }
    result = {std::move(product), result.few * int(few)};
  }
  return result;
}

std::vector<int> launchSequence(int kinds, int window) {
  constexpr int longest = 150;
  std::vector<int> sequence;
  for (int k = 0; k < kinds; ++k) sequence.insert(sequence.end(), window, k);
  if (kinds == 1) return sequence;
  double words = 1;
  for (int i = 1; i < window; ++i) words *= kinds;
  if (words <= longest) {
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

std::vector<int> launchSequence(const std::vector<LaunchKind> &kinds, int window, bool thorough) {
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
      if (a != b && (thorough || kinds[a].counts == kinds[b].counts)) appendChanges(int(a), int(b), window, sequence);
  return sequence;
}

void appendApart(const std::vector<LaunchKind> &kinds, const std::vector<int> &quiet, int distance, bool thorough,
                 std::vector<int> &sequence) {
  const int count = int(kinds.size());
  for (const int f : quiet)
    for (const int g : quiet) {
      auto between = [&] {
        for (int i = 1; i < distance; ++i) sequence.push_back(i % 2 ? f : g);
      };
      for (int a = 0; a < count; ++a) {
        sequence.push_back(a), between(), sequence.push_back(a);
        for (int b = a + 1; b < count && f == g; ++b)
          if (thorough || kinds[a].counts == kinds[b].counts || kinds[a].scalars == kinds[b].scalars)
            between(), sequence.push_back(b), between(), sequence.push_back(a);
      }
    }
}

} // namespace coll::check
