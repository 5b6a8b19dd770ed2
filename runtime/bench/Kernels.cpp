#include "bench/Kernels.h"

#include <cstring>

namespace coll::bench {

Result<std::unique_ptr<Kernels>> Kernels::load(const Gpus &gpus, const Jit &jit, const Kernel &text,
                                                const std::vector<std::string> &names) {
  const Cuda &cuda = gpus.cuda;
  std::unique_ptr<Kernels> kernels(new Kernels(gpus));
  for (const Gpu &gpu : gpus.list) {
    auto cubin = jit.compile(text, Arch{gpu.arch, ""});
    if (!cubin) return cubin.error();
    Current current(cuda, gpu);
    CUmodule module = nullptr;
    if (auto done = cuda.check(cuda.cuModuleLoadData(&module, cubin->bytes.data()), "cuModuleLoadData"); !done)
      return done.error();
    kernels->modules.push_back(module);
    kernels->functions.emplace_back();
    for (const std::string &name : names) {
      CUfunction function = nullptr;
      if (auto done = cuda.check(cuda.cuModuleGetFunction(&function, module, name.c_str()), "cuModuleGetFunction"); !done)
        return done.error();
      // Loading at the first launch would wait for what is running, which may be a gate.
      if (cuda.cuFuncLoad)
        if (auto done = cuda.check(cuda.cuFuncLoad(function), "cuFuncLoad"); !done) return done.error();
      kernels->functions.back()[name] = function;
    }
  }
  return kernels;
}

Kernels::~Kernels() {
  for (std::size_t gpu = 0; gpu < modules.size(); ++gpu) {
    Current current(gpus.cuda, gpus.list[gpu]);
    gpus.cuda.cuModuleUnload(modules[gpu]);
  }
}

Result<void> Kernels::launchWith(std::size_t gpu, CUstream stream, const char *name, Shape shape,
                                 void **arguments) const {
  CUlaunchAttribute dependent;
  std::memset(&dependent, 0, sizeof dependent);
  dependent.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  dependent.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config;
  std::memset(&config, 0, sizeof config);
  config.gridDimX = shape.grid, config.gridDimY = 1, config.gridDimZ = 1;
  config.blockDimX = shape.block, config.blockDimY = 1, config.blockDimZ = 1;
  config.hStream = stream;
  config.attrs = &dependent;
  config.numAttrs = shape.dependent && gpus.list[gpu].arch >= 90 ? 1 : 0;
  Current current(gpus.cuda, gpus.list[gpu]);
  return gpus.cuda.check(gpus.cuda.cuLaunchKernelEx(&config, functions[gpu].at(name), arguments, nullptr), name);
}

} // namespace coll::bench
