// A process for each GPU, as inference engines and MPI programs have it: process_per_gpu [PROCESSES]. Here the processes
// are forked and the id goes through pipes; MPI_Bcast, a store or a file do as well, and a program that has an ncclComm_t
// gives that as ContextOptions::communicator instead. Exit code 77: this machine has not got what it takes.
#include "coll/coll.h"
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

static int fail(const coll::Error &error) {
  std::fprintf(stderr, "%s\n", error.text.c_str());
  return error.code == coll::Error::Code::MachineLacks ? 77 : 1;
}

static int runRank(int rank, int ranks, const coll::UniqueId &id) {
  coll::ContextOptions options;
  options.ranks = ranks, options.rank = rank, options.id = id, options.timeoutSeconds = 30;
  auto context = coll::Context::create(options);
  if (!context) return fail(context.error());
  coll::Diagnostics diagnostics;
  const auto program = coll::Program::parse(*coll::standardLibraryText("allreduce"), "allreduce.coll", diagnostics);
  coll::CollectiveRequest request; // in place, f32, sum; NCCL where it is faster
  request.collective = "allreduce", request.inplace = true;
  auto allreduce = context->collective(*program, request);
  if (!allreduce) return fail(allreduce.error());

  const std::uint64_t most = 1 << 20;
  auto x = context->allocate(rank, most * sizeof(float));
  if (!x) return fail(x.error());
  for (std::uint64_t count : {1ull, 1000ull, 32768ull, 1ull << 20}) {
    std::vector<float> values(count, float(rank + 1));
    if (auto done = context->upload(rank, *x, values.data(), count * sizeof(float)); !done) return fail(done.error());
    const std::vector<void *> buffers[] = {{*x, *x}};
    const std::uint64_t extents[] = {count};
    if (auto done = allreduce->launch(buffers, extents); !done) return fail(done.error());
    if (auto done = context->synchronize(); !done) return fail(done.error());
    if (auto done = context->download(rank, values.data(), *x, count * sizeof(float)); !done) return fail(done.error());
    for (float value : values)
      if (value != float(ranks * (ranks + 1) / 2)) return fail({coll::Error::Code::Failed, "wrong sum on rank " + std::to_string(rank)});
  }
  std::printf("right on %s\n", context->describe().c_str());
  return 0;
}

int main(int argc, char **argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 2;
  std::vector<std::array<int, 2>> pipes(std::size_t(ranks), {-1, -1});
  for (auto &ends : pipes)
    if (pipe(ends.data()) != 0) return 1;
  for (int rank = 0; rank < ranks; ++rank) // before anything of CUDA: it does not survive a fork
    if (fork() == 0) {
      coll::UniqueId id = {};
      if (rank == 0) {
        const auto made = coll::UniqueId::make();
        if (made) id = *made; // zeros tell the others that there is none
        for (auto &ends : pipes)
          if (write(ends[1], id.bytes.data(), id.bytes.size()) < 0) _exit(1);
        if (!made) _exit(fail(made.error()));
      } else if (read(pipes[std::size_t(rank)][0], id.bytes.data(), id.bytes.size()) != ssize_t(id.bytes.size())) {
        _exit(1);
      }
      const int code = id.bytes == coll::UniqueId{}.bytes ? 77 : runRank(rank, ranks, id);
      std::fflush(nullptr);
      _exit(code);
    }
  int worst = 0, status = 0;
  while (wait(&status) > 0) worst = std::max(worst, WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  return worst;
}
