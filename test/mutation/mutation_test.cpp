// Every planted defect is refuted by the checker, with the right kind and line, and goes wrong on the emulator; the
// program that it was made from is proved and survives.
#include "Mutants.h"

#include "InlinedHeaders.h"
#include "codegen/EmitCuda.h"
#include "coll/Compiler.h"
#include "emulator/KernelModule.h"
#include "interpreter/Interpreter.h"
#include "ir/Build.h"
#include "parse/Parser.h"
#include "passes/Passes.h"
#include "sema/Sema.h"

#include <gtest/gtest.h>

#include <memory>

namespace coll::mutation {
namespace {

constexpr int kSurvives = 6, kFinds = 120; ///< seeds

/// A member in the form that the checker and the emitter get.
class Lowered {
public:
  explicit Lowered(const Mutant &m) {
    const auto library = standardLibraryText(m.text);
    DiagnosticEngine engine(sources, said);
    auto file = parse(sources.add(library.value_or(m.text), "mutant.coll"), engine);
    if (file) checked = sema::analyse(std::move(file), standardLibraryText, sources, engine);
    const sema::Member *member = checked ? checked->find(m.member) : nullptr;
    if (!member) {
      fail(m.member);
      return;
    }
    const DType type = DType::F32;
    const auto op = member->ops.empty() ? std::nullopt : std::optional(ReduceOp::Sum);
    program = ir::build(*member, m.ranks, type, op, sources, engine);
    passes::Context context{engine, said};
    if (!program || !passes::expandSyncModes(*program, context) || !passes::formPacketLoops(*program, context) ||
        !passes::forwardOwnSlot(*program, context) || !passes::expandReuse(*program, context))
      fail(m.member);
  }

  std::optional<ir::Program> program;

  /// The text of a program, whatever the checker says of it.
  Kernel emit(ir::Program p) {
    DiagnosticEngine engine(sources, said);
    passes::Context context{engine, said, /*unchecked=*/true};
    EXPECT_TRUE(passes::chooseDepth(p, context) && passes::assignMemory(p, context)) << said.render();
    Kernel kernel;
    kernel.cuda = codegen::emitCuda(p).cuda;
    kernel.manifest = codegen::buildManifest(p);
    kernel.program = std::make_shared<const ir::Program>(std::move(p));
    return kernel;
  }

private:
  Sources sources;
  Diagnostics said;
  std::unique_ptr<sema::Program> checked;

  void fail(const std::string &what) { ADD_FAILURE() << what << ": " << said.render(); }
};

/// What went wrong first, and under which seed; empty if nothing did.
std::string failureOf(const Mutant &m, const Kernel &kernel, int seeds) {
  RunRequest request;
  request.launches = 6;
  request.extents = m.extents;
  request.randomCounts = m.extents.empty();
  request.maxElements = 256;
  auto adversary = tool::Adversary::create(kernel, request, m.settings);
  if (!adversary) {
    ADD_FAILURE() << adversary.error().text << "\n" << kernel.cuda;
    return {};
  }
  for (int seed = m.settings.unequalGrids ? 1 : 0; seed <= seeds; ++seed) {
    const auto outcome = adversary->run(seed);
    if (!outcome) {
      ADD_FAILURE() << outcome.error().text;
      return {};
    }
    if (!outcome->failure.empty()) return "seed " + std::to_string(seed) + ": " + outcome->failure;
  }
  return {};
}

/// False if there is nothing to replace.
bool replaceAll(std::string &text, const Edit &edit) {
  if (edit.first.empty()) return true;
  bool found = false;
  for (std::size_t at = 0; (at = text.find(edit.first, at)) != std::string::npos; at += edit.second.size())
    text.replace(at, edit.first.size(), edit.second), found = true;
  return found;
}

class Mutation : public testing::TestWithParam<Mutant> {};

} // namespace

TEST_P(Mutation, IsRefutedAndItsOriginalProved) {
  const Mutant &m = GetParam();
  Lowered original(m);
  ASSERT_TRUE(original.program);
  ir::Program right = m.byHand ? m.byHand(false) : *original.program;
  ir::Program broken = m.byHand ? m.byHand(true) : right;
  if (m.change) m.change(broken);
  ASSERT_EQ(ir::verify(broken), "");
  const bool textIsWrong = !m.change && !m.byHand && m.options.sameGrid && m.options.atomicBytes >= 128;
  if (!textIsWrong) {
    const check::Verdict good = check::check(right);
    EXPECT_TRUE(good.proved) << good.summary;
  }
  const check::Verdict bad = check::check(broken, m.options);
  ASSERT_FALSE(bad.proved) << bad.summary;
  EXPECT_EQ(check::name(bad.refutation->kind), check::name(m.kind)) << bad.summary;
  if (m.line.empty()) return;
  const Diagnostic said = check::toDiagnostic(broken, *bad.refutation);
  EXPECT_NE(said.snippet.find(m.line), std::string::npos) << said.snippet << "\n" << said.message;
}

TEST_P(Mutation, GoesWrongAndItsOriginalSurvives) {
  const Mutant &m = GetParam();
  Lowered original(m);
  ASSERT_TRUE(original.program);
  ir::Program right = *original.program;
  if (m.copies)
    for (ir::Mailbox &box : right.mailboxes) box.copies = m.copies, box.declaredDepth = true;
  const Kernel kernel = original.emit(right);
  Kernel broken = kernel;
  if (m.edits.empty()) {
    if (m.change) m.change(right);
    broken = original.emit(right);
  }
  for (const Edit &edit : m.edits) EXPECT_TRUE(replaceAll(broken.cuda, edit)) << edit.first << "\n" << broken.cuda;
  EXPECT_TRUE(replaceAll(broken.cuda, {"template <class Shape>", m.prelude + "template <class Shape>"}));

  const std::string failure = failureOf(m, broken, kFinds);
  EXPECT_NE(failure, "") << broken.cuda;
  EXPECT_NE(failure.find(m.shows), std::string::npos) << failure;
  if (m.change || !m.edits.empty()) {
    Mutant control = m;
    control.settings = {};
    EXPECT_EQ(failureOf(control, kernel, kSurvives), "");
  }
}

// What the IR can say goes wrong when it is interpreted, too.
TEST_P(Mutation, GoesWrongInterpretedAndItsOriginalIsRight) {
  Mutant m = GetParam();
  const bool textIsWrong = m.edits.empty() && !m.change;
  if ((!m.change && !textIsWrong) || m.byHand) GTEST_SKIP() << "below the level of the IR";
  Lowered original(m);
  ASSERT_TRUE(original.program);
  if (const std::string what = interpreter::unknown(*original.program); !what.empty()) GTEST_SKIP() << what;
  ir::Program broken = *original.program;
  if (m.change) m.change(broken);
  m.settings.interpret = true;
  EXPECT_NE(failureOf(m, original.emit(broken), 4 * kFinds), "");
  if (!textIsWrong) {
    EXPECT_EQ(failureOf(m, original.emit(*original.program), kSurvives), "");
  }
}

// Packets of `sync ll` are waited for one by one, so that the grids do not matter.
TEST(Grids, MayDifferWhereNoCtaWaitsForACta) {
  Mutant m;
  m.text = "allreduce", m.member = "oneshot.ll";
  m.options.sameGrid = false;
  m.settings.unequalGrids = true;
  Lowered original(m);
  ASSERT_TRUE(original.program);
  EXPECT_TRUE(check::check(*original.program, m.options).proved);
  EXPECT_EQ(failureOf(m, original.emit(*original.program), 24), "");
}

// A CTA that has begun a chunk says nothing of the others of its rank.
TEST(Credits, OfAChunkAreThoseOfOneCta) {
  Mutant m = *llvm::find_if(mutants(), [](const Mutant &each) { return each.name == "ChunksOneWayWithoutCredits"; });
  m.settings.shape = LaunchShape{3, 32};
  Lowered original(m);
  ASSERT_TRUE(original.program);
  const Kernel right = original.emit(*original.program);
  Kernel broken = right;
  ASSERT_TRUE(replaceAll(broken.cuda, {"false, true>;", "false>;"}));
  EXPECT_EQ(failureOf(m, right, kSurvives), "");
  EXPECT_NE(failureOf(m, broken, kFinds), "");
}

// What a CTA gave in an earlier launch, of another grid, it gave for other packets.
TEST(Credits, OfAnEarlierLaunchCountForNothing) {
  Mutant m = *llvm::find_if(mutants(), [](const Mutant &each) { return each.name == "ChunksOneWayWithoutCredits"; });
  m.ranks = 2;
  Lowered original(m);
  ASSERT_TRUE(original.program);
  Kernel kernel = original.emit(*original.program);
  EXPECT_EQ(failureOf(m, kernel, kSurvives), "");
  kernel.cuda = test::replaced(test::withHeaders(kernel.cuda), "return want > launch.firstEpoch ? want : launch.firstEpoch;",
                               "return want;");
  EXPECT_NE(failureOf(m, kernel, kFinds), "");
}

/// How a run ends in which the last rank never launches the kernel.
emu::Result::Status withoutTheLastRank(const Kernel &kernel, int ranks) {
  emu::CompileError error;
  const auto module = emu::KernelModule::compile(kernel.cuda, std::span(&kernel.manifest.entry, 1), error);
  EXPECT_TRUE(module) << error.message;
  emu::Machine machine(kernel.manifest, emu::Policy::fair());
  for (int rank = 0; rank < ranks; ++rank) {
    std::string why;
    EXPECT_TRUE(machine.launch(rank, {.kernel = module, .entry = kernel.manifest.entry, .grid = 2}, why)) << why;
  }
  return machine.run().status;
}

// The collective that has no data is known by who waits for whom.
TEST(BarrierCollective, HoldsEveryRankUntilAllHaveBegun) {
  Mutant m;
  m.text = "barrier", m.member = "direct", m.ranks = 3;
  Lowered original(m);
  ASSERT_TRUE(original.program);
  Kernel kernel = original.emit(*original.program);
  EXPECT_EQ(withoutTheLastRank(kernel, 3), emu::Result::Ok);
  EXPECT_EQ(withoutTheLastRank(kernel, 2), emu::Result::Deadlock);
  ASSERT_TRUE(replaceAll(kernel.cuda, {"launch.barrier(0);", ""}));
  EXPECT_EQ(withoutTheLastRank(kernel, 2), emu::Result::Ok);
}

// M09 of the public defects: with dependent launch the kernel before may still be writing what this one reads.
TEST(DependentLaunch, NothingIsTouchedBeforeTheWait) {
  for (const char *member : {"oneshot.ll", "twoshot.flag", "oneshot.barrier", "pull_oneshot"}) {
    Mutant m;
    m.text = "allreduce", m.member = member;
    Lowered original(m);
    ASSERT_TRUE(original.program);
    Kernel kernel = original.emit(*original.program);
    EXPECT_EQ(failureOf(m, kernel, kSurvives), "");
    kernel.cuda = test::replaced(test::withHeaders(kernel.cuda), "ptx::gridDependencyWait(), ptx::launchDependents();",
                                 "ptx::launchDependents();");
    EXPECT_NE(failureOf(m, kernel, kSurvives).find("before the thread has waited for the kernels before its own"),
              std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Planted, Mutation, testing::ValuesIn(mutants()),
                         [](const auto &info) { return info.param.name; });

} // namespace coll::mutation
