// The part of NCCL's C interface that the fabric calls, opened when first needed. Declared here: NCCL's header is often
// not where CUDA's are, and of its types only opaque handles are used.
#pragma once

#include "platform/DynamicLibrary.h"

#include <cstddef>

namespace coll {

struct NcclCommObject;
using NcclComm = NcclCommObject *;
struct NcclWindowObject;
using NcclWindow = NcclWindowObject *; ///< a device address

/// As ncclUniqueId, which is passed by value.
struct NcclUniqueId {
  char bytes[128];
};

/// Functions as in nccl.h; 0 is success.
struct Nccl {
  int (*getVersion)(int *version);
  const char *(*getErrorString)(int result);
  const char *(*getLastError)(NcclComm comm);
  int (*groupStart)();
  int (*groupEnd)();
  int (*commInitAll)(NcclComm *comms, int count, const int *devices);
  int (*getUniqueId)(NcclUniqueId *id);
  int (*commInitRank)(NcclComm *comm, int ranks, NcclUniqueId id, int rank);
  int (*commSplit)(NcclComm comm, int color, int key, NcclComm *part, void *config);
  int (*commCount)(NcclComm comm, int *ranks);
  int (*commUserRank)(NcclComm comm, int *rank);
  int (*commCuDevice)(NcclComm comm, int *device);
  int (*commDestroy)(NcclComm comm);
  int (*commAbort)(NcclComm comm);
  int (*memAlloc)(void **memory, std::size_t bytes);
  int (*memFree)(void *memory);
  int (*commWindowRegister)(NcclComm comm, void *memory, std::size_t bytes, NcclWindow *window, int flags);
  int (*commWindowDeregister)(NcclComm comm, NcclWindow window);
  // Types and operators are the numbers of ncclDataType_t and ncclRedOp_t. For `coll bench`.
  int (*allReduce)(const void *send, void *receive, std::size_t count, int type, int op, NcclComm comm, void *stream);
  int (*reduceScatter)(const void *send, void *receive, std::size_t received, int type, int op, NcclComm comm,
                       void *stream);
  int (*reduce)(const void *send, void *receive, std::size_t count, int type, int op, int root, NcclComm comm,
                void *stream);
  int (*allGather)(const void *send, void *receive, std::size_t sent, int type, NcclComm comm, void *stream);
  int (*broadcast)(const void *send, void *receive, std::size_t count, int type, int root, NcclComm comm, void *stream);
  /// Null before 2.28.
  int (*allToAll)(const void *send, void *receive, std::size_t toEach, int type, NcclComm comm, void *stream);
  int (*getPeerDevicePointer)(NcclWindow window, std::size_t offset, int peer, void **pointer); ///< null before 2.29
  // Device communicators, which make NCCL map memory for multicast. Structures as in NcclLayouts.h.
  int (*devCommCreate)(NcclComm comm, const void *requirements, void *devComm);                  ///< null before 2.28
  int (*devCommDestroy)(NcclComm comm, const void *devComm);                                     ///< null before 2.28
  int (*commQueryProperties)(NcclComm comm, void *properties);                                   ///< null before 2.29
  int (*getLsaMultimemDevicePointer)(NcclWindow window, std::size_t offset, void **pointer);     ///< null before 2.29

  int version = 0; ///< 22809 for 2.28.9
  std::string path;

  std::string versionText() const;
  /// Whether this NCCL, where it has multicast, says at which address.
  bool tellsMulticast() const;
  Result<void> check(int result, const char *what) const;

  static constexpr int kOldest = 22800; ///< windows as the fabric reads them

  /// The process's NCCL. Error::MachineLacks if there is none or it is too old.
  static Result<const Nccl *> get(const std::string &path = "");
};

} // namespace coll
