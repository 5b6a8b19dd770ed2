// Sums and maxima of the rows of a matrix, one after the other, by CTAs or clusters. One rank, no mailbox.
//   NO_MEETING   the threads of a row do not wait for each other
//   ONE_SET      the words they meet over do not alternate from one reduction to the next
#include "coll/ptx.h"
namespace coll::ptx {
inline void goOn() {}
constexpr u32 kOneSet = 0;
} // namespace coll::ptx
#ifdef NO_MEETING
#define ctaSync goOn
#define clusterSync goOn
#endif
#ifdef ONE_SET
#define kSharedWords kOneSet
#endif
#include "coll/device.h"

namespace {

struct Args {
  coll::Team<1> team;
  const float *x; // [R][H]
  float *y; // [R][2]
  coll::u64 R, H;
  coll::u64 onePacket;
};

using Packet = coll::Packet<float, 8>;

template <class Shape>
__device__ inline void reduce(coll::Launch<1> &launch, const Args &a) {
  coll::forRows<Shape, Packet>(launch, a.R, a.H, [&](const auto &row) {
    float sums[Shape::kPackets], most[Shape::kPackets];
    row.each([&](coll::u32 k, coll::u32) {
      const auto x = coll::widen<float>(row.load(a.x, k));
      sums[k] = row.sumOf(k, x), most[k] = row.maxOf(k, x);
    });
    const coll::Number sum = row.sum(sums), largest = row.max(most);
    row.storeOne(a.y, sum);
    row.storeOne(a.y + a.R, largest);
  });
}

} // namespace

extern "C" __global__ void rows(const __grid_constant__ Args a) {
  coll::Launch<1> launch(a.team);
  if (a.onePacket) reduce<coll::OneRowPacket>(launch, a);
  else reduce<coll::AnyRowPackets>(launch, a);
}
