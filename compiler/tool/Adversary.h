// One adversarial run of a kernel: everything about it, sizes, inputs, shapes, alignment and schedule, follows from a
// seed, so that a failure can be shown again.
#pragma once

#include "context/RunLayout.h"
#include "emulator/Emulator.h"

namespace coll::tool {

/// A kernel, compiled for the CPU once and run under any number of seeds. Runs are independent: any number of threads.
class Adversary {
public:
  struct Settings {
    emu::Atomicity atomicity = emu::Atomicity::Element;
    unsigned residentCtas = 0; ///< as Policy has it
    bool unequalGrids = false; ///< ranks launch different numbers of CTAs
    bool interpret = false;    ///< the IR itself, instead of the text compiled for the CPU
    std::uint32_t firstEpoch = 0; ///< the number of the first launch; 0: 1, or now and then one near the last
    unsigned trace = 0;        ///< how many of the last events of a run to tell of
  };

  /// `request` gives the sizes (random where it leaves them open), the number of launches and whether they are in
  /// place.
  static Result<Adversary> create(const Kernel &kernel, const RunRequest &request, const Settings &settings);

  struct Outcome {
    std::string failure;       ///< what went wrong, for a person; empty if nothing did
    std::uint64_t checked = 0; ///< elements compared
    std::string trace;         ///< the last events, a line each
  };
  /// Of the emulator, seed 0 is a fair run that looks for accesses which nothing orders; not for many ranks, where it does nothing.
  Result<Outcome> run(std::uint64_t seed) const;

  /// What the kernel needs of stores that the atomicity does not give it; empty if it gives enough.
  std::string lacking() const;

private:
  Adversary(const Kernel &kernel, const RunRequest &request, const Settings &settings, Reference reference)
      : manifest(kernel.manifest), program(kernel.program), request(request), settings(settings), reference(std::move(reference)) {}

  Outcome verify(const RunLayout &layout, std::span<const PlannedLaunch> launches,
                 std::span<const std::vector<std::byte>> memory) const;
  emu::Policy policyOf(std::uint64_t seed) const;
  LaunchShape shapeOf(std::uint64_t seed, std::uint64_t number, int rank) const;

  Manifest manifest;
  std::shared_ptr<const ir::Program> program;
  RunRequest request;
  Settings settings;
  Reference reference;
  std::shared_ptr<const emu::KernelModule> module;
};

} // namespace coll::tool
