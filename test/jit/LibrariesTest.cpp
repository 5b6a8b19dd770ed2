// How a library that is missing, broken or too old is told to the user, and where wheels are looked for.
#include "platform/DynamicLibrary.h"
#include "platform/Nccl.h"
#include "platform/Nvrtc.h"
#include "platform/Platform.h"

#include <gtest/gtest.h>

#include <fstream>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace coll;

#if __has_include(<nvrtc.h>)
#include <nvrtc.h>
#endif
#if __has_include(<nccl.h>)
#include <nccl.h>
#endif
#if __has_include(<nccl_device/impl/comm__types.h>)
#include "platform/NcclLayouts.h"
#include <nccl_device/impl/comm__types.h>
#endif

namespace {

/// Whether two functions take and give values of the same sizes: our declarations have opaque types for theirs.
template <class R1, class... A1, class R2, class... A2>
constexpr bool alike(R1 (*)(A1...), R2 (*)(A2...)) {
  if constexpr (sizeof...(A1) != sizeof...(A2))
    return false;
  else
    return sizeof(R1) == sizeof(R2) && ((sizeof(A1) == sizeof(A2)) && ...);
}
#define ALIKE(Struct, field, function) static_assert(alike(decltype(Struct::field)(nullptr), &::function))

#if __has_include(<nvrtc.h>)
ALIKE(Nvrtc, version, nvrtcVersion);
ALIKE(Nvrtc, numSupportedArchs, nvrtcGetNumSupportedArchs);
ALIKE(Nvrtc, supportedArchs, nvrtcGetSupportedArchs);
ALIKE(Nvrtc, createProgram, nvrtcCreateProgram);
ALIKE(Nvrtc, destroyProgram, nvrtcDestroyProgram);
ALIKE(Nvrtc, compileProgram, nvrtcCompileProgram);
ALIKE(Nvrtc, ptx, nvrtcGetPTX);
ALIKE(Nvrtc, cubin, nvrtcGetCUBIN);
ALIKE(Nvrtc, log, nvrtcGetProgramLog);
static_assert(NVRTC_SUCCESS == 0);
#endif

#if __has_include(<nccl.h>)
ALIKE(Nccl, getVersion, ncclGetVersion);
ALIKE(Nccl, getLastError, ncclGetLastError);
ALIKE(Nccl, commInitAll, ncclCommInitAll);
ALIKE(Nccl, commDestroy, ncclCommDestroy);
ALIKE(Nccl, memAlloc, ncclMemAlloc);
ALIKE(Nccl, memFree, ncclMemFree);
ALIKE(Nccl, commWindowRegister, ncclCommWindowRegister);
ALIKE(Nccl, commWindowDeregister, ncclCommWindowDeregister);
ALIKE(Nccl, commAbort, ncclCommAbort);
ALIKE(Nccl, allReduce, ncclAllReduce);
ALIKE(Nccl, reduceScatter, ncclReduceScatter);
ALIKE(Nccl, reduce, ncclReduce);
ALIKE(Nccl, allGather, ncclAllGather);
ALIKE(Nccl, broadcast, ncclBroadcast);
#if NCCL_VERSION_CODE >= 22803
ALIKE(Nccl, allToAll, ncclAlltoAll);
#endif
#if __has_include(<nccl_device/impl/comm__types.h>)
ALIKE(Nccl, devCommCreate, ncclDevCommCreate);
ALIKE(Nccl, devCommDestroy, ncclDevCommDestroy);
using namespace nccl_layouts;
#define SAME(Ours, Theirs, field) (offsetof(Ours, field) == offsetof(Theirs, field))
#if NCCL_VERSION_CODE >= 22902
ALIKE(Nccl, commQueryProperties, ncclCommQueryProperties);
ALIKE(Nccl, getPeerDevicePointer, ncclGetPeerDevicePointer);
ALIKE(Nccl, getLsaMultimemDevicePointer, ncclGetLsaMultimemDevicePointer);
static_assert(offsetof(VersionedRequirements, rest) + offsetof(Requirements, lsaMultimem) ==
              offsetof(ncclDevCommRequirements, lsaMultimem));
static_assert(SAME(Properties, ncclCommProperties, deviceApiSupport));
static_assert(SAME(Properties, ncclCommProperties, multimemSupport));
static_assert(kMagic == NCCL_API_MAGIC);
#elif NCCL_VERSION_CODE >= 22809
static_assert(sizeof(Requirements) == sizeof(ncclDevCommRequirements));
static_assert(SAME(Requirements, ncclDevCommRequirements, lsaMultimem));
static_assert(SAME(Requirements, ncclDevCommRequirements, lsaBarrierCount));
static_assert(SAME(Requirements, ncclDevCommRequirements, ginCounterCount));
#endif
#if NCCL_VERSION_CODE >= 22809 && NCCL_VERSION_CODE < 23000 // later ones are laid out so for those of 2.29.2
static_assert(kLsaSizeAt == offsetof(ncclDevComm, lsaSize) && kLsaMultimemAt == offsetof(ncclDevComm, lsaMultimem));
#endif
static_assert(kWindowBaseAt == offsetof(ncclWindow_vidmem, lsaFlatBase));
static_assert(kWindowStrideAt == offsetof(ncclWindow_vidmem, stride4G));
static_assert(kWindowMulticastAt == offsetof(ncclWindow_vidmem, mcOffset4K));
#endif
static_assert(ncclSuccess == 0 && NCCL_WIN_DEFAULT == 0 && NCCL_WIN_REQUIRED_ALIGNMENT == 4096);
#endif

LibraryQuery nonsense() {
  return {.what = "NVRTC",
          .variable = env::Variable::NvrtcPath,
          .names = {"libcoll-no-such-thing.so.1"},
          .folders = {},
          .wheels = {"nvidia/no_such_thing/lib"},
          .advice = "install CUDA"};
}

TEST(Libraries, MissingSaysHowToGetIt) {
  auto library = DynamicLibrary::open(nonsense());
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, Error::Code::MachineLacks);
  for (const char *part : {"NVRTC was not found", "libcoll-no-such-thing.so.1", "install CUDA", "COLL_NVRTC_PATH"})
    EXPECT_NE(library.error().text.find(part), std::string::npos) << library.error().text;
}

TEST(Libraries, VariableIsBinding) {
  setenv("COLL_NVRTC_PATH", "/no/such/folder/libnvrtc.so.13", 1);
  LibraryQuery query = nonsense();
  query.names = {"libc.so.6"}; // the loader would find it; the variable says where to look
  auto library = DynamicLibrary::open(query);
  unsetenv("COLL_NVRTC_PATH");
  ASSERT_FALSE(library);
  EXPECT_NE(library.error().text.find("/no/such/folder/libnvrtc.so.13"), std::string::npos);
  EXPECT_NE(library.error().text.find("COLL_NVRTC_PATH"), std::string::npos);
}

TEST(Libraries, FolderWithoutIt) {
  auto library = DynamicLibrary::open(nonsense(), fs::temp_directory_path().string());
  ASSERT_FALSE(library);
  EXPECT_NE(library.error().text.find("there is no libcoll-no-such-thing.so.1"), std::string::npos);
}

TEST(Libraries, FoundByTheLoader) {
  LibraryQuery query = nonsense();
  query.names = {"libm.so.6"};
  auto library = DynamicLibrary::open(query);
  ASSERT_TRUE(library) << library.error().text;
  EXPECT_NE(library->symbol("cos"), nullptr);
  EXPECT_EQ(library->symbol("no_such_function"), nullptr);
  EXPECT_NE(library->path().find("libm"), std::string::npos);
}

TEST(Libraries, WheelsOfAVirtualEnvironment) {
  const fs::path root = fs::temp_directory_path() / ("coll-libraries-test-" + std::to_string(getpid()));
  const fs::path wheel = root / "lib/python3.11/site-packages/nvidia/no_such_thing/lib";
  fs::create_directories(wheel);
  std::ofstream(wheel / "libcoll-no-such-thing.so.1") << "not a library";
  setenv("VIRTUAL_ENV", root.c_str(), 1);
  auto library = DynamicLibrary::open(nonsense());
  unsetenv("VIRTUAL_ENV");
  fs::remove_all(root);
  // It is found, and what the loader dislikes about it is said.
  ASSERT_FALSE(library);
  EXPECT_NE(library.error().text.find("nvidia/no_such_thing/lib/libcoll-no-such-thing.so.1"), std::string::npos)
      << library.error().text;
}

TEST(Platforms, LinesOf128BytesAreDeclaredForNvLinkFromSm90On) {
  EXPECT_EQ(unsplitBytes(90, Link::NvLink), 128u);
  EXPECT_EQ(unsplitBytes(100, Link::SameGpu), 128u);
  EXPECT_EQ(unsplitBytes(90, Link::Other), 8u);
  EXPECT_EQ(unsplitBytes(80, Link::NvLink), 8u);
}

} // namespace
