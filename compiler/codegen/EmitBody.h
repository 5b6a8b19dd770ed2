// The body of a generated kernel: packet loops, sends, polls, reductions. Internal to codegen/.
#pragma once

#include "codegen/CodeWriter.h"
#include "codegen/Names.h"
#include "ir/Program.h"

#include <map>

namespace coll::codegen {

/// The names that the parts of a kernel share.
struct BodyNames {
  Names names;
  std::map<std::string, std::string> buffers, extents, scalars, boxes; ///< the author's name to that in the text
  std::map<std::string, std::string> buffersOfAll; ///< the same for an argument of all ranks at once
  std::map<std::vector<std::string>, std::string> pieces; ///< extents of what is split to the name of its pieces
  std::map<std::vector<std::string>, std::string> rowPieces; ///< the same of what is split by rows: how many there are
  std::string regionsOfAll;                        ///< the same for their regions
  std::map<ir::ValueId, std::string> kept;         ///< what lies in memory between loops, to the type that says where
  bool trace = false;                                          ///< stamps are written
  std::string function;                                        ///< the template that holds the body

  /// So many elements: extents of the author's multiplied, as text.
  std::string product(const std::vector<std::string> &authorExtents) const;

private:
  std::string computed(const std::string &extent) const;
};

/// Writes the body as a function template over Shape; sets names.function.
void emitBody(const ir::Program &program, BodyNames &names, CodeWriter &out);

/// The source line that an offset lies in, and the last part of a path.
unsigned lineOf(const ir::Program &program, ir::SourceOffset where);
std::string baseName(llvm::StringRef path);

} // namespace coll::codegen
