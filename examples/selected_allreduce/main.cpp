// All-reduces of the standard library, in place, each size by what selection takes; on the GPUs here or emulated ranks.
#include "coll/coll.h"
#include <cstdio>

static int fail(const std::string &text) { return std::fprintf(stderr, "%s\n", text.c_str()), 1; }

// Small whole numbers are exact in bf16: the upper half of a float.
static std::uint16_t bf16(float value) { return std::uint16_t(__builtin_bit_cast(std::uint32_t, value) >> 16); }

int main() {
  // Once, when the program starts. The program outlives what is made of it, so it comes first.
  coll::Diagnostics diagnostics;
  const auto program = coll::Program::parse(*coll::standardLibraryText("allreduce"), "allreduce.coll", diagnostics);
  if (!program) return fail(diagnostics.render());
  auto context = coll::Context::create({.timeoutSeconds = 60}); // a dead peer is an error after a minute, never a hang
  if (!context) return fail(context.error().text);
  const auto allreduce = context->collective(
      *program, {.collective = "allreduce", .dtype = coll::DType::BF16, .op = coll::ReduceOp::Sum, .inplace = true});
  if (!allreduce) return fail(allreduce.error().text);

  const int ranks = context->ranks();
  const std::uint64_t most = 100'000; // elements
  std::vector<std::vector<void *>> buffers;
  std::vector<void *> streams; // an engine's own; here the context's
  for (int rank = 0; rank < ranks; ++rank) {
    const auto x = context->allocate(rank, most * sizeof(std::uint16_t));
    if (!x) return fail(x.error().text);
    buffers.push_back({*x, *x}); // the contract's `x` and `y`
    streams.push_back(context->stream(rank));
  }

  for (std::uint64_t count : {8ul, 5'000ul, most}) {
    for (int rank = 0; rank < ranks; ++rank) {
      const std::vector<std::uint16_t> x(count, bf16(float(rank + 1)));
      if (auto done = context->upload(rank, buffers[rank][0], x.data(), count * sizeof x[0]); !done)
        return fail(done.error().text);
    }
    const std::uint64_t extents[] = {count};
    // Asynchronous, on all ranks, without allocation: inside a captured graph, too.
    if (auto done = allreduce->launch(buffers, extents, {}, streams); !done) return fail(done.error().text);
    if (auto done = context->synchronize(); !done) return fail(done.error().text); // names rank and mailbox of a hang
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<std::uint16_t> y(count);
      if (auto done = context->download(rank, y.data(), buffers[rank][1], count * sizeof y[0]); !done)
        return fail(done.error().text);
      for (std::uint16_t value : y)
        if (value != bf16(float(ranks * (ranks + 1) / 2))) return fail("wrong sum on rank " + std::to_string(rank));
    }
    std::printf("%6d elements by %s\n", int(count), allreduce->choose(extents).name.c_str());
  }

  // What makes no sense is refused before anything is launched; the context goes on.
  const auto refused = allreduce->launch(std::span(buffers).first(1), {}, {}, streams);
  if (refused) return fail("one rank's buffers were taken for all");
  std::printf("refused: %s\nright on %s\n", refused.error().text.c_str(), context->describe().c_str());
} // the context waits for what is in flight and frees what it has allocated
