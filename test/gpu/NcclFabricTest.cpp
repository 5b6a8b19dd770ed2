// What the nccl fabric asks of NCCL for multicast, and what it makes of the answers, with an NCCL and a driver of the
// test's own: real ones with multicast need more than two GPUs.
#include "fabric/Fabric.h"
#include "platform/NcclLayouts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

using namespace coll;
using namespace coll::nccl_layouts;

namespace {

constexpr std::uintptr_t kMemory = 0x7000'0000'0000, kFlat = 0x7100'0000'0000, kMulticast = 0x7200'0000'0000;
constexpr std::uint32_t kPages = 3; ///< how far into the multicast mapping a window lies

/// What the fake machine is like, and what it has been asked.
struct Machine {
  bool gpusMulticast = true;  ///< the driver's answer for each GPU
  bool multimem = true;       ///< NCCL's, from 2.29 on
  int created = 0;            ///< ncclDevCommCreate's: 0, or an error
  int ended = 0;              ///< ncclGroupEnd's after it
  int got = 0;                ///< the getter's
  bool mapped = true;         ///< whether the getter has an address
  int lsaSize = 4;

  int depth = 0, initialised = 0, aborted = 0, destroyed = 0, queries = 0, creations = 0, ungrouped = 0, devDestroyed = 0;
  bool creating = false;

  // Of a rank in a process of its own.
  int rank = 2, count = 4, splits = 0;
  std::vector<NcclComm> gone; ///< destroyed or aborted, in this order
  bool comes = true;          ///< whether the other ranks come to a meeting
  std::map<int, std::uint64_t> answers; ///< of other ranks, where they are not those of this one
  std::vector<unsigned char> requirements;
} machine;

NcclComm comm(int rank) { return reinterpret_cast<NcclComm>(std::uintptr_t(0x100 + rank)); }

template <std::size_t kBytes>
int createDevComm(NcclComm, const void *requirements, void *device) {
  ++machine.creations, machine.ungrouped += machine.depth == 0, machine.creating = true;
  const auto *bytes = static_cast<const unsigned char *>(requirements);
  machine.requirements.assign(bytes, bytes + kBytes);
  std::memcpy(static_cast<char *>(device) + kLsaSizeAt, &machine.lsaSize, sizeof machine.lsaSize);
  const std::uintptr_t base = kMulticast;
  std::memcpy(static_cast<char *>(device) + kLsaMultimemAt, &base, sizeof base);
  return machine.created;
}

Nccl fakeNccl(int version) {
  Nccl api = {};
  api.version = version;
  api.getErrorString = [](int) { return "refused"; };
  api.getLastError = [](NcclComm) { return ""; };
  api.groupStart = [] { return ++machine.depth, 0; };
  api.groupEnd = [] { return --machine.depth, std::exchange(machine.creating, false) ? machine.ended : 0; };
  api.commInitAll = [](NcclComm *comms, int count, const int *) {
    for (int rank = 0; rank < count; ++rank) comms[rank] = comm(rank);
    return ++machine.initialised, 0;
  };
  api.commDestroy = [](NcclComm of) { return machine.gone.push_back(of), ++machine.destroyed, 0; };
  api.commAbort = [](NcclComm of) { return machine.gone.push_back(of), ++machine.aborted, 0; };
  api.commCount = [](NcclComm, int *count) { return *count = machine.count, 0; };
  api.commUserRank = [](NcclComm, int *rank) { return *rank = machine.rank, 0; };
  api.commSplit = [](NcclComm, int, int, NcclComm *part, void *) { return *part = comm(++machine.splits), 0; };
  api.allGather = [](const void *send, void *receive, std::size_t, int, NcclComm, void *) {
    auto *words = static_cast<std::uint64_t *>(receive);
    const std::uint64_t mine = *static_cast<const std::uint64_t *>(send);
    for (int rank = 0; rank < machine.count; ++rank) words[rank] = mine && machine.answers.count(rank) ? machine.answers[rank] : mine;
    return 0;
  };
  api.memAlloc = [](void **memory, std::size_t) { return *memory = reinterpret_cast<void *>(kMemory), 0; };
  api.memFree = [](void *) { return 0; };
  api.commWindowRegister = [](NcclComm of, void *, std::size_t, NcclWindow *window, int) {
    *window = reinterpret_cast<NcclWindow>(0x1000 * std::uintptr_t(of));
    return 0;
  };
  api.commWindowDeregister = [](NcclComm, NcclWindow) { return 0; };
  api.devCommCreate = version < kVersioned ? createDevComm<sizeof(Requirements)> : createDevComm<sizeof(VersionedRequirements)>;
  api.devCommDestroy = [](NcclComm, const void *) { return ++machine.devDestroyed, 0; };
  if (version < kVersioned) return api;
  api.getPeerDevicePointer = [](NcclWindow, std::size_t, int peer, void **pointer) {
    *pointer = reinterpret_cast<void *>(kFlat + (std::uintptr_t(peer) << 32));
    return 0;
  };
  api.commQueryProperties = [](NcclComm, void *properties) {
    ++machine.queries;
    auto &answer = *static_cast<Properties *>(properties);
    if (answer.magic != kMagic || answer.size != 40) return 5;
    answer.deviceApiSupport = true, answer.multimemSupport = machine.multimem;
    return 0;
  };
  api.getLsaMultimemDevicePointer = [](NcclWindow window, std::size_t offset, void **pointer) {
    *pointer = machine.mapped ? reinterpret_cast<void *>(kMulticast + std::uintptr_t(window) + offset) : nullptr;
    return machine.got;
  };
  return api;
}

const Cuda &fakeCuda() {
  static const Cuda api = [] {
    Cuda cuda;
    cuda.cuCtxGetCurrent = [](CUcontext *context) { return *context = nullptr, CUDA_SUCCESS; };
    cuda.cuCtxSetCurrent = [](CUcontext) { return CUDA_SUCCESS; };
    cuda.cuCtxSynchronize = [] { return CUDA_SUCCESS; };
    cuda.cuMemsetD8 = [](CUdeviceptr, unsigned char, std::size_t) { return CUDA_SUCCESS; };
    cuda.cuStreamCreate = [](CUstream *, unsigned) { return CUDA_SUCCESS; };
    cuda.cuStreamQuery = [](CUstream) { return machine.comes ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY; };
    cuda.cuStreamSynchronize = [](CUstream) { return CUDA_SUCCESS; };
    cuda.cuMemAlloc = [](CUdeviceptr *memory, std::size_t bytes) {
      return *memory = reinterpret_cast<CUdeviceptr>(std::malloc(bytes)), CUDA_SUCCESS;
    };
    cuda.cuMemFree = [](CUdeviceptr memory) { return std::free(reinterpret_cast<void *>(memory)), CUDA_SUCCESS; };
    cuda.cuMemcpyHtoDAsync = [](CUdeviceptr to, const void *from, std::size_t bytes, CUstream) {
      return std::memcpy(reinterpret_cast<void *>(to), from, bytes), CUDA_SUCCESS;
    };
    cuda.cuMemcpyDtoHAsync = [](void *to, CUdeviceptr from, std::size_t bytes, CUstream) {
      return std::memcpy(to, reinterpret_cast<void *>(from), bytes), CUDA_SUCCESS;
    };
    cuda.cuDevicePrimaryCtxRelease = [](CUdevice) { return CUDA_SUCCESS; };
    cuda.cuDeviceGetAttribute = [](int *value, CUdevice_attribute asked, CUdevice) {
      *value = asked == CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED && machine.gpusMulticast;
      return CUDA_SUCCESS;
    };
    cuda.cuPointerGetAttribute = [](void *type, CUpointer_attribute, CUdeviceptr) {
      *static_cast<CUmemorytype *>(type) = CU_MEMORYTYPE_DEVICE;
      return CUDA_SUCCESS;
    };
    cuda.cuMemcpyDtoH = [](void *to, CUdeviceptr from, std::size_t bytes) { // of a window object
      unsigned char object[32] = {};
      const std::uintptr_t base = kFlat;
      const std::uint32_t stride = 1;
      std::memcpy(object + kWindowBaseAt, &base, sizeof base);
      std::memcpy(object + kWindowStrideAt, &stride, sizeof stride);
      std::memcpy(object + kWindowMulticastAt, &kPages, sizeof kPages);
      std::memcpy(to, object + from % 0x1000, bytes);
      return CUDA_SUCCESS;
    };
    return cuda;
  }();
  return api;
}

class NcclFabricTest : public testing::TestWithParam<int> {
protected:
  void SetUp() override {
    machine = {};
    unsetenv("NCCL_NVLS_ENABLE");
    for (int gpu = 0; gpu < 4; ++gpu) gpus.list.push_back({.ordinal = gpu, .name = "fake"});
  }

  /// Connects `ranks` ranks, and allocates.
  void connect(int ranks = 4, bool multicast = true) {
    region.reset(), fabric.reset();
    auto made = createNcclFabric(gpus, nccl, ranks, multicast);
    ASSERT_TRUE(made) << made.error().text;
    fabric = std::move(*made);
    auto allocated = fabric->allocate(1 << 20);
    ASSERT_TRUE(allocated) << allocated.error().text;
    region = std::move(*allocated);
    EXPECT_EQ(region->address(1, 1), reinterpret_cast<void *>(kFlat + (1ull << 32)));
  }
  void expectNone() {
    for (int rank = 0; rank < fabric->ranks(); ++rank) EXPECT_EQ(region->multicast(rank), nullptr);
  }
  void expectNotAsked() {
    expectNone();
    EXPECT_EQ(machine.creations, 0);
    EXPECT_EQ(machine.initialised, 1);
    EXPECT_EQ(machine.aborted, 0);
    EXPECT_EQ(fabric->describe().find("multicast"), std::string::npos);
  }

  bool versioned() const { return GetParam() >= kVersioned; }

  Nccl nccl = fakeNccl(GetParam());
  Gpus gpus{fakeCuda()};
  std::unique_ptr<Fabric> fabric;
  std::unique_ptr<SymmetricRegion> region;
};

TEST_P(NcclFabricTest, HandsOutTheAddressOfAllRanks) {
  connect();
  for (int rank = 0; rank < 4; ++rank) {
    const std::uintptr_t window = 0x1000 * std::uintptr_t(comm(rank));
    EXPECT_EQ(region->multicast(rank), reinterpret_cast<void *>(kMulticast + (versioned() ? window : kPages * 4096ull)));
  }
  EXPECT_NE(fabric->describe().find("with multicast"), std::string::npos);
  EXPECT_EQ(machine.creations, 4);
  EXPECT_EQ(machine.ungrouped, 0); // one rank after the other would wait for ever
  const std::size_t begin = versioned() ? 16 : 0;
  ASSERT_EQ(machine.requirements.size(), begin + 56);
  EXPECT_EQ(machine.requirements[begin + 16], 1);
  if (versioned()) {
    EXPECT_EQ(machine.requirements[0], 72); // its size, the first word
    EXPECT_EQ(std::memcmp(&machine.requirements[8], &kMagic, 4), 0);
  }
  region.reset(), fabric.reset();
  EXPECT_EQ(machine.devDestroyed, 4);
  EXPECT_EQ(machine.destroyed, 4);
}

TEST_P(NcclFabricTest, IsNotAskedWhereTheCallerWantsNone) {
  connect(4, /*multicast=*/false);
  expectNotAsked();
  EXPECT_EQ(machine.queries, 0);
}

TEST_P(NcclFabricTest, IsNotAskedWhereThereIsNone) {
  machine.multimem = machine.gpusMulticast = false;
  connect();
  expectNotAsked();
}

/// What NCCL 2.29 says itself must be known beforehand of 2.28.
TEST_P(NcclFabricTest, IsNotAskedWhereNcclHasItSwitchedOff) {
  if (versioned()) machine.multimem = false;
  setenv("NCCL_NVLS_ENABLE", "0", 1);
  connect();
  unsetenv("NCCL_NVLS_ENABLE");
  expectNotAsked();
}

TEST_P(NcclFabricTest, IsNotAskedOfTwoRanks) {
  if (versioned()) machine.multimem = false;
  connect(2);
  expectNotAsked();
}

/// A refusal within the group may leave communicators that are given up: there must be new ones.
TEST_P(NcclFabricTest, RefusalLeavesTheLoopForm) {
  for (int *answer : {&machine.created, &machine.ended}) {
    machine.initialised = machine.aborted = 0;
    *answer = 4;
    connect();
    *answer = 0;
    expectNone();
    EXPECT_EQ(machine.initialised, 2);
    EXPECT_EQ(machine.aborted, 4);
    EXPECT_EQ(machine.depth, 0);
    EXPECT_EQ(fabric->describe().find("multicast"), std::string::npos);
  }
}

TEST_P(NcclFabricTest, ATeamOfSomeRanksIsNotUsed) {
  machine.lsaSize = 2;
  connect();
  expectNone();
  EXPECT_EQ(machine.devDestroyed, 4);
}

TEST_P(NcclFabricTest, AWindowWithoutItIsNoError) {
  if (!versioned()) GTEST_SKIP() << "2.28 has no getter";
  machine.mapped = false;
  connect();
  expectNone();
  machine.mapped = true, machine.got = 3;
  connect();
  expectNone();
}

INSTANTIATE_TEST_SUITE_P(Versions, NcclFabricTest, testing::Values(22809, 22902, 23203));

/// The releases before are laid out otherwise.
TEST(NcclFabric, Nccl2283IsNotAsked) {
  machine = {};
  const Nccl nccl = fakeNccl(22803);
  Gpus gpus{fakeCuda()};
  for (int gpu = 0; gpu < 4; ++gpu) gpus.list.push_back({.ordinal = gpu, .name = "fake"});
  auto fabric = createNcclFabric(gpus, nccl, 4, true);
  ASSERT_TRUE(fabric) << fabric.error().text;
  EXPECT_EQ(machine.creations, 0);
}

/// A rank in a process of its own, over the communicator of a caller.
class ProcessFabricTest : public testing::Test {
protected:
  void SetUp() override {
    machine = {};
    machine.gpusMulticast = machine.multimem = false;
    gpus.list.push_back({.ordinal = 2, .name = "fake"});
    options.communicator = comm(100);
  }
  void connect() {
    auto made = createProcessFabric(gpus, nccl, options, /*timeoutSeconds=*/0.05);
    ASSERT_TRUE(made) << made.error().text;
    fabric = std::move(*made);
  }

  Nccl nccl = fakeNccl(22902);
  Gpus gpus{fakeCuda()};
  ContextOptions options;
  std::unique_ptr<Fabric> fabric;
};

TEST_F(ProcessFabricTest, HasOneRankAndLeavesTheCallersCommunicator) {
  connect();
  EXPECT_EQ(fabric->ranks(), 4);
  EXPECT_EQ(fabric->own(), std::vector<int>{2});
  EXPECT_EQ(fabric->ranksPerGpu(), 1);
  auto region = fabric->allocate(100);
  ASSERT_TRUE(region) << region.error().text;
  for (int peer = 0; peer < 4; ++peer)
    EXPECT_EQ((*region)->address(2, peer), reinterpret_cast<void *>(kFlat + (std::uintptr_t(peer) << 32)));
  EXPECT_EQ((*region)->address(1, 2), nullptr); // another process's to know
  region->reset(), fabric.reset();
  EXPECT_EQ(machine.gone, std::vector<NcclComm>{comm(1)}); // the part that the fabric has made
}

TEST_F(ProcessFabricTest, WhatOneRankLacksNoneHas) {
  machine.gpusMulticast = machine.multimem = true;
  machine.answers[1] = 0; // the rank that has no multicast
  connect();
  EXPECT_EQ(machine.creations, 0);
  machine.answers.clear();
  machine.created = 4; // all have it, and NCCL refuses: the part is given up, and the caller's communicator is as it was
  connect();
  EXPECT_EQ(machine.aborted, 1);
  EXPECT_EQ(std::count(machine.gone.begin(), machine.gone.end(), comm(100)), 0);
  EXPECT_EQ(fabric->describe().find("multicast"), std::string::npos);
  machine.created = 0;
  connect();
  EXPECT_NE(fabric->describe().find("multicast"), std::string::npos);
}

TEST_F(ProcessFabricTest, RanksThatMeanOtherThingsAreTold) {
  connect();
  machine.answers[3] = 5001;
  const auto other = fabric->allocate(4096);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().text, "rank 3 allocates 5000 bytes of symmetric memory, and rank 2 4096");
  machine.answers[3] = 0;
  const auto none = fabric->allocate(4096);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().text, "rank 3 has no memory left");
}

TEST_F(ProcessFabricTest, ARankThatDoesNotComeIsNotWaitedForForEver) {
  connect();
  machine.comes = false;
  const auto all = fabric->gather(1);
  ASSERT_FALSE(all);
  EXPECT_NE(all.error().text.find("for the other ranks"), std::string::npos);
  EXPECT_EQ(machine.aborted, 1);
  machine.comes = true;
  EXPECT_FALSE(fabric->gather(1)); // nor does it go on as if nothing had been
}

} // namespace
