// Vectors whose lengths are worked out of free names may be empty, or shorter than others, for some of their values alone.
#pragma once

#include "ir/Program.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace coll::check {

/// Rows in groups are whole ones: how many elements a group has that rows of this extent are made of, else 1.
std::uint64_t groupOf(const ir::Program &program, const std::string &name);

/// Counts in which each vector has elements and as few others as its length lets be have some, or as many packets as it
/// has: for lengths that fall as a name grows, or that begin beyond the usual counts. Where it is not followed how the names
/// change a length, the length itself is given a value, as if it were a name. Of `classes` are the numbers of elements
/// that matter.
std::vector<Extents> countsOfLengths(const ir::Program &program, const std::vector<std::uint64_t> &classes,
                                     llvm::function_ref<bool(const Extents &)> isAllowed);

} // namespace coll::check
