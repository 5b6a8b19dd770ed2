// Kernels for tests that must not depend on what the compiler emits today: the hand-written texts in Inputs/.
#pragma once

#include "coll/Compiler.h"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace coll::test {

inline std::string readText(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The sample of these ranks, `oneshot` or `twoshot`, bf16 and sum, with the manifest a compiler would write.
inline Kernel sampleAllreduce(const std::string &algorithm, int ranks) {
  Kernel kernel;
  Manifest &m = kernel.manifest;
  m.member = "allreduce." + algorithm + ".ll";
  m.collective = "allreduce", m.algorithm = algorithm, m.mode = "ll", m.sourceFile = "allreduce.coll";
  m.ranks = ranks, m.dtype = DType::BF16, m.op = ReduceOp::Sum;
  m.arguments = {{"x", Direction::In, m.dtype, {"M"}}, {"y", Direction::Out, m.dtype, {"M"}}};
  m.extents = {"M"};
  m.inplace = {{"y", "x"}};
  m.ensures = {"y == reduce(op, r in ranks: r.x)"};
  for (unsigned me = 0; me < unsigned(ranks); ++me) {
    auto &promise = m.promises.emplace_back();
    promise.output = {me, 1, Manifest::kWhole}, promise.reduces = true;
    for (unsigned r = 0; r < unsigned(ranks); ++r) promise.sources.push_back({r, 0, Manifest::kWhole});
  }
  m.domain = {{"M"}, algorithm == "twoshot"};
  m.packetBytes = m.alignment = 8;
  m.wholeUnit = m.domain.split ? 8 * ranks : 4;
  m.capacity = 32768 * 4;
  const bool oneshot = algorithm == "oneshot";
  const std::uint64_t slot = 32768 * 16, mailboxes = oneshot ? 1 : 2, copies = oneshot ? 2 : 1;
  std::uint64_t offset = oneshot ? 3328 : 9344;
  for (std::uint64_t box = 0; box < mailboxes; ++box, offset += slot * ranks * copies)
    m.mailboxes.push_back({box       ? "ag"
                           : oneshot ? "box"
                                     : "rs",
                           "ll", std::uint64_t(ranks), 32768, copies, 16, 8, offset});
  m.regionBytes = offset;
  m.entry = "allreduce_" + algorithm + "_ll_n" + std::to_string(ranks) + "_bf16_sum";
  m.proof = "unchecked";
  m.sourceMap = {{25, 8}, {31, 9}};
  // A test program that was built elsewhere finds them from the root of the source tree.
  const std::filesystem::path built = COLL_TEST_KERNELS;
  const std::filesystem::path folder = std::filesystem::exists(built) ? built : "test/jit/Inputs";
  kernel.cuda = readText(folder / (m.member + ".n" + std::to_string(ranks) + ".bf16.sum.cu"));
  return kernel;
}

} // namespace coll::test
