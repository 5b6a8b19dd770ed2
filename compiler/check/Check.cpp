#include "check/Check.h"

#include "check/ChunkStreams.h"
#include "check/Counts.h"
#include "check/Dataflow.h"
#include "check/Launches.h"
#include "check/Order.h"
#include "check/Report.h"
#include "check/Scalars.h"
#include "check/Streams.h"
#include "check/ZeroSigns.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Sequence.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace coll::check {
namespace {

class Proof {
public:
  /// Unless `apart`, classes of packets that have one fate in a launch are looked at together. What is proved so is
  /// proved; what is not is looked at again with all of them apart, so that the message is about the first events that
  /// conflict, of the classes that they are of.
  Proof(const ir::Program &p, const Options &o, bool apart)
      : program(p), options(o), apart(apart), scalars(scalarClasses(p)), expansion(expand(p, scalars.values)) {}

  Verdict run() {
    const bool overflows = scalars.refusal && scalars.refusal->overflows; // and so may what is tried
    if (expansion.refutation) return refuted(overflows ? untried(program, *scalars.refusal) : *expansion.refutation);
    Verdict found = decide();
    if (!found.proved || options.someScalars || (!scalars.refusal && allFollowed)) return found;
    verdict = Verdict();
    return refuted(scalars.refusal ? untried(program, *scalars.refusal) : untriedLaunches(program));
  }

private:
  Verdict decide() {
    if (auto r = refuteByPlatform(program, options)) return refuted(std::move(*r));
    if (auto r = refuteZeroSigns(program)) return refuted(std::move(*r));
    for (const Extents &counts : options.counts.empty() ? countClasses(program) : options.counts)
      sizes.emplace_back(expansion, counts);
    classes = classify(expansion, sizes);
    for (const Sizes &s : sizes) groups.push_back(apart ? classes : classify(expansion, {s}));
    if (auto r = everyLaunch()) return refuted(std::move(*r));
    if (auto r = everySequence()) return refuted(std::move(*r));
    verdict.proved = true;
    verdict.summary = proofText(program, verdict);
    if (!options.strict) {
      const bool waits = reliesOnWaits, values = reliesOnValues;
      const bool trusts = !program.mailboxes.empty() && !strict && sequence(verdict.copies, /*strict=*/true).has_value();
      verdict.assumptions = assumptions(program, trusts, waits, values, reliesOnFetches);
    }
    verdict.strength = strengthText(program, verdict);
    return std::move(verdict);
  }

  const ir::Program &program;
  const Options &options;
  const bool apart;
  const ScalarClasses scalars;
  const Expansion expansion;
  std::vector<Sizes> sizes;
  Classes classes;
  std::vector<Classes> groups; ///< by sizes: those classes together that have one fate then
  Launches launches;           ///< of all counts and scalars
  std::optional<Launches> all; ///< the same with each class apart, where they are asked for
  std::vector<Launches> parts; ///< the same, seen from two classes of packets; empty where there are not more
  static constexpr std::size_t kMostEvents = 4000000; ///< of launches that follow each other
  bool allFollowed = true;         ///< else there are more launches of other scalars than the few
  bool strict = false;             ///< the last sequence has been seen to hold in the strict model, too
  bool reliesOnWaits = false;      ///< see Order, of the last sequence without a hazard
  bool reliesOnValues = false;     ///< the same
  bool reliesOnFetches = false;    ///< see Dataflow, of some launch
  std::map<std::tuple<const Launches *, bool, bool, bool, std::vector<int>>, Streams> streams; ///< those asked for
  std::map<std::tuple<const Launches *, bool, bool, std::vector<int>>, ChunkStreams> chunkStreams; ///< the same
  std::map<const Launches *, std::vector<llvm::BitVector>> chunksAfter; ///< by `goesOn`
  Verdict verdict;

  Verdict refuted(Refutation r) {
    verdict.summary = r.explanation;
    verdict.refutation = std::move(r);
    return std::move(verdict);
  }

  /// One launch of each count, with and without arguments in place.
  std::optional<Refutation> everyLaunch() {
    Dataflow::Mail mail(expansion);
    for (int alias = ir::kNone; alias < int(program.aliases.size()); ++alias)
      for (int v = 0; v < int(expansion.variants.size()); ++v)
        for (std::size_t s = 0; s < sizes.size(); ++s) {
          Schedule schedule;
          if (auto r = oneLaunch(v, s, alias, mail, schedule)) {
            if (wordsWouldOrder(*r, v, s, alias, mail)) offerFlags(program, *r);
            return r;
          }
          if (alias != ir::kNone) continue;
          const std::size_t most = v < scalars.few ? ~std::size_t(0) : kMostEvents;
          allFollowed &= launches.note(std::move(schedule), {{int(s), v}}, most);
        }
    takeApart();
    return std::nullopt;
  }

  std::optional<Refutation> oneLaunch(int variant, std::size_t s, int alias, Dataflow::Mail &mail, Schedule &schedule) {
    if (groups[s].count() < classes.count()) {
      Dataflow launch(expansion, variant, groups[s], sizes[s], alias, mail, options.strict);
      if (!launch.run() && launch.endsInTurn()) {
        reliesOnFetches |= launch.reliesOnFetches();
        schedule = launch.schedule();
        for (int g = 0; g < groups[s].count(); ++g) schedule.upTo[std::size_t(g)] = std::max(classes.reach(groups[s].ends[std::size_t(g)]), 1);
        return std::nullopt;
      }
    }
    Dataflow launch(expansion, variant, classes, sizes[s], alias, mail, options.strict);
    auto r = launch.run();
    reliesOnFetches |= launch.reliesOnFetches();
    schedule = launch.schedule();
    return r;
  }

  /// Whether two ranks touch memory without an order that the words they wait for would give if they were flags.
  bool wordsWouldOrder(const Refutation &r, int variant, std::size_t size, int alias, Dataflow::Mail &mail) const {
    if (!expansion.polls || r.first.buffer == ir::kNone || r.second.buffer == ir::kNone || r.first.rank == r.second.rank) return false;
    return !Dataflow(expansion, variant, classes, sizes[size], alias, mail, options.strict, /*acquiring=*/true).run();
  }

  // Two events that conflict have one class of packets. What their threads know of other ranks comes to them in that
  // class, and from others at the end of a launch; to leave some of those out is to be on the safe side. So each class is
  // looked at beside the first, which is in every launch: those that are in the same kinds of launches, together.
  void takeApart() {
    launches.classes = classes.count();
    if (classes.count() <= 2) return;
    for (const int c : launches.classesThatDiffer(program.ranks)) parts.push_back(launches.seenFrom(c));
  }

  /// By chunk of a launch, those that may come right after it: a full one before any other, of pieces the last of which may
  /// end first. Chunks have the forms of whole launches: see README.md.
  const std::vector<llvm::BitVector> &goesOn(const Launches &of) {
    const auto [at, isNew] = chunksAfter.try_emplace(&of, of.kinds.size(), llvm::BitVector(unsigned(of.kinds.size())));
    if (!isNew || !program.chunks) return at->second;
    std::vector<std::vector<int>> schedule(expansion.variants.size(), std::vector<int>(sizes.size(), ir::kNone));
    for (std::size_t i = 0; i < of.alike.size(); ++i)
      for (const LaunchKind &k : of.alike[i]) schedule[std::size_t(k.scalars)][std::size_t(k.counts)] = int(i);
    for (std::size_t one = 0; one < sizes.size(); ++one)
      for (std::size_t next = 0; next < sizes.size(); ++next) {
        if (!goesOn(sizes[one], sizes[next])) continue;
        for (const std::vector<int> &with : schedule)
          if (with[one] != ir::kNone && with[next] != ir::kNone)
            at->second[std::size_t(with[one])].set(unsigned(with[next]));
      }
    return at->second;
  }

  bool goesOn(const Sizes &one, const Sizes &next) const {
    const ir::Length &of = program.chunks->of;
    int length = 0;
    while (length < int(expansion.lengths.size()) && !expansion.lengths[length].sameDomain(of)) ++length;
    if (length == int(expansion.lengths.size())) return true; // nothing is sent
    std::uint64_t full = 0;
    for (const Sizes &s : sizes) full = std::max(full, s.longest(length));
    const bool split = of.kind == ir::Length::Kind::Piece;
    const int last = program.ranks - 1;
    const auto even = [&](const Sizes &s) { return !split || s.elements(length, last - 1) == s.longest(length); };
    if (one.longest(length) != full || !even(one) || !even(next)) return false;
    return !split || one.elements(length, last) == full || next.elements(length, last) == 0;
  }

  const Launches &launchesApart() {
    if (!all) all = launches.apart();
    return *all;
  }

  /// Launches after each other, with so many copies. On success notes what is known of dependence.
  // Whatever holds in the strict model holds in the usual one.
  std::optional<Refutation> sequence(const std::vector<int> &copies) {
    strict = options.strict || holds(copies, true);
    return strict && !options.strict ? std::nullopt : sequence(copies, options.strict);
  }

  struct Run {
    std::optional<Order::Hazard> hazard;
    std::vector<int> order; ///< of the launches
    bool full = false, relies = false, values = false; ///< as Order has them, without a hazard
    bool untried = false; ///< nothing is known to be wrong, but there are streams that were not looked at
  };

  /// Whether that is seen already where few classes of packets are looked at together. If not, `found` is what is wrong if
  /// that is sure already.
  bool holds(const std::vector<int> &copies, bool strictly, std::optional<Refutation> *found = nullptr) {
    bool full = true, relies = false, values = false;
    for (const Launches &of : parts.empty() ? llvm::ArrayRef<Launches>(launchesApart()) : llvm::ArrayRef<Launches>(parts)) {
      const Run run = inTurn(of, copies, strictly);
      if (run.hazard && found && !apart && isOfAll(of, run)) *found = refutation(of, run, copies);
      if (run.hazard || run.untried) return false;
      full &= run.full, relies |= run.relies, values |= run.values;
    }
    verdict.fullDependence = full, reliesOnWaits = relies, reliesOnValues = values;
    return true;
  }

  /// Whether other classes of packets cannot make up for what a part of them lacks: up to there, they do what those of the
  /// part do, and so know no more.
  bool isOfAll(const Launches &part, const Run &run) const {
    return llvm::all_of(llvm::seq(0, run.hazard->secondLaunch + 1), [&](int l) {
      const std::vector<LaunchKind> &alike = part.alike[std::size_t(run.order[std::size_t(l)])];
      return llvm::any_of(alike, [&](const LaunchKind &k) { return groups[std::size_t(k.counts)].count() == 1; });
    });
  }

  std::optional<Refutation> sequence(const std::vector<int> &copies, bool strict) {
    std::optional<Refutation> found;
    if (!parts.empty() && holds(copies, strict, &found)) return std::nullopt;
    if (found) return found;
    const Run run = inTurn(launchesApart(), copies, strict);
    if (run.hazard) return refutation(launchesApart(), run, copies);
    if (run.untried) return untriedStreams(program);
    verdict.fullDependence = run.full, reliesOnWaits = run.relies, reliesOnValues = run.values;
    return std::nullopt;
  }

  /// Epochs after each other. Adds what is known without a hazard.
  void follow(Run &run, llvm::ArrayRef<Order::Epoch> epochs, const std::vector<int> &copies, int packets, bool strict) const {
    for (const bool exact : {false, true}) {
      if (exact && packets == 1) break;
      Order clocks(expansion, packets, exact, strict, /*byValue=*/true);
      run.hazard = clocks.run(epochs, copies);
      if (run.hazard) continue;
      run.full &= clocks.fullDependence();
      run.relies |= clocks.reliesOnWaits();
      // Values may have said no more than something else did.
      run.values |= clocks.reliesOnValues() &&
                    Order(expansion, packets, exact, strict, /*byValue=*/false).run(epochs, copies).has_value();
      break;
    }
  }

  Run inTurn(const Launches &of, const std::vector<int> &copies, bool strict) {
    const int most = copies.empty() ? 1 : *std::max_element(copies.begin(), copies.end());
    const int window = std::max(options.window, most + 2);
    std::size_t events = 0;
    for (const Schedule &s : of.schedules) events = std::max(events, s.events.size());
    const auto isOfFew = [&](const LaunchKind &k) { return k.scalars < scalars.few; };
    const std::vector<LaunchKind> few(of.kinds.begin(), std::find_if_not(of.kinds.begin(), of.kinds.end(), isOfFew));
    const bool thorough = few.size() * few.size() * 2 * window * events < 100000;
    const bool all = thorough && !program.chunks && few.size() == of.kinds.size() && isEveryWord(few, window);
    Run run;
    run.full = true;
    if (thorough) run.order = launchSequence(few, window);
    const std::size_t alone = of.kinds.size() * std::size_t(window) * events < 100000 ? std::size_t(window) : 1;
    for (std::size_t k = thorough ? few.size() : 0; k < of.kinds.size(); ++k)
      run.order.insert(run.order.end(), alone, int(k));
    follow(run, of, copies, strict, window);
    if (all || run.hazard) return run;
    program.chunks ? followChunks(run, of, copies, strict, window) : followStreams(run, of, copies, strict, window);
    return run;
  }

  /// The launches in the order of `run`, one part after the other. A chunk goes on with a launch if it may, unless it is ~c.
  void follow(Run &run, const Launches &of, const std::vector<int> &copies, bool strict, int window) {
    std::vector<Order::Epoch> epochs;
    for (int &l : run.order) {
      const bool begins = l < 0;
      if (begins) l = ~l;
      if (!epochs.empty()) epochs.back().endsLaunch = begins || !goesOn(of)[std::size_t((&l)[-1])].test(unsigned(l));
      epochs.push_back({&of.schedules[std::size_t(l)]});
    }
    constexpr std::size_t kPart = Order::kMostEpochs;
    for (std::size_t begin = 0;; begin += kPart - std::min(std::size_t(window), kPart / 2)) {
      const auto part = llvm::ArrayRef<Order::Epoch>(epochs).slice(begin).take_front(kPart);
      follow(run, part, copies, of.classes, strict);
      if (run.hazard) run.hazard->firstLaunch += int(begin), run.hazard->secondLaunch += int(begin);
      if (run.hazard || begin + kPart >= epochs.size()) break;
    }
  }

  /// Whatever else may follow each other. What may be wrong there is looked at in turn, as only that is sure.
  void followStreams(Run &run, const Launches &of, const std::vector<int> &copies, bool strict, int window) {
    for (const bool pruned : {true, false}) {
      const Streams &streams = streamsOf(of, copies, strict, /*byValue=*/true, pruned);
      const Streams::Found found = streams.run(copies);
      if (pruned && streams.byValue && !run.values)
        run.values = !streamsOf(of, copies, strict, /*byValue=*/false, pruned).run(copies).hazards.empty();
      Run some = run;
      some.order.clear();
      for (const Streams::Word &word : found.hazards) some.order.insert(some.order.end(), word.begin(), word.end());
      if (!run.relies)
        for (const Streams::Word &word : found.weak) some.order.insert(some.order.end(), word.begin(), word.end());
      if (!some.order.empty()) follow(some, of, copies, strict, window);
      run.relies = some.relies, run.values = some.values;
      if (some.hazard) run.hazard = some.hazard, run.order = std::move(some.order);
      if (run.hazard || (found.all && found.hazards.empty())) return;
      run.untried = !found.all;
      if (!found.all) return;
    }
  }

  /// The same of chunks. What may be wrong there and is not in turn is not known to be right.
  void followChunks(Run &run, const Launches &of, const std::vector<int> &copies, bool strict, int window) {
    const ChunkStreams &streams = chunkStreamsOf(of, copies, strict, /*byValue=*/true);
    const Streams::Found found = streams.run(copies);
    if (streams.byValue && !run.values)
      run.values = !chunkStreamsOf(of, copies, strict, /*byValue=*/false).run(copies).hazards.empty();
    run.relies |= !found.weak.empty();
    Run some = run;
    some.order.clear();
    for (const Streams::Word &word : found.hazards) some.order.insert(some.order.end(), word.begin(), word.end());
    if (!some.order.empty()) follow(some, of, copies, strict, window);
    if (some.hazard) run.hazard = some.hazard, run.order = std::move(some.order);
    run.untried = !run.hazard && (!found.all || !found.hazards.empty());
  }

  std::vector<int> creditsOf(const std::vector<int> &copies) const {
    std::set<int> credits{0};
    for (std::size_t b = 0; b < copies.size(); ++b)
      if (expansion.credits && program.mailboxes[b].reuse == ir::Reuse::Ack) credits.insert(copies[b]);
    return {credits.begin(), credits.end()};
  }

  const ChunkStreams &chunkStreamsOf(const Launches &of, const std::vector<int> &copies, bool strict, bool byValue) {
    const std::vector<int> credits = creditsOf(copies);
    Order order(expansion, of.classes, /*exact=*/false, strict, byValue);
    auto [at, isNew] = chunkStreams.try_emplace({&of, strict, byValue, credits}, order.ways(), credits, goesOn(of));
    if (!isNew) return at->second;
    std::vector<bool> plain; // what some chunk with a next one leaves behind
    for (std::size_t k = 0; k < of.schedules.size(); ++k) {
      if (goesOn(of)[k].none() || order.ways().passed == ir::kNone) continue; // else nobody asks
      const std::vector<bool> left = order.chunkEffect(of.schedules[k], copies, 0, {}).leavesPlain;
      plain.resize(left.size());
      for (std::size_t i = 0; i < left.size(); ++i) plain[i] = plain[i] || left[i];
    }
    for (const Schedule &s : of.schedules) {
      std::vector<ChunkEffect> effects;
      for (const int c : credits) effects.push_back(order.chunkEffect(s, copies, c, plain));
      at->second.add(std::move(effects));
    }
    return at->second;
  }

  const Streams &streamsOf(const Launches &of, const std::vector<int> &copies, bool strict, bool byValue, bool pruned) {
    const std::vector<int> each = creditsOf(copies);
    auto [at, isNew] = streams.try_emplace({&of, strict, byValue, pruned, each}, program.ranks, each, pruned);
    if (!isNew) return at->second;
    for (const Schedule &s : of.schedules) {
      std::vector<Effect> effects;
      for (const int c : each)
        effects.push_back(Order(expansion, of.classes, /*exact=*/false, strict, byValue).effect(s, copies, c));
      at->second.add(effects);
    }
    return at->second;
  }

  Refutation refutation(const Launches &of, const Run &run, const std::vector<int> &copies) const {
    const Order::Hazard &hazard = *run.hazard;
    Refutation r;
    r.kind = hazard.kind;
    auto kind = [&](int launch) { return of.kinds[run.order[launch]]; };
    r.first = event(hazard.first, 0, sizes[kind(hazard.firstLaunch).counts]);
    const int apart = hazard.secondLaunch - hazard.firstLaunch;
    r.second = event(hazard.second, apart, sizes[kind(hazard.secondLaunch).counts]);
    r.ranks = program.ranks;
    r.copies = copies;
    for (int l = hazard.firstLaunch; l <= hazard.secondLaunch; ++l) {
      r.counts.push_back(sizes[kind(l).counts].counts());
      if (!program.scalars.empty()) r.scalars.push_back(expansion.variants[kind(l).scalars].scalars);
    }
    return r;
  }

  Event event(const ScheduledEvent &e, int launch, const Sizes &s) const {
    using What = Event::What;
    Event out;
    switch (e.kind) {
    case Step::Kind::Send: out.what = What::Send; break;
    case Step::Kind::Poll: out.what = What::Poll; break;
    case Step::Kind::Clear: out.what = What::Clear; break;
    case Step::Kind::Signal: out.what = What::Signal; break;
    case Step::Kind::Await: out.what = What::Await; break;
    default: out.what = What::Read;
    }
    const SlotName &slot = expansion.slots[e.slot];
    out.launch = launch;
    out.rank = e.rank;
    out.owner = slot.owner;
    out.box = slot.box;
    out.slot = slot.index;
    out.where = e.step->where;
    if (e.packets == ir::kNone) return out;
    out.begin = classes.begin(e.packets);
    out.end = std::min(classes.ends[e.packets], s.elements(e.step->length, e.step->piece));
    return out;
  }

  /// Finds the smallest number of copies of each mailbox, and refutes if those declared are too few.
  std::optional<Refutation> everySequence() {
    std::vector<bool> open;
    std::vector<int> declared;
    for (const ir::Mailbox &m : program.mailboxes) {
      declared.push_back(std::max(m.copies, 0));
      open.push_back(m.copies <= 0);
    }
    const bool anyOpen = llvm::is_contained(open, true), anyDeclared = llvm::is_contained(open, false);
    if (!anyOpen)
      if (auto r = sequence(declared)) {
        const auto enough = search(std::vector<bool>(open.size(), true), declared);
        return explained(std::move(*r), enough);
      }
    auto found = search(open, declared);
    if (!found) {
      // With two copies the overtaking is the easiest to follow.
      auto r = sequence(mix(open, declared, 2));
      if (!r) r = sequence(mix(open, declared, 1));
      const auto enough = anyDeclared ? search(std::vector<bool>(open.size(), true), declared) : std::nullopt;
      return explained(std::move(*r), enough);
    }
    verdict.copies = verdict.smallest = *found;
    // A credit for the launch before has mostly arrived; one for this very launch is waited for, which may be needed.
    std::vector<int> quick = *found;
    for (std::size_t i = 0; i < open.size(); ++i)
      if (open[i] && program.mailboxes[i].reuse == ir::Reuse::Ack) quick[i] = std::max(quick[i], 2);
    const bool other = quick != *found;
    if (other && !sequence(quick)) verdict.copies = quick;
    if (anyDeclared)
      if (auto smallest = search(std::vector<bool>(open.size(), true), declared)) verdict.smallest = *smallest;
    // The last sequence without a hazard is that of these copies already, unless others were tried since.
    if (anyDeclared || (other && verdict.copies != quick)) sequence(verdict.copies);
    return std::nullopt;
  }

  static std::vector<int> mix(const std::vector<bool> &open, std::vector<int> declared, int copies) {
    for (std::size_t i = 0; i < open.size(); ++i)
      if (open[i]) declared[i] = copies;
    return declared;
  }

  /// The fewest copies of the open mailboxes. Empty if no number is enough.
  std::optional<std::vector<int>> search(const std::vector<bool> &open, const std::vector<int> &declared) {
    // Whether a slot is filled too early depends on the copies of its own mailbox alone, so the one that is needs another.
    std::vector<int> copies = mix(open, declared, 1);
    for (;;) {
      const auto r = sequence(copies);
      if (!r) return copies;
      if (!isOfCopies(r->kind)) return std::nullopt;
      if (!expansion.credits && !open[r->first.box]) return std::nullopt;
      if (expansion.credits || copies[r->first.box] == 3) return searchAlike(open, declared);
      ++copies[r->first.box];
    }
  }

  /// Whether more copies might help. They leave who knows what as it is.
  static bool isOfCopies(Refutation::Kind kind) {
    return kind == Refutation::Kind::OverwriteBeforeRead || kind == Refutation::Kind::StaleSentinel;
  }

  /// The same, first alike for all mailboxes, then of each alone: where one takes many, or a credit is for a number. What is
  /// sent before a credit is waited for knows of an older one, however many copies they have together: so next to one copy of
  /// what has credits, others are tried with more.
  std::optional<std::vector<int>> searchAlike(const std::vector<bool> &open, const std::vector<int> &declared) {
    std::vector<int> once = declared;
    std::vector<bool> others = open;
    for (std::size_t i = 0; i < open.size(); ++i)
      if (open[i] && program.mailboxes[i].reuse == ir::Reuse::Ack) once[i] = 1, others[i] = false;
    int enough = fewestAlike(open, declared);
    std::vector<int> copies = mix(open, declared, enough);
    if (!enough && expansion.credits && others != open && llvm::is_contained(others, true)) {
      enough = fewestAlike(others, once);
      copies = mix(others, once, enough);
    }
    if (!enough) return std::nullopt;
    if (llvm::count(open, true) > 1)
      for (std::size_t i = 0; i < copies.size(); ++i)
        while (open[i] && copies[i] > 1) {
          --copies[i];
          if (!sequence(copies)) continue;
          ++copies[i];
          break;
        }
    return copies;
  }

  /// How many copies of each of the open mailboxes; 0 if no number is enough.
  int fewestAlike(const std::vector<bool> &open, const std::vector<int> &declared) {
    const int most = options.maxCopies ? options.maxCopies : program.ranks + 1;
    auto holds = [&](int copies) { return !sequence(mix(open, declared, copies)); };
    // More copies never hurt: a slot is filled again later. So after the usual few, bisect.
    for (int b = 1; b <= std::min(most, 3); ++b)
      if (holds(b)) return b;
    if (most <= 3 || !holds(most)) return 0;
    int tooFew = 3, enough = most;
    while (enough - tooFew > 1) {
      const int middle = (enough + tooFew) / 2;
      (holds(middle) ? enough : tooFew) = middle;
    }
    return enough;
  }

  Refutation explained(Refutation r, const std::optional<std::vector<int>> &enough) const {
    if (r.kind == Refutation::Kind::Unbounded) return r;
    r.noDepthHelps = !enough && isOfCopies(r.kind);
    explainOrder(program, r, enough ? *enough : std::vector<int>());
    return r;
  }
};

} // namespace

Verdict check(const ir::Program &program, const Options &options) {
  Proof proof(program, options, /*apart=*/false);
  Verdict verdict = proof.run();
  const bool untried = verdict.refutation && verdict.refutation->kind == Refutation::Kind::Unbounded;
  if (!verdict.proved && !untried) verdict = Proof(program, options, /*apart=*/true).run();
  return verdict;
}

std::vector<ir::SourceOffset> removableBarriers(const ir::Program &program, const Options &options) {
  std::vector<ir::SourceOffset> removable;
  for (std::size_t at = 0; at < program.body.size(); ++at) {
    const auto *barrier = std::get_if<ir::Barrier>(&program.body[at].op());
    if (!barrier) continue;
    ir::Program without = program;
    without.body.erase(without.body.begin() + at);
    ir::numberBarriers(without);
    if (Proof(without, options, /*apart=*/false).run().proved) removable.push_back(barrier->where);
  }
  return removable;
}

} // namespace coll::check
