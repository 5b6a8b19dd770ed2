// What a context says to calls that make no sense, and that it is not to be used after an error.
#include "coll/coll.h"

#include <gtest/gtest.h>

#include <array>

using namespace coll;

namespace {

const char *const kText = R"(coll 1
use allreduce
algorithm right for allreduce<op in {sum}> on lsa(2..8) when bytes <= 64Ki {
  mailbox box[N] of T[M] sync ll
  forall p in ranks: x -> p.box[me]
  y = reduce(op, r in ranks: box[r])
}
algorithm racing for allreduce on lsa(2..8) when bytes <= 64Ki {
  mailbox box[N] of T[M] sync ll depth 1
  forall p in ranks: x -> p.box[me]
  y = reduce(op, r in ranks: box[r])
}
)";

struct Emulated : testing::Test {
  Emulated() : context(Context::create({.ranks = 2, .fabric = FabricKind::Emulated})) {
    program = Program::parse(kText, "mine.coll", diagnostics);
  }
  Result<Collective> load(const char *member, ReduceOp op = ReduceOp::Sum) {
    return context->load(*program, {member, 2, DType::F32, op});
  }

  Diagnostics diagnostics;
  std::unique_ptr<Program> program;
  Result<Context> context;
};

template <class Made>
void refused(const Made &made, Error::Code code, const std::string &text) {
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, code) << made.error().text;
  EXPECT_NE(made.error().text.find(text), std::string::npos) << made.error().text;
}

TEST_F(Emulated, LoadTellsWhatIsRefutedFromWhatIsNotOffered) {
  refused(load("racing"), Error::Code::Refuted, "[overwrite-before-read]");
  refused(load("right", ReduceOp::Max), Error::Code::BadInput, "[not-offered]");
  refused(load("nothing"), Error::Code::BadInput, "no single `nothing`");
}

TEST_F(Emulated, SeveralAreLoadedAtATime) {
  const auto instance = [](const char *member, DType type, int ranks = 2) { return Instance{member, ranks, type, ReduceOp::Sum}; };
  auto both = context->load(*program, std::array{instance("right", DType::F32), instance("right", DType::I32)});
  if (!both && both.error().code == Error::Code::MachineLacks) GTEST_SKIP() << both.error().text;
  ASSERT_TRUE(both) << both.error().text;
  ASSERT_EQ(both->size(), 2u);
  for (const Collective &each : *both)
    for (int rank : {0, 1}) {
      void *memory = *context->allocate(rank, 400);
      ASSERT_TRUE(each.launch(rank, {memory, memory}, {100}));
    }
  EXPECT_EQ((*both)[1].manifest().dtype, DType::I32);
  EXPECT_TRUE(context->synchronize());
  refused(context->load(*program, std::array{instance("right", DType::F32), instance("racing", DType::F32)}), Error::Code::Refuted,
          "[overwrite-before-read]");
  refused(context->load(*program, std::array{instance("right", DType::F32, 4)}), Error::Code::BadInput,
          "asked for with 4 ranks; the context has 2");
}

TEST_F(Emulated, CopiesNeedAddressesAndRanks) {
  int word = 0;
  refused(context->upload(0, nullptr, &word, 4), Error::Code::BadInput, "a copy to a null address");
  refused(context->download(0, &word, nullptr, 4), Error::Code::BadInput, "a copy from a null address");
  refused(context->allocate(2, 16), Error::Code::BadInput, "rank 2");
  EXPECT_TRUE(context->upload(1, nullptr, nullptr, 0));
}

TEST_F(Emulated, IsNotToBeUsedAfterAnError) {
  auto right = load("right");
  if (!right && right.error().code == Error::Code::MachineLacks) GTEST_SKIP() << right.error().text;
  ASSERT_TRUE(right) << right.error().text;
  void *memory = *context->allocate(0, 400);
  ASSERT_TRUE(right->launch(0, {memory, memory}, {100})); // and rank 1 never
  refused(context->synchronize(), Error::Code::Failed, "deadlock");
  refused(right->launch(0, {memory, memory}, {100}), Error::Code::Failed, "make a new one");
  refused(context->synchronize(), Error::Code::Failed, "make a new one");
}

TEST(Machine, WhoNamesGpusHearsThatThereAreNone) {
  if (const auto open = Context::create({.ranks = 2}); open && open->fabric() != FabricKind::Emulated) GTEST_SKIP() << "there are GPUs";
  refused(Context::create({.ranks = 2, .gpus = {0, 1}}), Error::Code::MachineLacks, "");
}

} // namespace
