// Packet loops by rows: what a thread does with its packets of a row, between the meetings of all threads that share it.
// Internal to codegen/.
#pragma once

#include "codegen/EmitBody.h"

namespace coll::codegen {

class BodyEmitter;

/// Writes a PacketLoop with `rows`.
void emitRows(BodyEmitter &body, const ir::PacketLoop &loop);

} // namespace coll::codegen
