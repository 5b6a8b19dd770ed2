// What the machine is taken to do beyond PTX: see Platforms.def. Needs no CUDA header.
#pragma once

#include <string_view>

namespace coll {

/// How two GPUs reach each other's memory.
enum class Link { SameGpu, NvLink, Other };

/// In words, to stand behind "GPU 0 and GPU 1": "over NVLink".
std::string_view describe(Link link);

/// The largest aligned store, in bytes, that is declared to arrive whole between two GPUs of at least this architecture.
unsigned unsplitBytes(unsigned arch, Link link);

} // namespace coll
