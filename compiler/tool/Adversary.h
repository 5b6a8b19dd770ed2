// One adversarial run of a kernel: everything about it, sizes, inputs, shapes, alignment and schedule, follows from a
// seed, so that a failure can be shown again.
#pragma once

#include "context/RunLayout.h"
#include "emulator/Emulator.h"

#include <functional>
#include <optional>

namespace coll::tool {

/// A kernel, or several whose launches follow each other in random order, each with the scratch of its workspace or of its
/// own; compiled for the CPU once and run under any number of seeds. Runs are independent: any number of threads.
class Adversary {
public:
  struct Settings {
    emu::Atomicity atomicity = emu::Atomicity::Element;
    unsigned residentCtas = 0; ///< as Policy has it
    bool unequalGrids = false; ///< ranks launch different numbers of CTAs
    std::optional<LaunchShape> shape = {}; ///< of all launches; random if empty
    bool oneRegion = false;    ///< all kernels work in the scratch regions of the first, which must be large enough
    /// Which stream the `number`-th launch of a rank, of that kernel, goes to: nothing orders launches on different ones
    /// unless `events` do. All go to one if empty.
    std::function<unsigned(std::size_t kernel, unsigned number)> stream = {};
    bool events = false;
    bool multicast = true;     ///< the team may have multicast; then some seeds have, and others have not
    bool interpret = false;    ///< the IR itself, instead of the text compiled for the CPU
    bool fewRuns = true;       ///< not hundreds: then it is the compiler's time that counts
    std::uint32_t firstEpoch = 0; ///< the number of the first launch; 0: 1, or now and then one near the last
    unsigned trace = 0;        ///< how many of the last events of a run to tell of
  };

  /// `request` gives the sizes (random where it leaves them open), the number of launches and whether they are in
  /// place. Kernels are all for as many ranks.
  static Result<Adversary> create(std::span<const Kernel> kernels, const RunRequest &request, const Settings &settings);
  static Result<Adversary> create(const Kernel &kernel, const RunRequest &request, const Settings &settings) {
    return create(std::span(&kernel, 1), request, settings);
  }

  struct Outcome {
    std::string failure;       ///< what went wrong, for a person; empty if nothing did
    std::uint64_t checked = 0; ///< elements compared
    std::string trace;         ///< the last events, a line each
  };
  /// Of the emulator, seed 0 is a fair run that looks for accesses which nothing orders; not for many ranks, where it does nothing.
  Result<Outcome> run(std::uint64_t seed) const;

  /// What the settings keep from a kernel that it needs: stores that arrive whole, equal grids, launches one after the
  /// other. Empty if nothing.
  std::string lacking() const;

private:
  /// What there is to run of a member.
  struct Part {
    Manifest manifest;
    Reference reference;
    std::shared_ptr<const ScalarDraw> draw;
    std::shared_ptr<const ir::Program> program;
    std::shared_ptr<const emu::KernelModule> module;
  };
  /// The launches of a part in one run. Lies where it is made, as the layout refers to the request.
  struct Share;

  Adversary(const RunRequest &request, const Settings &settings) : request(request), settings(settings) {}

  Result<std::vector<std::unique_ptr<Share>>> plan(std::uint64_t seed, std::vector<std::size_t> &order) const;
  Result<Outcome> emulate(std::uint64_t seed, std::vector<std::unique_ptr<Share>> &shares,
                          const std::vector<std::size_t> &order) const;
  Outcome verify(const std::vector<std::unique_ptr<Share>> &shares) const;
  emu::Policy policyOf(std::uint64_t seed) const;
  LaunchShape shapeOf(const Manifest &manifest, std::uint64_t seed, std::uint64_t number, int rank) const;

  std::vector<std::unique_ptr<const Part>> parts; ///< which do not move: references and layouts point to manifests
  RunRequest request;
  Settings settings;
};

} // namespace coll::tool
