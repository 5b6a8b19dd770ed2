// One adversarial run of a kernel: everything about it, sizes, inputs, shapes, alignment and schedule, follows from a
// seed, so that a failure can be shown again.
#pragma once

#include "context/RunLayout.h"
#include "emulator/Emulator.h"

namespace coll::tool {

/// A kernel, compiled for the CPU once and run under any number of seeds. Runs are independent: any number of threads.
class Adversary {
public:
  /// `request` gives the sizes (random where it leaves them open), the number of launches and whether they are in
  /// place.
  static Result<Adversary> create(const Kernel &kernel, const RunRequest &request, emu::Atomicity atomicity);

  struct Outcome {
    std::string failure;       ///< what went wrong, for a person; empty if nothing did
    std::uint64_t checked = 0; ///< elements compared
  };
  Result<Outcome> run(std::uint64_t seed) const;

  /// What the kernel needs of stores that the atomicity does not give it; empty if it gives enough.
  std::string lacking() const;

private:
  Adversary(const Kernel &kernel, const RunRequest &request, emu::Atomicity atomicity, Reference reference)
      : manifest(kernel.manifest), request(request), atomicity(atomicity), reference(std::move(reference)) {}

  Manifest manifest;
  RunRequest request;
  emu::Atomicity atomicity;
  Reference reference;
  std::shared_ptr<const emu::KernelModule> module;
};

} // namespace coll::tool
