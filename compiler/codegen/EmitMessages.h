// Text for messages that say how long they are (Mailbox::counted): what all ranks are sent, and what comes from all.
#pragma once

#include "codegen/CodeWriter.h"

#include <string>

namespace coll::codegen {

/// `forall p in ranks: prefix(x[p], n[p]) -> p.box[me]`, as expressions of the text.
struct MessagesOut {
  std::string box, slot, packet;
  std::string rank;      ///< the loop's variable
  std::string vector;    ///< `a.x + p * (a.M)`: what the message is the begin of
  std::string own, ownCount, ownName; ///< vector and count of this rank, and a name for the latter
  std::string count;     ///< `a.n, p`: how much of it
  std::string length;    ///< `a.M`: the most
  std::string vectors, counts; ///< names for those of all ranks, by how many places they are after this one
  bool vectorByRank = false, countByRank = false; ///< whether they name `rank`
  bool keeps = false;    ///< this rank's own is not sent
  struct Own {
    std::string packet, count;
  };
  bool loadsFirst = true; ///< so few ranks that a packet for each fits into registers
};

/// Writes the loads of counts and vectors that come before the first send.
void emitLoads(const MessagesOut &out, CodeWriter &code);
/// Writes the sends, and what this rank's own packet and count are called afterwards.
MessagesOut::Own emitSends(const MessagesOut &out, CodeWriter &code);

} // namespace coll::codegen
