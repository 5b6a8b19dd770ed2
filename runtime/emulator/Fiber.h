// Fibers on Boost.Context's lowest layer. A fiber of a failed run is simply never resumed: kernels own nothing that
// would have to be unwound, so the public boost::context::fiber, which unwinds by an exception, would only add risk.
#pragma once

#include <boost/context/detail/fcontext.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <sys/mman.h>

namespace coll::emu {

using Context = boost::context::detail::fcontext_t;

/// Control flow of one emulated thread. `run` enters it, `leave` gives control back to the caller of `run`, which is no
/// fiber.
class Fiber {
public:
  /// `kBody` is called with what the first `run` passes.
  template <void (*kBody)(void *)>
  void prepare(void *stack, std::size_t bytes) {
    own = boost::context::detail::make_fcontext(static_cast<char *>(stack) + bytes, bytes, &enter<kBody>);
  }
  void run(void *argument) { own = boost::context::detail::jump_fcontext(own, argument).fctx; }
  /// It will be run soon.
  void prefetch() const { __builtin_prefetch(own); }
  static void leave() { caller = boost::context::detail::jump_fcontext(caller, nullptr).fctx; }

private:
  template <void (*kBody)(void *)>
  static void enter(boost::context::detail::transfer_t from) {
    caller = from.fctx;
    kBody(from.data);
    for (;;) leave();
  }

  Context own = nullptr;
  static inline thread_local Context caller = nullptr;
};

/// Equal stacks in one mapping, of which only touched pages take memory. Neighbours are offset by a few cache lines,
/// so that the hot ends of thousands of stacks do not fall into the same cache sets.
class Stacks {
public:
  static constexpr std::size_t kBytes = 32 * 1024;
  static constexpr std::size_t kStride = kBytes + 192;
  static constexpr std::uint64_t kCanary = 0x5afe57ac6b0770e5;

  /// The stacks of the calling host thread, at least `count`. Kept from run to run, so that a campaign of many seeds
  /// does not fault the same pages in again and again.
  static Stacks &ofThisThread(std::size_t count) {
    static thread_local Stacks stacks;
    if (stacks.bytes < (count + 1) * kStride) stacks.reserve(count);
    return stacks;
  }
  Stacks(const Stacks &) = delete;
  Stacks &operator=(const Stacks &) = delete;
  ~Stacks() { release(); }

  char *operator[](std::size_t i) const { return memory + (i + 1) * kStride; }

  /// A word at the far end that an overflow would destroy first. Guard pages would need two mappings a stack, more
  /// than Linux allows for the largest teams.
  static std::uint64_t &canary(char *stack) { return *reinterpret_cast<std::uint64_t *>(stack); }

private:
  Stacks() = default;
  void release() {
    if (memory) munmap(memory, bytes);
    memory = nullptr, bytes = 0;
  }
  void reserve(std::size_t count) {
    release();
    const std::size_t size = (count + 1) * kStride; // one more below the first, for its overflow
    void *p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    memory = static_cast<char *>(p), bytes = size;
    // The threads of a run hop between all these stacks; with small pages that is mostly address translation.
    if (size <= (std::size_t(128) << 20)) madvise(memory, bytes, MADV_HUGEPAGE);
  }

  char *memory = nullptr;
  std::size_t bytes = 0;
};

} // namespace coll::emu
