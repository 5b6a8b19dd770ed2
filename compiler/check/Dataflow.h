// One launch on all ranks, with symbolic data: does it end, does every message arrive where it is awaited, and do the
// outputs hold what `ensures` promises. Every poll names one slot, so one execution stands for all.
#pragma once

#include "check/Causality.h"
#include "check/Schedule.h"
#include "check/Storage.h"

namespace coll::check {

class Dataflow {
public:
  class Mail;

  /// `variant` is one of Expansion::variants. `alias` is the pair of Program::aliases that is the same memory, or
  /// kNone. `classes` may be fewer than the whole check has, those that have one fate with these sizes together. `mail`
  /// is made for the same expansion. All must outlive this.
  /// If `acquiring`, it is as if every word that is waited for ordered what its sender did before, as those of flags do. If
  /// `strict`, no store is known to come after a wait or a load.
  Dataflow(const Expansion &expansion, int variant, const Classes &classes, const Sizes &sizes, int alias, Mail &mail,
           bool strict, bool acquiring = false);

  /// Runs the launch and checks the outputs. Call once.
  std::optional<Refutation> run();
  Schedule &&schedule() { return std::move(order); }
  /// Whether the launch ends as well where each class is several, of which a thread has all: one after the other in every
  /// loop. It does if messages come from the same place in the row of a rank's loops or from an earlier one.
  bool endsInTurn() const { return inTurn; }
  /// Whether it is right only if no store is performed before the loads that its value is computed from, and the waits
  /// that precede it.
  bool reliesOnFetches() const { return fetches.used(); }

private:
  struct Slot {
    const Step *sender = nullptr; ///< of this launch
    int from = 0;
    bool visible = false;
    const Step *reader = nullptr;  ///< the last that read it
    const Step *cleared = nullptr; ///< emptied it, maybe before it was filled
    int place = 0; ///< in the row of its sender's loops
    std::uint64_t elements = 0;
    Content content;
    llvm::SmallVector<int, 0> added; ///< who has added to it, where sends add
    llvm::SmallVector<std::pair<int, Content>, 0> parts; ///< what, until it is read
    Causality::Snapshot released = {};
    Fetches::Set told = {};
  };

  /// Who said first in this launch that a slot has been filled.
  struct Announcement {
    const Step *signal = nullptr;
    int from = 0;
    bool visible = false;
    int place = 0; ///< the last, as of a slot
    Causality::Snapshot released = {};
    llvm::SmallVector<int, 4> counted; ///< who has announced it, where sends add
  };

  /// An access of another rank's argument.
  struct Touch {
    const Step *step;
    Causality::Moment when;
  };

  struct Rank {
    std::size_t at = 0; ///< position in its steps
    int packets = 0;    ///< class, within a packet loop
    int map = 0;        ///< thread map of that loop
    bool inLoop = false;
    bool idle = false;  ///< in a loop that has no packets, whose values still have to be defined
    int place = 0;      ///< number of that loop, or of what comes before it, outside of loops
    bool branches = false;
    bool begun = false;                 ///< has given its credits
    int credited = 0;                   ///< in which place
    std::vector<int> deferred;          ///< slots filled within a Branches, visible at its end
    std::vector<int> announced;         ///< the same of announcements
    std::vector<std::int64_t> elements; ///< per value; -1: not defined
    std::vector<int> pieces;            ///< per value that is a piece: its number
    std::vector<Content> values;        ///< per value and class
    std::map<const Step *, Segment> numbers; ///< of rows, as the first class of packets has loaded or stored them
  };

  const ir::Program &program;
  const Expansion &expansion;
  const Variant &variant;
  const Classes &classes;
  const Sizes &sizes;
  const int alias;
  const bool acquiring;
  Symbols symbols;
  std::vector<Storage> storage;
  Causality causality;
  Fetches fetches;
  std::vector<Touch> touches;
  std::vector<Rank> ranks;
  Mail &mail;
  Schedule order;
  bool inTurn = true;
  Content scratch;
  std::optional<Refutation> refutation;

  Content &value(Rank &r, int v) { return r.values[std::size_t(v) * classes.count() + r.packets]; }
  Slot &slot(int number, int packets);
  Event event(int rank, const Step &step, int packets) const;
  void refute(Refutation::Kind kind, Event first, Event second, std::string explanation, std::string fix);

  // Each returns false if the rank has to wait.
  bool advance(int rank);
  bool perform(int rank, const Step &step);
  bool barrier(const Step &step);
  void control(int rank, const Step &step);
  void load(int rank, const Step &step, std::uint64_t n);
  void loadColumn(int rank, const Step &step);
  void loadRow(int rank, const Step &step);
  void store(int rank, const Step &step, std::uint64_t n);
  void storeRows(int rank, const Step &step);
  void storeCount(int rank, const Step &step);
  void cut(int rank, const Step &step);
  void send(int rank, const Step &step, std::uint64_t n);
  bool receive(int rank, const Step &step, std::uint64_t n);
  void clear(int rank, const Step &step);
  void lost(int slot, const Step &clear, int from, const Step &sender, int packets);
  void signal(int rank, const Step &step);
  bool await(int rank, const Step &step);
  void add(int rank, const Step &step, Slot &slot);
  void sumUp(Slot &slot, int number);
  void count(int rank, const Step &step);
  void operate(int rank, const Step &step);

  std::optional<std::uint64_t> extent(int rank, const Step &step);
  void record(Step::Kind kind, int rank, int packets, int slot, const Step &step);
  void comeToPlace(Rank &r, int least = 0);
  void learnFrom(Rank &r, int place);

  // DataflowMemory.cpp
  void touch(int rank, const Step &step);
  void reportUnfinished();
  void conflict(int rank, const Storage::Conflict &c);
  bool announcesTwice(int rank, ir::MailboxId flags) const;
  void conflictOfRanks(const Storage::Conflict &c, Event first, Event second);

  // DataflowReport.cpp
  void reportStuck();
  void reportAlone(int r, int other, std::string text);
  int senderOf(int slot, int packets, int &rank) const;
  int announcerOf(int slot, int &rank) const;
  bool isLeft(int position) const;
  void reportLeftovers();
};

/// What lies in the mailboxes during a launch. Launches are looked at one after the other and leave it empty, at the cost of
/// what they use: a rooted collective has many slots over all roots, and few for each.
class Dataflow::Mail {
public:
  explicit Mail(const Expansion &expansion) : count(expansion.slots.size()), announcements(count) {}

private:
  friend class Dataflow;
  void empty();

  std::size_t count;       ///< of slots
  std::vector<Slot> slots; ///< of each class one after the other
  std::vector<Announcement> announcements; ///< per slot
  std::vector<int> used, announced;        ///< which of them, some more than once
};

inline Dataflow::Slot &Dataflow::slot(int number, int packets) {
  return mail.slots[std::size_t(packets) * mail.count + number];
}

/// What rank r's outputs must hold, against what `storage` holds at the end of a launch. Empty if they agree.
std::optional<Refutation> checkEnsures(const ir::Program &program, const Variant &variant, const Sizes &sizes,
                                       Symbols &symbols, const std::vector<Storage> &storage);

/// "`box[2]` of rank 5".
std::string slotText(const Expansion &expansion, int slot);

} // namespace coll::check
