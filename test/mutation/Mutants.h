// The planted defects: each a right program and what breaks it, for the checker and for the emulator.
#pragma once

#include "check/Check.h"
#include "tool/Adversary.h"

#include <functional>
#include <string>
#include <vector>

namespace coll::mutation {

using Edit = std::pair<std::string, std::string>; ///< of emitted text: all of the first become the second

struct Mutant {
  std::string name;
  std::string text;   ///< .coll, or the name of a collective of the standard library
  std::string member; ///< `oneshot.ll`
  int ranks = 4;

  // The checker's side: the program as lowered, changed, or one built by hand of which `broken` says whether it is.
  std::function<void(ir::Program &)> change = {};
  std::function<ir::Program(bool broken)> byHand = {};
  check::Options options = {};
  check::Refutation::Kind kind = check::Refutation::Kind::WrongResult;
  std::string line = {}; ///< in the source line that the error is at; empty for a program built by hand

  // The emulator's side: what is emitted for the changed program, or, with `edits`, that for the right one, edited.
  // `prelude` stands in front of the kernel's body.
  std::vector<Edit> edits = {};
  std::string prelude = {};
  tool::Adversary::Settings settings = {};
  Extents extents = {}; ///< of all launches; random if empty
  std::string shows = {}; ///< in the report of the run that fails
  int copies = 0;       ///< of every mailbox of the text that is edited; those that are proved if 0
};

const std::vector<Mutant> &mutants();

} // namespace coll::mutation
