// Many kernels for real GPUs, compiled on all cores: a context that loads them finds them on disk.
#pragma once

#include "coll/Compiler.h"
#include "jit/Jit.h"
#include "platform/Parallel.h"


namespace coll::test {

/// In the order of the instances. What did not compile is said in `failed`.
inline std::vector<Kernel> compiledTogether(const Program &program, const std::vector<Instance> &instances, unsigned arch,
                                            std::string &failed) {
  std::vector<Kernel> kernels(instances.size());
  std::vector<std::string> errors(instances.size());
  const auto jit = Jit::create();
  if (!jit) return failed = jit.error().text, kernels;
  const auto compileOne = [&](std::size_t i) {
    Diagnostics diagnostics;
    auto kernel = program.compile(instances[i], {}, diagnostics);
    if (!kernel) {
      errors[i] = instances[i].member + ": " + diagnostics.render();
      return;
    }
    kernels[i] = std::move(*kernel);
    if (const auto binary = jit->compile(kernels[i], Arch{arch, ""}); !binary) errors[i] = binary.error().text;
  };
  onAllCores(instances.size(), compileOne);
  for (const std::string &text : errors) failed += text;
  return kernels;
}

} // namespace coll::test
