// The device's conversions and arithmetic on many bit patterns: y[i] = f(x[i]), or of x[2i] and x[2i + 1]; FUNCTION
// says which f. One thread does all.
#include "coll/device.h"

namespace {

struct Args {
  coll::Team<1> team;
  const coll::u32 *x;
  coll::u32 *y;
  coll::u64 M;
  coll::u64 onePacket;
};

namespace ptx = coll::ptx;

__device__ inline float asFloat(coll::u32 bits) { return ptx::bitsToFloat(bits); }

__device__ inline coll::u32 function(coll::u32 a, coll::u32 b) {
#if FUNCTION == 0
  return ptx::floatToBits(ptx::halfToFloat(coll::u16(a)));
#elif FUNCTION == 1
  return ptx::floatToHalf(asFloat(a));
#elif FUNCTION == 2
  return ptx::floatToBfloat(asFloat(a));
#elif FUNCTION == 3
  return ptx::floatToBits(ptx::add(asFloat(a), asFloat(b)));
#elif FUNCTION == 4
  return ptx::floatToBits(ptx::multiply(asFloat(a), asFloat(b)));
#elif FUNCTION == 5
  return ptx::floatToBits(ptx::add(ptx::multiply(asFloat(a), asFloat(b)), asFloat(a)));
#elif FUNCTION == 6
  return ptx::floatToBits(coll::detail::E4M3::toFloat(a));
#elif FUNCTION == 7
  return coll::detail::E4M3::fromFloat(asFloat(a));
#elif FUNCTION == 8
  return ptx::floatToBits(coll::detail::E5M2::toFloat(a));
#elif FUNCTION == 9
  return coll::detail::E5M2::fromFloat(asFloat(a));
#elif FUNCTION == 10
  return ptx::floatToInt8(asFloat(a));
#elif FUNCTION == 11
  return ptx::floatToBits(coll::detail::exponential(asFloat(a)));
#endif
}

} // namespace

extern "C" __global__ void numbers(const __grid_constant__ Args a) {
  ptx::gridDependencyWait();
  for (coll::u64 i = 0; i < a.M; ++i)
    ptx::store4(a.y + i, function(ptx::load4(a.x + 2 * i), ptx::load4(a.x + 2 * i + 1)));
}
