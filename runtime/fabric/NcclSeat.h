// A rank of NCCL's that this process has. Internal to fabric/.
#pragma once

#include "platform/Cuda.h"
#include "platform/Nccl.h"

namespace coll {

struct NcclSeat {
  int rank;
  NcclComm comm;
  const Gpu *gpu; ///< of the context's Gpus
};

} // namespace coll
