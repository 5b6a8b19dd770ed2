// Sums and maxima of the rows of a matrix, one after the other, by CTAs or clusters. One rank, no mailbox. Kinds:
//   LINES        packets lie among each other, as in the lines of `ll128`: the threads meet twice
//   GROUPS       maxima of groups of 512 elements, wider than a warp's packets, in place of those of rows
// Defects:
//   NO_MEETING   the threads of a row do not wait for each other
//   NO_FIRST, NO_SECOND  of each two meetings they leave out one
//   NO_WORD      warps of a cluster without packets tell the others nothing, for rows of up to 64 elements
//   ONE_SET      the words they meet over do not alternate from one reduction to the next
#include "coll/ptx.h"
namespace coll::ptx {
inline void goOn() {}
inline bool goOnWithoutWords(u32, u32) { return true; }
constexpr u32 kOneSet = 0;
} // namespace coll::ptx
#ifdef NO_MEETING
#define ctaSync goOn
#define clusterSync goOn
#define awaitShared goOnWithoutWords
#endif
#if defined(NO_FIRST) || defined(NO_SECOND)
namespace coll::ptx {
inline u32 meetings[16][512]; ///< that a thread has come to
inline bool isLeftOut() {
#ifdef NO_FIRST
  return meetings[blockIdx.x][threadIdx.x]++ % 2 == 0;
#else
  return meetings[blockIdx.x][threadIdx.x]++ % 2 == 1;
#endif
}
inline void someMeet() {
  if (clusterCtas() > 1 || !isLeftOut()) ctaSync();
}
inline void someClustersMeet() {
  if (!isLeftOut()) clusterSync();
}
inline bool someAwait(u32 counter, u32 round) { return isLeftOut() || awaitShared(counter, round); }
} // namespace coll::ptx
#define ctaSync someMeet
#define clusterSync someClustersMeet
#define awaitShared someAwait
#endif
#ifdef NO_WORD
namespace coll::ptx {
inline void expectOne(u32 counter, u32) { expectShared(counter, 1); }
inline void sendOne(u32 cta, u32 word, float v, u32 counter) {
  if (word % (kSharedWords / 2) == 0) sendShared(cta, word, v, counter);
}
} // namespace coll::ptx
#define expectShared expectOne
#define sendShared sendOne
#endif
#ifdef ONE_SET
#define kSharedWords kOneSet
#endif
#include "coll/device.h"

namespace {

struct Args {
  coll::Team<1> team;
  const float *x; // [R][H]
  float *y; // [R], then [R] or [R][H / 512]
  coll::u64 R, H;
  coll::u64 onePacket;
};

#ifdef LINES
using Packet = coll::ll128::Packet<float>;
#else
using Packet = coll::Packet<float, 8>;
#endif

template <class Shape>
__device__ inline void reduce(coll::Launch<1> &launch, const Args &a) {
  coll::forRows<Shape, Packet>(launch, a.R, a.H, [&](const auto &row) {
    float sums[Shape::kPackets], most[Shape::kPackets];
    row.each([&](coll::u32 k, coll::u32) { sums[k] = row.sumOf(k, coll::widen<float>(row.load(a.x, k))); });
    row.storeOne(a.y, row.sum(sums));
    row.each([&](coll::u32 k, coll::u32) { most[k] = row.maxOf(k, coll::widen<float>(row.load(a.x, k))); });
#ifdef GROUPS
    row.template maxOfGroups<512>(most);
    row.each([&](coll::u32 k, coll::u32) { row.template storeGroup<512>(a.y + a.R, k, coll::Number{most[k]}); });
#else
    row.storeOne(a.y + a.R, row.max(most));
#endif
  });
}

} // namespace

extern "C" __global__ void rows(const __grid_constant__ Args a) {
#if defined(NO_FIRST) || defined(NO_SECOND)
  coll::ptx::meetings[blockIdx.x][threadIdx.x] = 0;
#endif
  coll::Launch<1> launch(a.team);
  if (a.onePacket) reduce<coll::OneRowPacket>(launch, a);
  else reduce<coll::AnyRowPackets>(launch, a);
}
