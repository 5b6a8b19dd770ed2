// The part of building IR that concerns messages whose length is known only once the kernel runs. Internal to ir/.
#pragma once

#include "ir/Program.h"
#include "sema/Sema.h"

namespace coll::ir {

/// `box.count` or `box[i].count`.
bool isCount(const ast::Member &member);
/// The call, if an expression is `prefix(e, n)` or `prefix_rows(e, n)`.
const ast::Call *prefixIn(const ast::Expr &expr);
inline bool isOfRows(const ast::Call &prefix) { return prefix.function == ast::Function::PrefixRows; }

/// The value that a poll of this slot of a mailbox made, in this block; kNone if there is none.
ValueId polledIn(const Block &block, MailboxId box, const Index &slot);

/// Whether the length that a target is cut to, `element`, is what `value` has: the number that the value was cut to, or one
/// that its count has been stored in before, in this block.
bool isCountOf(const Program &program, const Block &block, const Slice &element, ValueId value);

} // namespace coll::ir
