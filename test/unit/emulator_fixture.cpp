// Compiling and running of test kernels.
#include "emulator_fixture.h"

#include <bit>
#include <cmath>
#include <cstring>
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

namespace {

/// As runtime/device/coll lays it out: payload and bytes of a line, what it is filled with, what lies behind the lines.
struct Form {
  std::uint64_t payload, line;
  std::uint32_t fill;
  std::uint64_t flags;
};

Form formOf(const AllReduce &job) {
  if (job.sync == "ll") return {8, 16, 0, 0};
  if (job.sync == "ll128") return {30, 32, 0, 0};
  if (job.sync == "flag") return {16, 16, 0, 256u * job.ranks * 4};
  if (job.sync == "sentinel") return {16, 16, sizeOf(job.dtype) == 4 ? 0x80000000 : 0x80008000, 0};
  return {16, 16, 0, 0}; // barrier
}

std::string deviceType(DType dtype) {
  switch (dtype) {
  case DType::F32: return "float";
  case DType::F16: return "coll::F16";
  case DType::BF16: return "coll::BF16";
  default: return "int";
  }
}

float toFloat(DType dtype, std::uint32_t bits) {
  if (dtype == DType::F32) return std::bit_cast<float>(bits);
  if (dtype == DType::BF16) return std::bit_cast<float>(bits << 16);
  const std::uint32_t magnitude = bits & 0x7fff;
  const float value = magnitude < 0x400    ? float(magnitude) * 0x1p-24f
                      : magnitude < 0x7c00 ? std::bit_cast<float>((magnitude << 13) + (112u << 23))
                                           : std::bit_cast<float>(magnitude << 13 | 0x7f800000);
  return bits & 0x8000 ? -value : value;
}

/// The element of `dtype` with this value, which it holds exactly.
std::uint32_t fromFloat(DType dtype, float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if (dtype == DType::F32) return bits;
  if (dtype == DType::BF16) return bits >> 16;
  if (value == 0) return bits >> 16;
  if (std::fabs(value) < 0x1p-14f) return (bits >> 16 & 0x8000) | std::uint32_t(std::fabs(value) * 0x1p24f);
  return (bits >> 16 & 0x8000) | ((bits & 0x7fffffff) - (112u << 23)) >> 13;
}

std::uint32_t inputOf(const AllReduce &job, int rank, std::size_t step, std::uint64_t i) {
  if (job.input) return job.input(rank, step, i);
  if (job.dtype == DType::I32) return std::uint32_t((rank + 1) * 1000003u + step * 7919u + i * 31u);
  if (i % 11 == 3 || (i % 7 == 1 && rank % 2 == 0)) return fromFloat(job.dtype, -0.0f);
  if (i % 13 == 5 && rank == 1)
    return job.dtype == DType::F32 ? 0xffc01234 : job.dtype == DType::BF16 ? 0xffc1 : 0xfe01;
  return fromFloat(job.dtype, float(int((rank * 7 + step * 3 + i) % 23) - 5));
}

/// Whether `got` is element i of the sum: for floats any NaN for a NaN, and -0.0 as the mode has it.
bool isSum(const AllReduce &job, std::size_t step, std::uint64_t i, std::uint32_t got, std::uint32_t &want) {
  if (job.dtype == DType::I32) {
    want = 0;
    for (int q = 0; q < job.ranks; ++q) want += inputOf(job, q, step, i);
    return got == want;
  }
  float sum = 0;
  for (int q = 0; q < job.ranks; ++q) {
    float value = toFloat(job.dtype, inputOf(job, q, step, i));
    if (job.sync == "sentinel" && value == 0) value = 0; // of either sign
    sum = q == 0 ? value : sum + value;
  }
  want = std::isnan(sum) ? 0x7fc00000 : std::isinf(sum) ? std::bit_cast<std::uint32_t>(sum) : fromFloat(job.dtype, sum);
  if (std::isinf(sum) || std::isnan(sum)) {
    const float value = toFloat(job.dtype, got);
    return std::isnan(sum) ? std::isnan(value) : value == sum;
  }
  return got == want;
}

} // namespace

Manifest AllReduce::manifest() const {
  const Form form = formOf(*this);
  Manifest manifest;
  manifest.ranks = ranks;
  manifest.dtype = dtype;
  manifest.barriers = sync == "barrier" ? 1 : 0;
  manifest.multicastsMail = multicast;
  std::uint64_t end = headerBytes(ranks, manifest.barriers);
  for (int m = 0; m < mailboxes; ++m) {
    const std::string name = m == 0 ? "box" : "box" + std::to_string(m + 1);
    manifest.mailboxes.push_back(
        {name, sync, std::uint64_t(ranks), lines, copies, form.line, form.payload, end, form.fill});
    end += copies * ranks * lines * form.line + form.flags;
  }
  manifest.regionBytes = end;
  return manifest;
}

Outcome run(const AllReduce &job, const Policy &policy) {
  std::vector<std::string> defines = {"RANKS " + std::to_string(job.ranks), "TYPE " + deviceType(job.dtype),
                                      "LINES " + std::to_string(job.lines), "COPIES " + std::to_string(job.copies)};
  defines.insert(defines.end(), job.defects.begin(), job.defects.end());
  const auto module = kernel(job.file, defines, {"allreduce"});

  Outcome outcome;
  if (!module) {
    outcome.result.status = Result::Fault;
    return outcome;
  }
  const std::uint64_t size = sizeOf(job.dtype);
  Machine machine(job.manifest(), policy);
  machine.setEpoch(job.epoch);
  std::vector<std::vector<Buffer>> outputs(job.steps.size());
  for (std::size_t s = 0; s < job.steps.size(); ++s) {
    const Step &step = job.steps[s];
    for (int r = 0; r < job.ranks; ++r) {
      std::vector<std::byte> values(step.count * size);
      for (std::uint64_t i = 0; i < step.count; ++i) {
        const std::uint32_t bits = inputOf(job, r, s, i);
        std::memcpy(&values[i * size], &bits, size);
      }
      const Buffer x = machine.allocate(r, "x", step.count * size, step.misalignedElements * size);
      const unsigned further = step.misalignedElements ? step.misalignedElements + 1 : 0;
      const Buffer y = step.inplace ? x : machine.allocate(r, "y", step.count * size, further * size);
      machine.write(x, values);
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
      std::vector<std::byte> got(count * size);
      machine.read(outputs[s][r], got);
      for (std::uint64_t i = 0; i < count; ++i) {
        std::uint32_t bits = 0, want = 0;
        std::memcpy(&bits, &got[i * size], size);
        if (isSum(job, s, i, bits, want)) continue;
        if (outcome.wrong++ == 0)
          outcome.firstWrong = "launch " + std::to_string(s) + " rank " + std::to_string(r) + " element " +
                               std::to_string(i) + ": got " + std::to_string(bits) + ", want " + std::to_string(want);
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
