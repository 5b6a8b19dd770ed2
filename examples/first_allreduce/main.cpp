// Compiles direct.coll when the program starts and reduces a vector with it, on the GPUs here or on emulated ranks.
#include "coll/coll.h"
#include <cstdio>

static int fail(const std::string &text) { return std::fprintf(stderr, "%s\n", text.c_str()), 1; }

int main(int argc, char **argv) {
  const char *file = argc > 1 ? argv[1] : DIRECT_COLL;
  const auto text = coll::readSource(file);
  if (!text) return fail(text.error().text);
  coll::Diagnostics diagnostics;
  const auto program = coll::Program::parse(*text, file, diagnostics);
  if (!program) return fail(diagnostics.render());
  auto context = coll::Context::create(); // a rank for each GPU; two emulated ranks where there is none
  if (!context) return fail(context.error().text);
  const int ranks = context->ranks();
  auto allreduce = context->load(*program, {"allreduce.direct", ranks, coll::DType::F32, coll::ReduceOp::Sum});
  if (!allreduce) return fail(allreduce.error().text);

  const std::uint64_t count = 1000, bytes = count * sizeof(float);
  std::vector<void *> x(ranks), y(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<float> ones(count, float(rank + 1));
    for (void **memory : {&x[rank], &y[rank]}) {
      auto allocated = context->allocate(rank, bytes);
      if (!allocated) return fail(allocated.error().text);
      *memory = *allocated;
    }
    if (auto done = context->upload(rank, x[rank], ones.data(), bytes); !done) return fail(done.error().text);
  }
  for (int rank = 0; rank < ranks; ++rank)
    if (auto done = allreduce->launch(rank, {x[rank], y[rank]}, {count}); !done) return fail(done.error().text);
  if (auto done = context->synchronize(); !done) return fail(done.error().text);
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<float> sum(count);
    if (auto done = context->download(rank, sum.data(), y[rank], bytes); !done) return fail(done.error().text);
    for (float value : sum)
      if (value != float(ranks * (ranks + 1) / 2)) return fail("wrong sum on rank " + std::to_string(rank));
  }
  std::printf("the sum of %d vectors of %d floats is right on %s\n", ranks, int(count), context->describe().c_str());
}
