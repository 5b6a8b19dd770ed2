// Arguments in memory: what other ranks touch of them, and accesses that nothing orders.
#include "check/Dataflow.h"

#include <set>

namespace coll::check {

using Kind = Step::Kind;

/// An access of what a window opens: its owner must have begun the launch, or what it holds may not be there yet.
void Dataflow::touch(int rank, const Step &step) {
  if (step.peer == rank) return;
  const int packets = ranks[rank].packets;
  touches.push_back({&step, causality.now(rank, packets)});
  if (causality.knowsStart(rank, packets, step.peer)) return;
  const std::string owner = "rank " + std::to_string(step.peer), name = "`" + program.buffers[step.buffer].name + "`";
  refute(Refutation::Kind::MissingBarrier, event(rank, step, packets), {},
         "rank " + std::to_string(rank) + " touches " + name + " of " + owner + " before anything says that " + owner +
             " has started the launch; earlier kernels of " + owner + " may still be at work on it",
         "write `entry barrier` before it");
}

/// What was touched must be done with before its owner's launch ends: then the caller may change it.
void Dataflow::reportUnfinished() {
  for (const Touch &t : touches) {
    if (causality.knows(t.step->peer, t.when.packets, t.when)) continue;
    const std::string owner = "rank " + std::to_string(t.step->peer);
    const ir::MailboxId flags = t.step->kind == Step::Kind::Store ? program.buffers[t.step->buffer].flags : ir::kNone;
    bool isAnnounced = flags != ir::kNone; // a second push into a place could be awaited no more than the first
    for (int r = 0; isAnnounced && r < program.ranks; ++r) isAnnounced = !announcesTwice(r, flags);
    return refute(Refutation::Kind::MissingBarrier, event(t.when.rank, *t.step, t.when.packets), {},
                  "the launch of " + owner + " may end before rank " + std::to_string(t.when.rank) +
                      " has finished with its `" + program.buffers[t.step->buffer].name +
                      "`, and the next kernel of " + owner + " may change it",
                  isAnnounced ? "write `exit barrier` after it, or let " + owner + " `await` it" : "write `exit barrier` after it");
  }
}

/// Whether a rank announces some place of a window twice in a launch.
bool Dataflow::announcesTwice(int rank, ir::MailboxId flags) const {
  std::set<int> once;
  for (const Step &step : variant.steps[rank])
    if (step.kind == Kind::Signal && expansion.slots[step.slot].box == flags && !once.insert(step.slot).second) return true;
  return false;
}

/// Of two ranks, without order or in an order that only packets of one class have.
void Dataflow::conflictOfRanks(const Storage::Conflict &c, Event first, Event second) {
  using What = Refutation::Kind;
  const auto name = [&](const Step &s) {
    return "`" + program.buffers[s.buffer].name + "` of rank " + std::to_string(s.peer);
  };
  const bool stored = c.earlier->kind == Kind::Store, read = c.later->kind == Kind::Load;
  const bool inplace = c.earlier->buffer != c.later->buffer;
  const std::string earlier = "rank " + std::to_string(c.earlierRank), later = "rank " + std::to_string(c.laterRank);
  std::string text = later + (read ? " may read " : " may write ") + name(*c.later) + " before " + earlier + " has " +
                     (stored ? "written " : "read ") +
                     (inplace ? name(*c.earlier) + ", which is the same memory" : "there what it has to");
  text += c.ordered ? ": what lies between orders each CTA with that of the same number, and the two go over the memory "
                      "by different slices, so by different CTAs"
                    : ": nothing orders the two";
  const ir::MailboxId flags = program.buffers[c.later->buffer].flags;
  const bool twice = flags != ir::kNone && stored != !read && announcesTwice(stored ? c.earlierRank : c.laterRank, flags);
  if (twice) text += "; a place is announced once in a launch, so an `await` behind the second push has been satisfied by the first";
  refute(inplace  ? What::InplaceHazard
         : !read && stored ? What::WrongResult
         : read   ? What::ReadWithoutArrival
                  : What::OverwriteBeforeRead,
         first, second, std::move(text),
         !read && c.earlier->where == c.later->where
             ? "let each rank write a part of its own, as in `p." + program.buffers[c.later->buffer].name + "[me]`"
         : c.ordered ? "go over the same slices on both sides of the barrier"
         : inplace ? "put a `barrier` between the two, or declare the algorithm `outofplace`"
         : twice ? "push once into each place, and send what comes first or last to a mailbox, or put a `barrier` between the two"
         : flags != ir::kNone
             ? "let who reads it `await` that place first, or put a `barrier` between the two"
             : "put a `barrier` between the two");
}

void Dataflow::conflict(int rank, const Storage::Conflict &c) {
  if (!c.later) return;
  Event first = event(c.earlierRank, *c.earlier, 0), second = event(rank, *c.later, 0);
  first.begin = second.begin = c.begin, first.end = second.end = c.end;
  if (c.earlierRank != c.laterRank) return conflictOfRanks(c, first, second);
  const std::string a = "`" + program.buffers[c.earlier->buffer].name + "`";
  const std::string b = "`" + program.buffers[c.later->buffer].name + "`";
  const bool stores = c.earlier->kind == Kind::Store && c.later->kind == Kind::Store;
  const bool inplace = c.earlier->buffer != c.later->buffer;
  std::string text;
  if (c.sameThread) {
    text = b + " is read after " + a + ", which is the same memory, has been overwritten";
  } else if (stores) {
    text = "two threads write the same elements of " + b + ", and either may be the last";
  } else {
    const bool read = c.later->kind == Kind::Load;
    text = "one thread " + std::string(read ? "reads " : "overwrites ") + b + " where another " +
           (read ? "writes " : "reads ") + a + (inplace ? ", the same memory" : "") +
           ", and nothing orders the two within a launch";
  }
  refute(inplace ? Refutation::Kind::InplaceHazard : Refutation::Kind::WrongResult, first, second, std::move(text),
         inplace ? "read all of " + (c.earlier->kind == Kind::Load ? a : b) +
                       " before the first write to it, slice by slice alike, or declare the algorithm `outofplace`"
                 : "keep the value in a `let` instead of going through " + b);
}

} // namespace coll::check
