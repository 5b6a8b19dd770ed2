// NVRTC's C interface, opened when first needed. Declared here and not taken from nvrtc.h, so that a Coll built on a
// machine without CUDA compiles kernels on one that has NVRTC; test/jit compares the two.
#pragma once

#include "platform/DynamicLibrary.h"

#include <cstddef>

namespace coll {

struct NvrtcProgramObject;
using NvrtcProgram = NvrtcProgramObject *;

/// Functions as in nvrtc.h; 0 is success.
struct Nvrtc {
  int (*version)(int *major, int *minor);
  const char *(*errorString)(int result);
  int (*numSupportedArchs)(int *count);
  int (*supportedArchs)(int *archs);
  int (*createProgram)(NvrtcProgram *program, const char *source, const char *name, int headers,
                       const char *const *headerTexts, const char *const *headerNames);
  int (*destroyProgram)(NvrtcProgram *program);
  int (*compileProgram)(NvrtcProgram program, int options, const char *const *optionTexts);
  int (*ptxSize)(NvrtcProgram program, std::size_t *size);
  int (*ptx)(NvrtcProgram program, char *text);
  int (*cubinSize)(NvrtcProgram program, std::size_t *size);
  int (*cubin)(NvrtcProgram program, char *bytes);
  int (*logSize)(NvrtcProgram program, std::size_t *size);
  int (*log)(NvrtcProgram program, char *text);

  int major = 0, minor = 0;
  std::string path;
  std::vector<int> archs; ///< compute capabilities it compiles for, as 90 for sm_90, ascending

  std::string versionText() const { return std::to_string(major) + "." + std::to_string(minor); }

  static constexpr int kOldestMajor = 12, kOldestMinor = 4;

  /// The process's NVRTC; the first call decides which. Error::MachineLacks if there is none or it is too old.
  static Result<const Nvrtc *> get(const std::string &path = "");
};

} // namespace coll
