// Compiling and running of test kernels.
#include "emulator_fixture.h"

#include <fstream>
#include <sstream>

namespace coll::emu::test {

std::shared_ptr<const KernelModule> kernel(const std::string &file, const std::vector<std::string> &defines,
                                           const std::vector<std::string> &entries) {
  std::ifstream stream(std::string(COLL_TEST_KERNELS) + "/" + file);
  std::ostringstream text;
  for (const auto &define : defines) text << "#define " << define << "\n";
  text << stream.rdbuf();
  CompileError error;
  auto module = KernelModule::compile(text.str(), entries, error);
  EXPECT_TRUE(module) << error.message;
  return module;
}

static std::uint64_t headerBytes(std::uint64_t ranks, std::uint64_t barriers) {
  return (1024 + 128 + barriers * 256 * ranks * 4 + 127) / 128 * 128;
}

Manifest AllReduce::manifest() const {
  Manifest manifest;
  manifest.ranks = ranks;
  manifest.dtype = DType::I32;
  manifest.barriers = sync == "barrier" ? 1 : 0;
  std::uint64_t end = headerBytes(ranks, manifest.barriers);
  const std::uint64_t payload = sync == "barrier" ? 16 : 8;
  for (int m = 0; m < mailboxes; ++m) {
    const std::string name = m == 0 ? "box" : "box" + std::to_string(m + 1);
    manifest.mailboxes.push_back({name, sync, std::uint64_t(ranks), lines, copies, 16, payload, end});
    end += copies * ranks * lines * 16;
  }
  manifest.regionBytes = end;
  return manifest;
}

static std::int32_t input(int rank, std::size_t step, std::uint64_t i) {
  return std::int32_t((rank + 1) * 1000003u + step * 7919u + i * 31u);
}

Outcome run(const AllReduce &job, const Policy &policy) {
  std::vector<std::string> defines = {"RANKS " + std::to_string(job.ranks), "TYPE int",
                                      "LINES " + std::to_string(job.lines), "COPIES " + std::to_string(job.copies)};
  defines.insert(defines.end(), job.defects.begin(), job.defects.end());
  const auto module = kernel(job.file, defines, {"allreduce"});

  Outcome outcome;
  if (!module) {
    outcome.result.status = Result::Fault;
    return outcome;
  }
  Machine machine(job.manifest(), policy);
  machine.setEpoch(job.epoch);
  std::vector<std::vector<Buffer>> outputs(job.steps.size());
  for (std::size_t s = 0; s < job.steps.size(); ++s) {
    const Step &step = job.steps[s];
    for (int r = 0; r < job.ranks; ++r) {
      std::vector<std::int32_t> values(step.count);
      for (std::uint64_t i = 0; i < step.count; ++i) values[i] = input(r, s, i);
      const Buffer x = machine.allocate(r, "x", step.count * 4, step.misalignedElements * 4);
      const Buffer y = step.inplace ? x
                                    : machine.allocate(r, "y", step.count * 4,
                                                       step.misalignedElements ? step.misalignedElements * 4 + 4 : 0);
      machine.write(x, std::as_bytes(std::span(values)));
      outputs[s].push_back(y);
      std::string error;
      Launch launch{module,     "allreduce",  step.grid, step.block,
                    {{x}, {y}}, {step.count}, {},        (step.onePacket >> r & 1) != 0};
      EXPECT_TRUE(machine.launch(r, launch, error)) << error;
    }
  }
  outcome.result = machine.run();
  for (std::size_t s = 0; s < job.steps.size() && outcome.result.status == Result::Ok; ++s) {
    const std::uint64_t count = job.steps[s].count;
    for (int r = 0; r < job.ranks; ++r) {
      std::vector<std::int32_t> got(count);
      machine.read(outputs[s][r], std::as_writable_bytes(std::span(got)));
      for (std::uint64_t i = 0; i < count; ++i) {
        std::uint32_t want = 0;
        for (int q = 0; q < job.ranks; ++q) want += std::uint32_t(input(q, s, i));
        if (std::uint32_t(got[i]) == want) continue;
        if (outcome.wrong++ == 0)
          outcome.firstWrong = "launch " + std::to_string(s) + " rank " + std::to_string(r) + " element " +
                               std::to_string(i) + ": got " + std::to_string(std::uint32_t(got[i])) + ", want " +
                               std::to_string(want);
      }
    }
  }
  return outcome;
}

std::ostream &operator<<(std::ostream &out, const Outcome &outcome) {
  out << name(outcome.result.status) << "\n" << outcome.result.report;
  if (outcome.wrong) out << outcome.wrong << " wrong elements; " << outcome.firstWrong << "\n";
  return out;
}

int countBad(const AllReduce &job, int seeds, Atomicity atomicity) {
  int bad = 0;
  for (int seed = 0; seed < seeds; ++seed) bad += !run(job, Policy::adversarial(seed, atomicity)).good();
  return bad;
}

void expectGood(const AllReduce &job, int seeds, Atomicity atomicity) {
  for (int seed = 0; seed < seeds; ++seed) {
    const Outcome outcome = run(job, Policy::adversarial(seed, atomicity));
    ASSERT_TRUE(outcome.good()) << "seed " << seed << " atomicity " << int(atomicity) << ": " << outcome;
  }
}

} // namespace coll::emu::test
