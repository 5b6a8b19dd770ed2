// `coll info --litmus`: what the GPUs here do beyond what PTX promises, looked for and counted. Needs no CUDA header.
#pragma once

#include "coll/Compiler.h"
#include "coll/Result.h"
#include "platform/Platform.h"

#include <functional>

namespace coll::litmus {

/// What came of one test between two GPUs.
struct Finding {
  const Test *test;
  int from, to; ///< ordinals of the GPUs that write and that look
  std::string gpu;
  unsigned arch;
  Link link;
  std::uint64_t rounds = 0;
  std::uint64_t surprises = 0; ///< of what must not happen where the test's claim holds
};

struct Limits {
  std::uint64_t rounds = 1 << 20; ///< of each CTA
  double seconds = 5;             ///< of each test and pair
};

/// Runs all tests between GPU 0 and itself, and between every two GPUs that reach each other. `each` hears of every
/// finding as it comes. Error::MachineLacks where there is no GPU.
Result<std::vector<Finding>> run(const Limits &limits, const std::function<void(const Finding &)> &each);

/// The kernels of the tests, for the compiler.
Kernel text();
std::vector<std::string> names();

} // namespace coll::litmus
