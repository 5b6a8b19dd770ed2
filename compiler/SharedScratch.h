// A `workspace`: what its members must be, and how they lie in the one region that they share.
#pragma once

#include "coll/Compiler.h"
#include "ir/Program.h"
#include "sema/Sema.h"

namespace coll {

/// The workspace that a member is in; null if none.
const sema::Workspace *workspaceOf(const sema::Program &program, const sema::Member &member);

/// Its members that are for so many ranks; the others never meet them.
std::vector<const sema::Member *> membersFor(const sema::Workspace &workspace, int ranks);

/// `wanted` of this member, or what is nearest of what it offers.
Instance instanceOf(const sema::Member &member, const Instance &wanted);

/// The wire forms of a member's mailboxes, in words: `ll`, `ll and flag`.
std::string wireForms(const sema::Member &member);

/// The layout that all members follow, of all types and operators, so that one which is compiled alone agrees with those
/// that are compiled elsewhere; and where in it `whose` has its own words.
ir::SharedScratch sharedScratch(const sema::Workspace &workspace, const sema::Member &whose, int ranks, const Sources &sources);

} // namespace coll
