// Row reductions: the bits are those of a balanced tree whatever the grid, and what makes them so is found to be missing.
#include "emulator_fixture.h"

#include <algorithm>
#include <cmath>

using namespace coll::emu;
using namespace coll::emu::test;

namespace {

struct Shape {
  unsigned grid, block, cluster;
  bool onePacket;
};

float element(std::uint64_t row, std::uint64_t i) {
  return std::sin(float(row * 131 + i * 7)) * float(1 + i % 1000); // sums that depend on their order
}

/// Padded with what changes nothing to a power of two.
template <class Combine>
float tree(std::vector<float> values, float nothing, Combine combine) {
  while (values.size() > 1) {
    if (values.size() % 2) values.push_back(nothing);
    for (std::size_t i = 0; i < values.size() / 2; ++i) values[i] = combine(values[2 * i], values[2 * i + 1]);
    values.resize(values.size() / 2);
  }
  return values[0];
}

constexpr std::uint64_t kGroup = 512; ///< as GROUPS of rows.cu has them

/// How many rows have a wrong sum or maximum; all, if the run fails. `macros`: kinds and defects of rows.cu.
std::uint64_t wrongRows(const std::vector<std::string> &macros, std::uint64_t rows, std::uint64_t length, Shape shape,
                        std::uint64_t seed) {
  coll::Manifest manifest;
  manifest.ranks = 1;
  manifest.regionBytes = 1152;
  Machine machine(manifest, seed ? Policy::adversarial(seed) : Policy::fair());
  std::vector<float> x;
  for (std::uint64_t r = 0; r < rows; ++r)
    for (std::uint64_t i = 0; i < length; ++i) x.push_back(element(r, i));
  const bool grouped = std::count(macros.begin(), macros.end(), "GROUPS");
  const std::uint64_t unit = grouped ? kGroup : length, maxima = length / unit;
  const Buffer in = machine.allocate(0, "x", x.size() * 4), out = machine.allocate(0, "y", rows * (1 + maxima) * 4);
  machine.write(in, std::as_bytes(std::span(x)));
  const auto module = kernel("rows.cu", macros, {"rows"});
  Launch launch{module, "rows", shape.grid, shape.block, {{in}, {out}}, {rows, length}, {}, shape.onePacket, shape.cluster};
  std::string error;
  EXPECT_TRUE(machine.launch(0, launch, error)) << error;
  const Result result = machine.run();
  if (result.status != Result::Ok) return rows;
  std::vector<float> y(rows * (1 + maxima));
  machine.read(out, std::as_writable_bytes(std::span(y)));
  std::uint64_t wrong = 0;
  for (std::uint64_t r = 0; r < rows; ++r) {
    const std::vector<float> row(x.begin() + long(r * length), x.begin() + long((r + 1) * length));
    const float sum = tree(row, 0, [](float a, float b) { return a + b; });
    bool good = y[r] == sum;
    for (std::uint64_t m = 0; m < maxima; ++m)
      good &= y[rows + r * maxima + m] == *std::max_element(row.begin() + long(m * unit), row.begin() + long((m + 1) * unit));
    wrong += !good;
  }
  return wrong;
}

TEST(Rows, HaveTheBitsOfATreeForEveryGrid) {
  for (const Shape &shape : {Shape{1, 32, 1, false}, {1, 128, 1, false}, {3, 64, 1, false}, {4, 32, 2, false}, {4, 64, 4, false}})
    for (const std::uint64_t length : {1, 2, 63, 64, 333, 1000}) EXPECT_EQ(wrongRows({}, 5, length, shape, 0), 0u) << length;
  EXPECT_EQ(wrongRows({}, 5, 128, {4, 32, 2, true}, 0), 0u);
  EXPECT_EQ(wrongRows({}, 2, 9000, {1, 512, 1, false}, 0), 0u); // more than 64 and 128 words
}

TEST(Rows, MeetUnderAdversarialSchedules) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    EXPECT_EQ(wrongRows({}, 9, 200, {4, 64, 2, true}, seed), 0u) << seed;
    EXPECT_EQ(wrongRows({}, 9, 200, {2, 64, 1, false}, seed), 0u) << seed;
  }
}

int seedsThatFail(const std::string &defect, Shape shape, std::uint64_t length = 200) {
  int bad = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) bad += wrongRows({defect}, 9, length, shape, seed) != 0;
  return bad;
}

TEST(Rows, AreWrongWithoutTheMeeting) {
  EXPECT_GT(seedsThatFail("NO_MEETING", {2, 64, 1, false}), 0);
  EXPECT_GT(seedsThatFail("NO_MEETING", {4, 64, 2, true}), 0);
}

TEST(Rows, AreWrongIfTheWordsDoNotAlternate) {
  EXPECT_GT(seedsThatFail("ONE_SET", {4, 64, 2, true}), 0);
}

// A warp without packets may be slow: the words of the meeting that it still reads are not written again before it has told
// that it is done.
TEST(Rows, AreWrongIfWarpsWithoutPacketsTellNothing) {
  EXPECT_EQ(seedsThatFail("NONE", {2, 128, 2, true}, 60), 0);
  EXPECT_GT(seedsThatFail("NO_WORD", {2, 128, 2, true}, 60), 0);
}

// Packets of lines lie among each other, so that a row's threads meet before they make the blocks, and behind.
constexpr Shape kOfLines[] = {{2, 64, 1, false}, {4, 64, 2, false}};

std::uint64_t linesThatFail(const std::string &defect, Shape shape, std::uint64_t seeds) {
  std::uint64_t bad = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed)
    bad += wrongRows(defect.empty() ? std::vector<std::string>{"LINES"} : std::vector<std::string>{"LINES", defect}, 6, 700, shape, seed) != 0;
  return bad;
}

TEST(Rows, OfLinesHaveTheBitsOfATree) {
  for (const std::uint64_t length : {1, 239, 241, 700, 1025}) EXPECT_EQ(wrongRows({"LINES"}, 3, length, {2, 64, 1, false}, 0), 0u) << length;
  for (const Shape &shape : kOfLines) EXPECT_EQ(linesThatFail("", shape, 4), 0u);
}

TEST(Rows, OfLinesAreWrongWithoutEitherMeeting) {
  for (const Shape &shape : kOfLines)
    for (const char *defect : {"NO_FIRST", "NO_SECOND"}) EXPECT_GT(linesThatFail(defect, shape, 8), 0u) << defect << ", " << shape.cluster;
}

// Between the words of one reduction and those of the next there is a meeting anyway, where there are two of each.
TEST(Rows, OfLinesNeedNoSecondSetOfWords) { EXPECT_EQ(linesThatFail("ONE_SET", kOfLines[1], 8), 0u); }

std::uint64_t groupsThatFail(const std::string &defect, std::uint64_t seeds) {
  std::uint64_t bad = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed)
    bad += wrongRows(defect.empty() ? std::vector<std::string>{"GROUPS"} : std::vector<std::string>{"GROUPS", defect}, 6, 1536, {4, 64, 2, false}, seed) != 0;
  return bad;
}

TEST(Rows, MaximaOfWideGroupsNeedTheMeeting) {
  EXPECT_EQ(groupsThatFail("", 4), 0u);
  EXPECT_GT(groupsThatFail("NO_MEETING", 8), 0u);
  EXPECT_GT(groupsThatFail("NO_SECOND", 8), 0u); // which is that of the maxima
  EXPECT_GT(groupsThatFail("ONE_SET", 8), 0u);
}

} // namespace
