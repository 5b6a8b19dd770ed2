// The passes: each rewrites a Program in place, one purpose each. Order and summaries are in Passes.def; what a pass
// relies on of earlier ones is said at its declaration.
#pragma once

#include "coll/CheckEvent.h"
#include "ir/Program.h"

namespace coll::passes {

/// What a pass works with.
struct Context {
  DiagnosticEngine &diagnostics;
  Diagnostics &sink;      ///< what `diagnostics` appends to, for diagnostics that come ready-made
  bool unchecked = false; ///< go on with a program that the checker refutes
  bool strict = false;    ///< rely on the PTX memory model alone
  bool draw = false;      ///< make `drawing`
  bool refuted = false;     ///< the checker has refuted it
  bool untried = false;     ///< so it says, but only because it cannot try all values of scalars
  std::vector<CheckEvent> events = {}; ///< of a counterexample, and the extents of its launches
  std::vector<Extents> counts = {};
  std::string drawing = {}; ///< of what the checker found, an SVG
};

/// Makes explicit what a sync mode needs around sends and reads. `barrier`: polls become Reads, with a Barrier before
/// the first read that follows its sends, and before the `if` that it stands in. `flag`: polls become Reads, with Signals behind the sends and Awaits before the
/// reads, in ordered loops too. `sentinel`: a Clear behind the read. `ll` and `ll128` need nothing.
bool expandSyncModes(ir::Program &program, Context &context);

/// Makes loops and conditions that go over vectors of several lengths one for each length: no data goes from the one to the
/// other. Not those around a Signal, an Await or a Barrier, which have packet loops inside. After expandSyncModes.
bool splitByLength(ir::Program &program, Context &context);

/// Wraps what lies between boundaries and barriers in PacketLoops, one for each run of statements over the same
/// domain. Signals and Awaits, and ordered loops and conditions with such inside, stay outside. A loaded value that is
/// used behind a barrier is loaded again there, another is kept in memory. After splitByLength.
bool formPacketLoops(ir::Program &program, Context &context);

/// Makes a loop over ranks in a packet loop an ordered one, from this rank on, unless its iterations are sends alone or
/// begin each with a receive from the slot of its number: those the device headers make side by side. The checker still
/// asks that any order be right (For::ofRanks). After formPacketLoops.
bool orderRankLoops(ir::Program &program, Context &context);

/// Loads once what a packet is sent from and stored as. Moves the loads of a packet loop with arithmetic to its begin, where no store before them may write what they read. After
/// formPacketLoops.
bool hoistLoads(ir::Program &program, Context &context);

/// Where every rank sends to its own slot `me` too and slot `me` is read by number, takes the value from registers.
/// After formPacketLoops: a value stays in registers only within a loop.
bool forwardOwnSlot(ir::Program &program, Context &context);

/// The part of it for data that goes to one rank: where that alone reads its slots, what it sends to itself.
void forwardAtRoot(ir::Program &program);

/// Makes explicit what a declared rule of reuse needs. `ack`: Credits at the begin of the launch, an AwaitCredit before
/// sends: in the packet loop where data shows its own arrival, before it where data is plain. `barrier`: a Barrier at the
/// end. After forwardOwnSlot: a rank does not wait for itself.
bool expandReuse(ir::Program &program, Context &context);

/// Gives a mailbox the rule `ack`, as expandReuse does.
void addCredits(ir::Program &program, ir::MailboxId box);

/// What a thread sends comes behind a fence of its own after whatever the rank has read before, in this launch or the one
/// before, and what it has waited for is followed by one. Needs packet loops, which say what a thread does, and credits.
void addStrictFences(ir::Program &program);

/// Leaves the loops that multicasts are short for: PTX orders nothing between the addresses of one place.
void removeMulticasts(ir::Program &program);

/// Asks the checker; sets copies and proof, or reports the counterexample. A mailbox without a declared rule of reuse
/// that no number of copies helps gets credits.
/// If the program is strict, it gets fences first, behind the credits.
bool chooseDepth(ir::Program &program, Context &context);

/// Sets lines and offset of every mailbox and the size of the region, as Program::shared says where the member has no
/// region of its own. After chooseDepth.
bool assignMemory(ir::Program &program, Context &context);

/// Bytes of the words that announce the slots of a mailbox.
std::uint64_t wordsOf(const ir::Mailbox &box);

/// Refuses a program whose loops by rows do not go together.
bool checkEmittable(const ir::Program &program, Context &context);

} // namespace coll::passes
