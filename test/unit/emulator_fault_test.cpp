// What a broken kernel's report says.
#include "emulator_fixture.h"

using namespace coll::emu;
using namespace coll::emu::test;

namespace {

Result runDefect(int defect) {
  AllReduce layout;
  layout.ranks = 3;
  const auto module = kernel("raw_access.cu", {"RANKS 3", "LINES 64", "DEFECT " + std::to_string(defect)}, {"broken"});
  Machine machine(layout.manifest(), Policy::fair());
  for (int r = 0; r < 3; ++r) {
    const Buffer x = machine.allocate(r, "x", 100), y = machine.allocate(r, "y", 100);
    std::string error;
    EXPECT_TRUE(machine.launch(r, {module, "broken", 2, 32, {{x}, {y}}, {25}, {}}, error)) << error;
  }
  return machine.run();
}

void expectReport(int defect, Result::Status status, const std::string &text) {
  const Result result = runDefect(defect);
  EXPECT_EQ(name(result.status), name(status));
  EXPECT_NE(result.report.find(text), std::string::npos) << result.report;
  EXPECT_NE(result.report.find("rank 1, launch 0 (broken), CTA 1, thread 3"), std::string::npos) << result.report;
}

} // namespace

TEST(EmulatorFault, RawAccessToARegion) {
  expectReport(0, Result::Fault, "raw access, which no primitive of the device headers makes: rank 2's epoch word 15");
}
TEST(EmulatorFault, RawAccessToAnArgument) {
  expectReport(1, Result::Fault, "`y` of rank 1 at byte 0");
}
TEST(EmulatorFault, PastTheEnd) {
  expectReport(2, Result::Fault, "store of 4 bytes outside: `y` of rank 1 at byte 100 (it has 100 bytes)");
  expectReport(3, Result::Fault, "load of 1 bytes outside: `x` of rank 1 at byte 100 (it has 100 bytes)");
}
TEST(EmulatorFault, BeforeTheBeginning) {
  expectReport(4, Result::Fault, "`x` of rank 1 at byte -4");
}
TEST(EmulatorFault, Misaligned) {
  expectReport(5, Result::Fault, "misaligned store of 8 bytes: `y` of rank 1 at byte 4");
}
TEST(EmulatorFault, PastTheRegion) {
  expectReport(6, Result::Fault, "outside: the scratch region of rank 2 at byte");
}
TEST(EmulatorFault, NullPointer) {
  expectReport(7, Result::Fault, "address 0x0, which is in no buffer");
}

TEST(EmulatorFault, DeadlockNamesTheLine) {
  expectReport(8, Result::Deadlock, "waits for rank 1's mailbox `box` copy 1 slot 2 line 9");
}

TEST(EmulatorFault, StackOverflow) {
  expectReport(9, Result::Fault, "stack overflow of the emulated thread, which has 32768 bytes");
}

TEST(EmulatorFault, StepLimitSaysSo) {
  AllReduce job;
  job.file = "oneshot_ll.cu";
  job.steps = {{128, 1, 32}};
  Policy policy = Policy::adversarial(0);
  policy.stepLimit = 100;
  const Outcome outcome = run(job, policy);
  EXPECT_EQ(outcome.result.status, Result::StepLimit);
  EXPECT_EQ(outcome.result.report.find("not finished after 100 steps"), 0u) << outcome;
}

TEST(EmulatorFault, DeadlockOfOneCopyNamesRankMailboxAndSlot) {
  AllReduce job;
  job.file = "oneshot_ll.cu";
  job.copies = 1;
  job.steps.assign(4, {64, 1, 32});
  for (int seed = 0; seed < 20; ++seed) {
    const Outcome outcome = run(job, Policy::adversarial(seed));
    if (outcome.result.status != Result::Deadlock) continue;
    EXPECT_NE(outcome.result.report.find("'s mailbox `box` copy 0 slot "), std::string::npos) << outcome;
    return;
  }
  FAIL() << "no seed deadlocked";
}

TEST(EmulatorFault, CompilerErrorsAreTexts) {
  CompileError error;
  const std::string entries[] = {"f"};
  EXPECT_FALSE(KernelModule::compile("#include \"coll/device.h\"\nextern \"C\" __global__ void f(int) { nonsense; }",
                                     entries, error));
  EXPECT_FALSE(error.noCompiler);
  EXPECT_NE(error.message.find("nonsense"), std::string::npos) << error.message;
}

TEST(EmulatorFault, ParametersMustFit) {
  const auto module = kernel("raw_access.cu", {"RANKS 3", "LINES 64", "DEFECT 0"}, {"broken"});
  AllReduce layout;
  layout.ranks = 3;
  Machine machine(layout.manifest(), Policy::fair());
  std::string error;
  EXPECT_FALSE(machine.launch(0, {module, "broken", 1, 32, {}, {25}, {}}, error));
  EXPECT_EQ(error, "cannot launch `broken`: it takes 88 bytes of parameters, not 72");
}
