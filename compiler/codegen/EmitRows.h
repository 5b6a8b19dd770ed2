// Packet loops by rows: what a thread does with its packets of a row, between the meetings of all threads that share it.
// Internal to codegen/.
#pragma once

#include "codegen/EmitBody.h"

namespace coll::codegen {

/// Writes a PacketLoop with `rows`. `variables` are the text's names of loop variables.
void emitRows(const ir::Program &program, const BodyNames &names, Names &free,
              const std::map<std::string, std::string> &variables, const ir::PacketLoop &loop, CodeWriter &out);

/// The first statement of such a loop that there is no text for; null if there is none.
const ir::Stmt *withoutRowText(const ir::PacketLoop &loop);

} // namespace coll::codegen
