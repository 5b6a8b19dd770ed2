// What the fabric reads and writes of NCCL's structures, whose headers need not be there. Compared with NCCL's own headers
// in test/jit/LibrariesTest.cpp, where those are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coll::nccl_layouts {

/// From 2.29 on, structures begin with their size and the version that they are laid out for, and later releases take
/// those of 2.29.2; the 2.28 releases know neither, and 2.28.9 is the first laid out as here.
constexpr int kFirst = 22809, kVersioned = 22902;
constexpr unsigned kMagic = 0xcafebeef, kLaidOutFor = 22902;

/// ncclDevCommRequirements of 2.28.9.
struct Requirements {
  void *resources = nullptr, *teams = nullptr;
  bool lsaMultimem = false;
  int barrierCount = 0, lsaBarrierCount = 0, railGinBarrierCount = 0, lsaLLA2ABlockCount = 0, lsaLLA2ASlotCount = 0;
  bool ginForceEnable = false;
  int ginContextCount = 0, ginSignalCount = 0, ginCounterCount = 0;
};
static_assert(sizeof(Requirements) == 56);

/// That of 2.29.2.
struct VersionedRequirements {
  std::size_t size = sizeof(VersionedRequirements);
  unsigned magic = kMagic, version = kLaidOutFor;
  Requirements rest;
};
static_assert(sizeof(VersionedRequirements) == 72);

/// ncclCommProperties of 2.29.2.
struct Properties {
  std::size_t size = sizeof(Properties);
  unsigned magic = kMagic, version = kLaidOutFor;
  int rank = 0, nRanks = 0, cudaDevice = 0, nvmlDevice = 0;
  bool deviceApiSupport = false, multimemSupport = false;
  std::uint8_t ginType = 0, padding[5] = {};
};
static_assert(sizeof(Properties) == 40);

/// Offsets in ncclDevComm, alike in 2.28.9 and 2.29.2: ranks that share memory, where their multicast mapping begins.
constexpr std::size_t kLsaSizeAt = 16, kLsaMultimemAt = 112;

/// Offsets in the window object, in device memory, alike in all of these: where rank 0's part begins; the distance of two
/// ranks' parts in units of 4 GiB; how far into the multicast mapping it lies in units of 4096 bytes.
constexpr std::size_t kWindowBaseAt = 8, kWindowStrideAt = 24, kWindowMulticastAt = 28;

} // namespace coll::nccl_layouts
