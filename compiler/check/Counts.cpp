#include "check/Counts.h"

#include <algorithm>

namespace coll::check {

std::vector<Extents> countClasses(const ir::Program &program) {
  if (program.extents.empty()) return {Extents()};
  const std::uint64_t n = std::uint64_t(program.ranks), unit = 16 / std::min(16u, sizeOf(program.dtype));
  // Pieces of three packets: in the one all of them full, in the other the last third of them short or empty.
  const std::uint64_t classes[] = {1, n - 1, n, 3 * n * unit, 2 * n * unit + unit + 1};
  std::vector<Extents> all;
  auto add = [&](const Extents &counts) {
    for (const ir::Buffer &b : program.buffers)
      if (program.maxBytes && program.product(b.extents, counts) * sizeOf(b.dtype) > program.maxBytes) return;
    if (std::find(all.begin(), all.end(), counts) == all.end()) all.push_back(counts);
  };
  for (std::uint64_t c : classes) {
    Extents counts;
    for (const std::string &e : program.extents) counts[e] = c;
    add(counts);
    if (program.extents.size() == 1) continue;
    for (const std::string &e : program.extents) counts[e] = e == program.extents.front() ? 2 : c;
    add(counts);
  }
  // A bound below all of them still allows the smallest launch.
  if (all.empty()) {
    Extents counts;
    for (const std::string &e : program.extents) counts[e] = 1;
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

} // namespace

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
      for (int i = 0; i < window; ++i) sequence.push_back(i % 2 ? b : a);
      sequence.push_back(a);
      sequence.insert(sequence.end(), window - 2, b);
      sequence.push_back(a);
    }
  return sequence;
}

} // namespace coll::check
