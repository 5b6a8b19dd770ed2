// Sync mode `counter`: right as generated, and wrong without the wait, the count, or the copies that the checker asks for.
#include "coll/coll.h"
#include "emulator/Emulator.h"

#include <gtest/gtest.h>

#include <cstring>

namespace coll {
namespace {

constexpr int kRanks = 4, kLaunches = 6;
constexpr std::uint64_t kCount = 512;

Kernel compiled(const std::string &member) {
  Diagnostics diagnostics;
  auto program = Program::parse(*standardLibraryText("allreduce"), "allreduce.coll", diagnostics);
  EXPECT_TRUE(program) << diagnostics.render();
  auto kernel = program->compile({member, kRanks, DType::F32, ReduceOp::Sum}, {}, diagnostics);
  EXPECT_TRUE(kernel) << diagnostics.render();
  return *kernel;
}

std::string replaced(std::string text, const std::string &what, const std::string &by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

std::vector<std::byte> floats(float value) {
  std::vector<std::byte> bytes(kCount * 4);
  for (std::uint64_t i = 0; i < kCount; ++i) std::memcpy(bytes.data() + i * 4, &value, 4);
  return bytes;
}

/// Launches with buffers of their own, back to back; whether any element is wrong, or the run does not end.
bool isBad(const Kernel &kernel, const std::shared_ptr<const emu::KernelModule> &module, std::uint64_t seed) {
  emu::Machine machine(kernel.manifest, emu::Policy::adversarial(seed));
  std::vector<std::vector<emu::Buffer>> outputs(kRanks);
  for (int rank = 0; rank < kRanks; ++rank)
    for (int number = 0; number < kLaunches; ++number) {
      const emu::Buffer x = machine.allocate(rank, "x", kCount * 4), y = machine.allocate(rank, "y", kCount * 4);
      machine.write(x, floats(float(rank + number)));
      outputs[std::size_t(rank)].push_back(y);
      std::string error;
      const emu::Launch launch{module, kernel.manifest.entry, 1u + unsigned(number) % 2, 32, {{x}, {y}}, {kCount}, {}, false};
      EXPECT_TRUE(machine.launch(rank, launch, error)) << error;
    }
  if (machine.run().status != emu::Result::Ok) return true;
  for (int rank = 0; rank < kRanks; ++rank)
    for (int number = 0; number < kLaunches; ++number) {
      std::vector<std::byte> bytes(kCount * 4);
      machine.read(outputs[std::size_t(rank)][std::size_t(number)], bytes);
      if (bytes != floats(float(kRanks * (kRanks - 1) / 2 + kRanks * number))) return true;
    }
  return false;
}

/// How many of some seeds are bad; -1 without a compiler.
int countBad(const Kernel &kernel, const std::string &text) {
  emu::CompileError error;
  auto module = emu::KernelModule::compile(text, std::span(&kernel.manifest.entry, 1), error);
  if (!module) return -1;
  int bad = 0;
  for (std::uint64_t seed = 0; seed < 16; ++seed) bad += isBad(kernel, module, seed);
  return bad;
}

/// The declaration of a mailbox with another number of copies, its last argument.
std::string withCopies(const Kernel &kernel, const std::string &name, std::uint64_t copies, std::uint64_t fewer) {
  const std::size_t at = kernel.cuda.find("using " + name + " = ");
  const std::string declared = kernel.cuda.substr(at, kernel.cuda.find('\n', at) - at);
  return replaced(kernel.cuda, declared,
                  replaced(declared, ", " + std::to_string(copies) + ">", ", " + std::to_string(fewer) + ">"));
}

TEST(Counter, EveryPartIsNeeded) {
  const Kernel kernel = compiled("allreduce.counter.sentinel");
  EXPECT_EQ(kernel.manifest.minArch, 90u);
  EXPECT_EQ(kernel.manifest.needs, std::vector<std::string>{"p2p-atomics"});
  const int right = countBad(kernel, kernel.cuda);
  if (right < 0) GTEST_SKIP() << "no C++ compiler";
  EXPECT_EQ(right, 0);
  EXPECT_GT(countBad(kernel, replaced(kernel.cuda, "Acc::await(launch, 0, 1);", "")), 0);
  EXPECT_GT(countBad(kernel, replaced(kernel.cuda, "Acc::announce(launch, 0);", "")), 0);
  const auto &acc = kernel.manifest.mailboxes.front();
  ASSERT_GT(acc.copies, 1u) << "the clear is released by the end of the launch";
  EXPECT_GT(countBad(kernel, withCopies(kernel, "Acc", acc.copies, 1)), 0);
}

} // namespace
} // namespace coll
