// CUDA text to machine code, in this process, by NVRTC; kept on disk.
#pragma once

#include "coll/Compiler.h"
#include "coll/Result.h"
#include "jit/KernelCache.h"
#include "platform/Nvrtc.h"

namespace coll {

/// What a GPU is asked to understand: `sm_90`, `sm_100a`.
struct Arch {
  unsigned number = 0; ///< 90
  std::string suffix;  ///< `a` or `f`, for code that runs on that architecture or its family alone

  std::string text() const { return "sm_" + std::to_string(number) + suffix; }

  /// Error::BadInput with the list of those known if it is none.
  static Result<Arch> parse(std::string_view text);
};

enum class Stage { Ptx, Cubin };

struct Binary {
  std::string bytes; ///< a cubin, or PTX as text
  bool cached = false;
  double milliseconds = 0; ///< NVRTC's time, or the cache's
};

/// One NVRTC and one cache. Safe to use from several threads.
class Jit {
public:
  /// Error::MachineLacks if there is no NVRTC, or one that is too old.
  static Result<Jit> create(KernelCache cache = KernelCache::standard(), const std::string &nvrtcPath = "");

  /// Compiles one kernel. With COLL_OVERRIDE_DIR an edited text takes the place of `kernel.cuda`; COLL_DUMP_DIR gets
  /// all stages. Error::MachineLacks if this NVRTC does not know the architecture, Error::BadInput if the kernel is
  /// not for it; Error::Internal with NVRTC's log and the lines of the .coll file if the text does not compile.
  Result<Binary> compile(const Kernel &kernel, const Arch &arch, Stage stage = Stage::Cubin) const;

  /// Which NVRTC this is, for `coll info`.
  const Nvrtc &nvrtc() const { return *api; }

private:
  Jit(const Nvrtc *api, KernelCache cache) : api(api), cache(std::move(cache)) {}
  Result<void> supports(const Manifest &manifest, const Arch &arch) const;
  Result<Binary> build(const std::string &text, const Manifest &manifest, const Arch &arch, Stage stage) const;

  const Nvrtc *api;
  KernelCache cache;
};

} // namespace coll
