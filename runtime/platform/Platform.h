// What the machine is taken to do beyond PTX, and what has been seen of it: see Platforms.def. Needs no CUDA header.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace coll {

/// How two GPUs reach each other's memory.
enum class Link { SameGpu, NvLink, Other };

/// In words, to stand behind "GPU 0 and GPU 1": "over NVLink".
std::string_view describe(Link link);
/// As Platforms.def has it: "NvLink".
std::string_view name(Link link);

/// The largest aligned store, in bytes, that is declared to arrive whole between two GPUs of at least this architecture.
unsigned unsplitBytes(unsigned arch, Link link);

/// A line of the list: `bytes` are declared for GPUs of at least `arch`.
struct Platform {
  unsigned arch;
  Link link;
  unsigned bytes;
};
std::span<const Platform> platforms();

namespace litmus {

/// What `coll info --litmus` looks for the opposite of.
struct Test {
  std::string_view name, claim;
};
std::span<const Test> tests();

/// What it has seen of a test.
struct Measured {
  unsigned arch;
  Link link;
  std::string_view test, gpu;
  std::uint64_t rounds, surprises;
};
std::span<const Measured> measured();

} // namespace litmus
} // namespace coll
