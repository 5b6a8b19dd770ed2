// Which mailboxes, of the modes whose data does not say itself that it is there, statements send to and read.
#pragma once

#include "ir/Program.h"
#include "llvm/ADT/SmallSet.h"

namespace coll::passes {

using BoxSet = llvm::SmallSet<ir::MailboxId, 4>;

struct Traffic {
  BoxSet sent, polled;
};

/// With its body. What is stored into a window with flags is sent to these.
Traffic trafficOf(const ir::Program &program, const ir::Stmt &stmt);

/// Whether what is sent to a mailbox is data and nothing else.
bool isPlain(const ir::Program &program, ir::MailboxId box);

/// What announces a store into a peer's window; kNone if nothing does.
ir::MailboxId flagsOf(const ir::Program &program, const ir::Store &store);

} // namespace coll::passes
