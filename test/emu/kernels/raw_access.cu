// Accesses that the emulator must refuse, one for each value of DEFECT.
#include "coll/device.h"

namespace {

constexpr int N = RANKS;

struct Args {
  coll::Team<N> team;
  const int *x;
  int *y;
  coll::u64 M;
  coll::u64 onePacket;
};

} // namespace

extern "C" __global__ void broken(const __grid_constant__ Args a) {
  if (blockIdx.x != gridDim.x - 1 || threadIdx.x != 3 || a.team.me != 1) return;
  coll::ptx::gridDependencyWait();
#if DEFECT == 0 // a plain dereference of a peer's region
  *reinterpret_cast<volatile int *>(a.team.peer[1] + 64) = 7;
#elif DEFECT == 1 // a plain dereference of an argument
  a.y[0] = 7;
#elif DEFECT == 2 // one element past the end
  coll::ptx::store4(a.y + a.M, 7);
#elif DEFECT == 3 // one byte past the end
  coll::ptx::load1(reinterpret_cast<const char *>(a.x + a.M));
#elif DEFECT == 4 // just before the beginning
  coll::ptx::load4(a.x - 1);
#elif DEFECT == 5 // not aligned to its size
  coll::ptx::store8(a.y + 1, 7);
#elif DEFECT == 6 // past the end of the scratch region
  coll::ptx::storeRelaxed16(a.team.peer[1] + a.team.clearBytes, coll::Words2{{0, 0}});
#elif DEFECT == 7 // nothing there at all
  coll::ptx::store4(nullptr, 7);
#elif DEFECT == 8 // a wait for what never comes
  coll::ptx::spinHint(a.team.peer[0] + coll::region::headerBytes(N, 0) + (5 * LINES + 9) * 16);
#elif DEFECT == 9 // more local data than a thread's stack holds
  volatile char deep[40 * 1024];
  for (unsigned i = 0; i < sizeof deep; ++i) deep[i] = char(i);
#endif
}
