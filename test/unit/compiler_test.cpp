// The compiler as a library: what an embedding program sees that the command line does not show.
#include "coll/Compiler.h"

#include <gtest/gtest.h>

#include <thread>

using namespace coll;

namespace {

const char *const kTwoAlgorithms = R"(coll 1
use allreduce
algorithm push<S in {ll, barrier}> for allreduce on lsa(2..4) when bytes <= 64Ki {
  mailbox box[N] of T[M] sync S
  forall p in ranks: x -> p.box[me]
  y = reduce(op, r in ranks: box[r])
}
algorithm short_of_copies for allreduce on lsa(2..4) when bytes <= 64Ki {
  mailbox box[N] of T[M] sync ll depth 1
  forall p in ranks: x -> p.box[me]
  y = reduce(op, r in ranks: box[r])
}
)";

std::unique_ptr<Program> parsed() {
  Diagnostics diagnostics;
  auto program = Program::parse(kTwoAlgorithms, "two.coll", diagnostics);
  EXPECT_TRUE(program) << diagnostics.render();
  return program;
}

const Diagnostic &only(const Diagnostics &diagnostics) {
  EXPECT_EQ(diagnostics.list.size(), 1u) << diagnostics.render();
  static const Diagnostic none;
  return diagnostics.list.empty() ? none : diagnostics.list.front();
}

TEST(Compiler, FindsMembersByWholeAndByShortNames) {
  const auto program = parsed();
  ASSERT_EQ(program->members().size(), 3u);
  EXPECT_EQ(program->find("allreduce.push.ll")->name, "allreduce.push.ll");
  EXPECT_EQ(program->find("push.barrier")->name, "allreduce.push.barrier");
  EXPECT_EQ(program->find("short_of_copies")->name, "allreduce.short_of_copies");
  EXPECT_EQ(program->find("push"), nullptr) << "has two modes";
  EXPECT_EQ(program->find("pull"), nullptr);
}

TEST(Compiler, RefusesInstancesThatAreNotOffered) {
  const auto program = parsed();
  for (const Instance &instance : {Instance{"pull", 2}, Instance{"push.ll", 5}, Instance{"push.ll", 0}}) {
    Diagnostics diagnostics;
    EXPECT_FALSE(program->compile(instance, {}, diagnostics));
    EXPECT_EQ(only(diagnostics).kind, "bad-instance");
  }
  Diagnostics diagnostics;
  EXPECT_FALSE(program->compile({"push.ll", 2, DType::I32, ReduceOp::Avg}, {}, diagnostics));
  EXPECT_EQ(only(diagnostics).kind, "not-offered");
}

TEST(Compiler, EmitsNothingThatIsRefutedUnlessAsked) {
  const auto program = parsed();
  Diagnostics refuted;
  EXPECT_FALSE(program->compile({"short_of_copies", 4}, {}, refuted));
  EXPECT_EQ(only(refuted).kind, "overwrite-before-read");
  EXPECT_EQ(only(refuted).severity, Severity::Error);

  Diagnostics overruled;
  const auto kernel = program->compile({"short_of_copies", 4}, {.unchecked = true}, overruled);
  ASSERT_TRUE(kernel);
  EXPECT_EQ(only(overruled).severity, Severity::Warning);
  EXPECT_EQ(kernel->manifest.mailboxes[0].copies, 1u);
  EXPECT_EQ(kernel->manifest.proof.substr(0, 9), "unchecked");
  EXPECT_NE(kernel->cuda.find("REFUTED"), std::string::npos) << "the text itself must say so";
}

TEST(Compiler, ManifestCountsPackets) {
  const auto program = parsed();
  Diagnostics diagnostics;
  const auto kernel = program->compile({"push.ll", 4, DType::BF16}, {}, diagnostics);
  ASSERT_TRUE(kernel) << diagnostics.render();
  const Manifest &m = kernel->manifest;
  EXPECT_EQ(m.packetBytes, 8u);
  EXPECT_EQ(m.packets({{"M", 0}}), 0u);
  EXPECT_EQ(m.packets({{"M", 4}}), 1u);
  EXPECT_EQ(m.packets({{"M", 5}}), 2u);
  EXPECT_TRUE(m.wholePackets({{"M", 4}}));
  EXPECT_FALSE(m.wholePackets({{"M", 5}}));
  EXPECT_EQ(m.capacity, 64u * 1024 / 2);
  EXPECT_EQ(m.parameterBytes(), 8u * (4 + 4 + 2 + 1 + 1)) << "peers, rest of Team, two pointers, M, onePacket";
  EXPECT_EQ(m.promises.size(), 4u);
}

TEST(Compiler, IsSafeToUseFromSeveralThreads) {
  const auto program = parsed();
  std::vector<std::string> texts(8);
  std::vector<std::thread> threads;
  for (std::string &text : texts)
    threads.emplace_back([&] {
      Diagnostics diagnostics;
      if (auto kernel = program->compile({"push.ll", 3}, {}, diagnostics)) text = kernel->cuda;
    });
  for (std::thread &thread : threads) thread.join();
  for (const std::string &text : texts) EXPECT_EQ(text, texts.front());
  EXPECT_FALSE(texts.front().empty());
}

TEST(Compiler, StandardLibraryCompilesFromItsOwnText) {
  ASSERT_FALSE(standardLibrary().empty());
  for (const std::string &name : standardLibrary()) {
    Diagnostics diagnostics;
    EXPECT_TRUE(Program::parse(*standardLibraryText(name), name + ".coll", diagnostics)) << diagnostics.render();
  }
  EXPECT_FALSE(standardLibraryText("nothing"));
}

} // namespace
