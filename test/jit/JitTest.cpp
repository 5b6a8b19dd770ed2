// NVRTC in process, its errors, and the cache on disk. No GPU is needed, NVRTC is.
#include "jit/Jit.h"
#include "Samples.h"
#include "jit/KernelFiles.h"

#include <gtest/gtest.h>

#include <chrono>
#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace coll;
using test::sampleAllreduce;

namespace {

/// A test with NVRTC and an empty folder.
class JitTest : public testing::Test {
protected:
  void SetUp() override {
    auto created = Jit::create(KernelCache(fs::path()));
    if (!created) GTEST_SKIP() << created.error().text;
    jit.emplace(std::move(*created));
    folder = fs::temp_directory_path() / ("coll-jit-test-" + std::to_string(getpid()));
    fs::create_directories(folder);
  }
  void TearDown() override {
    if (!folder.empty()) fs::remove_all(folder);
  }

  Jit withCache() { return *Jit::create(KernelCache(folder / "cache")); }
  bool knows(int arch) { return std::count(jit->nvrtc().archs.begin(), jit->nvrtc().archs.end(), arch) != 0; }

  std::optional<Jit> jit;
  fs::path folder;
};

Arch arch(const char *text) {
  return *Arch::parse(text);
}

TEST_F(JitTest, SamplesCompileForEveryArchitecture) {
  for (const auto &[algorithm, ranks] : {std::pair("oneshot", 2), {"oneshot", 8}, {"twoshot", 8}})
    for (int number : {75, 80, 90, 100, 120}) {
      if (!knows(number)) continue;
      auto binary = jit->compile(sampleAllreduce(algorithm, ranks), Arch{unsigned(number), ""});
      ASSERT_TRUE(binary) << binary.error().text;
      EXPECT_EQ(binary->bytes.substr(0, 4), "\177ELF");
    }
}

TEST_F(JitTest, PtxIsText) {
  auto ptx = jit->compile(sampleAllreduce("oneshot", 2), arch("sm_90"), Stage::Ptx);
  ASSERT_TRUE(ptx) << ptx.error().text;
  EXPECT_NE(ptx->bytes.find(".target sm_90"), std::string::npos);
  EXPECT_NE(ptx->bytes.find("griddepcontrol.wait"), std::string::npos);
}

TEST_F(JitTest, ArchitectureNames) {
  EXPECT_EQ(arch("sm_90").number, 90u);
  EXPECT_EQ(arch("sm_100a").text(), "sm_100a");
  for (const char *bad : {"sm_91", "90", "compute_90", "sm_", "sm_90x", ""})
    EXPECT_EQ(Arch::parse(bad).error().code, Error::Code::BadInput) << bad;
}

TEST_F(JitTest, ArchitectureThisNvrtcLacks) {
  // 13 no longer compiles for sm_70, 12 not yet for sm_110: one of the two is missing from any.
  const char *missing = knows(70) ? "sm_110" : "sm_70";
  auto binary = jit->compile(sampleAllreduce("oneshot", 2), arch(missing));
  ASSERT_FALSE(binary);
  EXPECT_EQ(binary.error().code, Error::Code::MachineLacks);
  EXPECT_NE(binary.error().text.find(jit->nvrtc().versionText()), std::string::npos) << binary.error().text;
  EXPECT_NE(binary.error().text.find("sm_90"), std::string::npos) << binary.error().text;
}

TEST_F(JitTest, KernelThatNeedsMore) {
  Kernel kernel = sampleAllreduce("oneshot", 2);
  kernel.manifest.minArch = 90;
  EXPECT_EQ(jit->compile(kernel, arch("sm_80")).error().code, Error::Code::BadInput);
}

TEST_F(JitTest, BrokenTextNamesTheSourceLine) {
  Kernel kernel = sampleAllreduce("oneshot", 2);
  const auto at = kernel.cuda.find("coll::reduceSlots");
  ASSERT_NE(at, std::string::npos);
  kernel.cuda.replace(at, 17, "coll::nonsense");
  auto binary = jit->compile(kernel, arch("sm_90"));
  ASSERT_FALSE(binary);
  EXPECT_EQ(binary.error().code, Error::Code::Internal);
  EXPECT_NE(binary.error().text.find("nonsense"), std::string::npos) << binary.error().text;
  EXPECT_NE(binary.error().text.find("from allreduce.coll:9"), std::string::npos) << binary.error().text;
}

TEST_F(JitTest, SecondCompileComesFromTheCache) {
  const Kernel kernel = sampleAllreduce("oneshot", 2);
  auto first = withCache().compile(kernel, arch("sm_90"));
  auto second = withCache().compile(kernel, arch("sm_90"));
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(first->cached);
  EXPECT_TRUE(second->cached);
  EXPECT_EQ(first->bytes, second->bytes);
  EXPECT_FALSE(withCache().compile(kernel, arch("sm_80"))->cached);
  RecordProperty("firstMs", std::to_string(first->milliseconds));
  RecordProperty("cachedMs", std::to_string(second->milliseconds));
}

// NVRTC gives internal names a hash of its own in every compilation, so binaries are compared by size.
TEST_F(JitTest, DamagedEntriesAreCompiledAgain) {
  const Kernel kernel = sampleAllreduce("oneshot", 2);
  auto good = withCache().compile(kernel, arch("sm_90"));
  ASSERT_TRUE(good);
  const fs::path entry = fs::directory_iterator(folder / "cache")->path();
  const std::string whole = test::readText(entry);
  std::string flipped = whole;
  flipped[whole.size() / 2] ^= 1;
  for (const std::string &damaged :
       {std::string(), whole.substr(0, 20), whole.substr(0, whole.size() - 1), flipped, whole + "x"}) {
    std::ofstream(entry, std::ios::binary) << damaged;
    auto again = withCache().compile(kernel, arch("sm_90"));
    ASSERT_TRUE(again);
    EXPECT_FALSE(again->cached);
    EXPECT_EQ(again->bytes.size(), good->bytes.size());
    EXPECT_TRUE(withCache().compile(kernel, arch("sm_90"))->cached);
  }
}

TEST_F(JitTest, UnwritableCacheIsNoError) {
  // A file where the folder should be cannot be written to even by root.
  std::ofstream(folder / "file") << "x";
  auto blocked = *Jit::create(KernelCache(folder / "file" / "cache"));
  auto binary = blocked.compile(sampleAllreduce("oneshot", 2), arch("sm_90"));
  ASSERT_TRUE(binary) << binary.error().text;
  EXPECT_FALSE(binary->cached);
}

TEST_F(JitTest, ProcessesThatRaceGetWholeKernels) {
  const Kernel kernel = sampleAllreduce("oneshot", 2);
  auto expected = jit->compile(kernel, arch("sm_90"));
  ASSERT_TRUE(expected);
  std::vector<pid_t> children;
  for (int child = 0; child < 6; ++child) {
    const pid_t pid = fork();
    if (pid == 0) {
      bool good = true;
      for (int round = 0; round < 5; ++round) {
        KernelCache cache(folder / "cache");
        auto binary = Jit::create(cache)->compile(kernel, arch("sm_90"));
        good &= binary && binary->bytes.size() == expected->bytes.size() && binary->bytes.substr(0, 4) == "\177ELF";
        if (round % 2) (void)cache.clear();
      }
      _exit(good ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (pid_t pid : children) {
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  // Nobody leaves a temporary file behind.
  KernelCache cache(folder / "cache");
  EXPECT_LE(cache.contents().entries, 1u);
}

/// It does not grow without end: what was not used for longest goes, what is in use stays.
TEST_F(JitTest, CacheForgetsWhatIsNotUsed) {
  const std::string binary(1000, 'b');
  KernelCache cache(folder / "cache", 10'000);
  EXPECT_TRUE(cache.store("used", binary));
  const auto past = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (int i = 0; i < 30; ++i) {
    const std::string key = "key" + std::to_string(i);
    ASSERT_TRUE(cache.store(key, binary));
    fs::last_write_time(folder / "cache" / (key + ".collbin"), past + std::chrono::seconds(i));
    ASSERT_TRUE(cache.find("used"));
  }
  EXPECT_LE(cache.contents().bytes, 11'100u);
  EXPECT_GE(cache.contents().bytes, 6'000u);
  EXPECT_FALSE(cache.find("key0"));
  EXPECT_TRUE(cache.find("key29"));
}

TEST_F(JitTest, DumpAndOverride) {
  const Kernel kernel = sampleAllreduce("oneshot", 2);
  const std::string stem = kernelFileStem(kernel.manifest);
  EXPECT_EQ(stem, "allreduce.oneshot.ll.n2.bf16.sum");
  setenv("COLL_DUMP_DIR", (folder / "dump").c_str(), 1);
  ASSERT_TRUE(withCache().compile(kernel, arch("sm_90")));
  unsetenv("COLL_DUMP_DIR");
  EXPECT_EQ(test::readText(folder / "dump" / (stem + ".cu")), kernel.cuda);
  EXPECT_EQ(test::readText(folder / "dump" / (stem + ".sm_90.cubin")).substr(0, 4), "\177ELF");

  fs::create_directories(folder / "edited");
  std::ofstream(folder / "edited" / (stem + ".cu")) << kernel.cuda << "\nextern \"C\" __global__ void edited() {}\n";
  setenv("COLL_OVERRIDE_DIR", (folder / "edited").c_str(), 1);
  auto edited = withCache().compile(kernel, arch("sm_90"));
  unsetenv("COLL_OVERRIDE_DIR");
  ASSERT_TRUE(edited);
  EXPECT_NE(edited->bytes.find("edited"), std::string::npos);
}

TEST_F(JitTest, ClearLeavesOtherFilesAlone) {
  KernelCache cache(folder / "cache");
  ASSERT_TRUE(cache.store("0123", "binary"));
  std::ofstream(folder / "cache" / "notes.txt") << "mine";
  EXPECT_EQ(cache.contents().entries, 1u);
  EXPECT_EQ(*cache.clear(), 1u);
  EXPECT_TRUE(fs::exists(folder / "cache" / "notes.txt"));
}

} // namespace
