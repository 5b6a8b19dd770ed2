#include "check/Diagram.h"

#include "check/Counts.h"
#include "check/Scalars.h"
#include "check/Dataflow.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>

namespace coll::check {
namespace {

using Kind = Step::Kind;

/// What a rank does at one place of the text in one launch: a row of its lane.
struct Node {
  int launch = 0, rank = 0;
  Kind kind = Kind::Fence;
  ir::SourceOffset where = 0;
  std::vector<int> slots; ///< in the order of the schedule
  std::vector<int> before; ///< nodes that come first
  bool red = false, drawn = false;
  int level = 0;
  std::string note;
  int missing = ir::kNone; ///< who should send what the node waits for, and does not
};

bool sends(Kind kind) {
  return kind == Kind::Send || kind == Kind::Signal;
}
bool receives(Kind kind) {
  return kind == Kind::Poll || kind == Kind::Await || kind == Kind::Read;
}

Kind kindOf(Event::What what) {
  switch (what) {
  case Event::What::Send: return Kind::Send;
  case Event::What::Poll: return Kind::Poll;
  case Event::What::Read: return Kind::Read;
  case Event::What::Clear: return Kind::Clear;
  case Event::What::Signal: return Kind::Signal;
  case Event::What::Await: return Kind::Await;
  case Event::What::Barrier: return Kind::Barrier;
  default: return Kind::Load;
  }
}

/// The nodes of some launches, and what orders them.
class Graph {
public:
  Graph(const ir::Program &p, const Refutation *r)
      : program(p), refutation(r), scalars(scalarClasses(p)), expansion(expand(p, scalars.values)) {}

  bool build() {
    if (expansion.refutation) return false;
    std::vector<Extents> counts = refutation ? refutation->counts : std::vector<Extents>();
    if (counts.empty()) {
      const std::vector<Extents> all = countClasses(program);
      counts = {all[std::min<std::size_t>(3, all.size() - 1)]}; // a large one
    }
    for (const Extents &c : counts) sizes.emplace_back(expansion, c);
    classes = classify(expansion, sizes);
    packets = refutation ? std::max(0, classes.reach(refutation->second.begin + 1) - 1) : 0;
    for (std::size_t l = 0; l < sizes.size(); ++l) launch(int(l));
    if (refutation && refutation->kind == Refutation::Kind::Deadlock) addWaits();
    orderLanes();
    return !nodes.empty();
  }

  std::vector<Node> nodes;
  int first = ir::kNone, second = ir::kNone; ///< those of the counterexample

  std::string slotText(int slot) const {
    const SlotName &s = expansion.slots[slot];
    return program.mailboxes[s.box].name + "[" + std::to_string(s.index) + "]";
  }
  int owner(int slot) const { return expansion.slots[slot].owner; }

private:
  const ir::Program &program;
  const Refutation *refutation;
  const ScalarClasses scalars;
  const Expansion expansion;
  std::vector<Sizes> sizes;
  Classes classes;
  int packets = 0; ///< class of packets that is drawn
  std::vector<Schedule> schedules;

  int variantOf(int launch) const {
    if (!refutation || launch >= int(refutation->scalars.size())) return 0;
    for (std::size_t v = 0; v < expansion.variants.size(); ++v)
      if (expansion.variants[v].scalars == refutation->scalars[launch]) return int(v);
    return 0;
  }

  void launch(int number) {
    Dataflow::Mail mail(expansion);
    Dataflow run(expansion, variantOf(number), classes, sizes[number], ir::kNone, mail, /*strict=*/false);
    run.run();
    const Schedule schedule = run.schedule();
    std::vector<int> last(program.ranks, ir::kNone);
    for (const ScheduledEvent &e : schedule.events) {
      const bool shown = sends(e.kind) || receives(e.kind) || e.kind == Kind::Clear || e.kind == Kind::Barrier;
      if (!shown || (e.packets != ir::kNone && e.packets != packets)) continue;
      const int culprit = culpritOf(e, number);
      int &previous = last[e.rank];
      const bool joins = !culprit && previous != ir::kNone && nodes[previous].kind == e.kind &&
                         nodes[previous].where == e.step->where && !nodes[previous].red && e.kind != Kind::Barrier;
      if (!joins) {
        Node n;
        n.launch = number, n.rank = e.rank, n.kind = e.kind, n.where = e.step->where, n.red = culprit;
        previous = int(nodes.size());
        nodes.push_back(std::move(n));
        if (culprit) (culprit == 1 ? first : second) = previous;
      }
      nodes[previous].slots.push_back(e.slot);
    }
  }

  /// 1 or 2 if it is that event of the counterexample.
  int culpritOf(const ScheduledEvent &e, int launch) const {
    if (!refutation || e.kind == Kind::Barrier) return 0;
    auto is = [&](const Event &event) {
      if (event.what == Event::What::None || event.box == ir::kNone) return false;
      const SlotName &slot = expansion.slots[e.slot];
      return event.launch == launch && event.rank == e.rank && kindOf(event.what) == e.kind &&
             slot.box == event.box && slot.index == event.slot && slot.owner == event.owner;
    };
    return is(refutation->first) ? 1 : is(refutation->second) ? 2 : 0;
  }

  /// What the counterexample waits for without end has not happened.
  void addWaits() {
    // Iterations that wait before others send: what the canonical order has sent may not have been.
    if (expansion.branches) nodes.clear();
    for (const Event *e : {&refutation->first, &refutation->second}) {
      if (e->what == Event::What::None || e->box == ir::kNone) continue;
      Node n;
      n.launch = e->launch, n.rank = e->rank, n.kind = kindOf(e->what), n.where = e->where, n.red = true;
      n.note = "without end";
      const Event &other = e == &refutation->first ? refutation->second : refutation->first;
      if (other.what != Event::What::None) n.missing = other.rank;
      for (std::size_t s = 0; s < expansion.slots.size(); ++s) {
        const SlotName &slot = expansion.slots[s];
        if (slot.box == e->box && slot.index == e->slot && slot.owner == e->owner) n.slots.push_back(int(s));
      }
      nodes.push_back(std::move(n));
    }
  }

  /// Lanes go down, messages lead from their send to who takes them.
  void orderLanes() {
    std::vector<int> last(program.ranks, ir::kNone);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      Node &n = nodes[i];
      for (int r = 0; r < program.ranks; ++r) {
        if (n.kind != Kind::Barrier && r != n.rank) continue;
        if (last[r] != ir::kNone) n.before.push_back(last[r]);
        last[r] = int(i);
      }
      if (!receives(n.kind)) continue;
      for (int slot : n.slots)
        if (const int from = senderOf(int(i), slot); from != ir::kNone) n.before.push_back(from);
    }
  }

public:
  /// The node that sends what node `i` finds in a slot.
  int senderOf(int i, int slot) const {
    const Kind wanted = nodes[i].kind == Kind::Await ? Kind::Signal : Kind::Send;
    if (nodes[i].kind == Kind::Read || !nodes[i].note.empty()) return ir::kNone; // which takes none
    for (int at = i - 1; at >= 0; --at)
      if (nodes[at].kind == wanted && nodes[at].launch == nodes[i].launch && llvm::is_contained(nodes[at].slots, slot))
        return at;
    return ir::kNone;
  }
};

/// Graph to text.
class Drawing {
public:
  Drawing(const ir::Program &p, Graph &g, const Refutation *r) : program(p), graph(g), refutation(r) {}

  std::string run() {
    place();
    levels = 0;
    for (const Node &n : graph.nodes)
      if (n.drawn) levels = std::max(levels, n.level + 1);
    head();
    for (const Node &n : graph.nodes)
      if (n.drawn && n.kind == Kind::Barrier) barrier(n);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      if (graph.nodes[i].drawn && sends(graph.nodes[i].kind)) arrows(int(i));
    for (const Node &n : graph.nodes)
      if (n.drawn && n.kind != Kind::Barrier) node(n);
    os << "</svg>\n";
    return os.str();
  }

private:
  static constexpr int kLane = 260, kRow = 54, kLeft = 90, kTop = 74;
  const ir::Program &program;
  Graph &graph;
  const Refutation *refutation;
  int levels = 0;
  std::string svg;
  llvm::raw_string_ostream os{svg};

  int x(int rank) const { return kLeft + rank * kLane; }
  int y(int level) const { return kTop + level * kRow; }
  static const char *colour(bool red) { return red ? "#c8102e" : "#445"; }

  void mark(int i) {
    if (graph.nodes[i].drawn) return;
    graph.nodes[i].drawn = true;
    for (int b : graph.nodes[i].before) mark(b);
  }

  /// Everything that the two need, then the second, then the first: a schedule that nothing forbids.
  void place() {
    const bool race = graph.first != ir::kNone && graph.second != ir::kNone;
    if (race) mark(graph.first), mark(graph.second);
    else
      for (Node &n : graph.nodes) n.drawn = true;
    auto level = [&](int i) {
      int l = 0;
      for (int b : graph.nodes[i].before)
        if (graph.nodes[b].drawn) l = std::max(l, graph.nodes[b].level + (b != graph.first));
      return l + (graph.nodes[i].missing != ir::kNone);
    };
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      if (graph.nodes[i].drawn) graph.nodes[i].level = level(int(i));
    if (!race) return;
    Node &late = graph.nodes[graph.first], &early = graph.nodes[graph.second];
    late.level = std::max(level(graph.first), early.level + 2);
    const bool reads = early.kind == Kind::Read;
    early.note = reads ? "reads first" : "lands first";
    late.note = "too late";
  }

  void head() {
    const int width = x(program.ranks - 1) + kLane, height = y(levels) + 4;
    os << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << width << " " << height << "\" width=\"" << width
       << "\" height=\"" << height << "\" font-family=\"sans-serif\">\n<rect width=\"" << width << "\" height=\""
       << height << "\" fill=\"#fff\"/>\n<defs>" << arrowHead("to", "#99a") << arrowHead("bad", "#c8102e")
       << "</defs>\n";
    std::string title = program.member + ", N = " + std::to_string(program.ranks);
    if (refutation) title += ": " + name(refutation->kind).str();
    text(16, 22, title, refutation != nullptr, "start", 15);
    for (int r = 0; r < program.ranks; ++r) {
      text(x(r), 48, "rank " + std::to_string(r), false, "middle", 13);
      line(x(r), 56, x(r), height - 8, "#dde", "");
    }
  }

  static std::string arrowHead(const std::string &name, const std::string &colour) {
    return "<marker id=\"" + name + "\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" " +
           "orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"" + colour + "\"/></marker>";
  }
  void text(int atX, int atY, const std::string &words, bool red, const char *anchor, int size) {
    os << "<text x=\"" << atX << "\" y=\"" << atY << "\" text-anchor=\"" << anchor << "\" font-size=\"" << size
       << "\" fill=\"" << colour(red) << "\" stroke=\"#fff\" stroke-width=\"4\" paint-order=\"stroke\">" << words
       << "</text>\n";
  }
  void line(int x1, int y1, int x2, int y2, const char *stroke, const char *more) {
    os << "<line x1=\"" << x1 << "\" y1=\"" << y1 << "\" x2=\"" << x2 << "\" y2=\"" << y2 << "\" stroke=\"" << stroke
       << "\" stroke-width=\"1.5\"" << more << "/>\n";
  }

  static std::string launchText(int launch) { return launch ? "e+" + std::to_string(launch) : "e"; }

  void barrier(const Node &n) {
    line(x(0) - 30, y(n.level), x(program.ranks - 1) + 30, y(n.level), "#445", " stroke-dasharray=\"6 4\"");
    text(x(0) - 34, y(n.level) + 4, launchText(n.launch), false, "end", 12);
    text(x(0) + 10, y(n.level) + 16, "barrier", false, "start", 12);
  }

  /// To where it is taken, if that is drawn, else to the row below.
  void arrows(int i) {
    const Node &n = graph.nodes[i];
    for (int slot : n.slots) {
      int to = ir::kNone;
      for (std::size_t at = i + 1; at < graph.nodes.size() && to == ir::kNone; ++at) {
        const Node &taker = graph.nodes[at];
        if (taker.drawn && receives(taker.kind) && llvm::is_contained(taker.slots, slot) &&
            graph.senderOf(int(at), slot) == i)
          to = int(at);
      }
      const int rank = graph.owner(slot);
      if (rank == n.rank) continue;
      const int below = to != ir::kNone && !(n.red && graph.nodes[to].red) ? y(graph.nodes[to].level) : y(n.level) + kRow - 8;
      const int inwards = rank > n.rank ? -6 : 6;
      line(x(n.rank), y(n.level), x(rank) + inwards, below - 2, n.red ? "#c8102e" : "#99a",
           n.red ? " marker-end=\"url(#bad)\"" : " marker-end=\"url(#to)\"");
    }
  }

  /// `e+1: send box[2] to 0, 1, 3`, or `e: wait for box[0], box[1]`.
  std::string labelOf(const Node &n) const {
    std::string label = launchText(n.launch) + ": ";
    switch (n.kind) {
    case Kind::Send: label += "send "; break;
    case Kind::Signal: label += "announce "; break;
    case Kind::Poll:
    case Kind::Await: label += "wait for "; break;
    case Kind::Clear: label += "clear "; break;
    default: label += "read ";
    }
    const std::string one = graph.slotText(n.slots.front());
    label += one;
    if (sends(n.kind)) {
      label += " to";
      for (std::size_t i = 0; i < n.slots.size() && i < 6; ++i)
        label += (i ? ", " : " ") + std::to_string(graph.owner(n.slots[i]));
      if (n.slots.size() > 6) label += ", …";
    } else if (n.slots.size() > 1) {
      label += " … " + graph.slotText(n.slots.back());
    }
    return label;
  }

  void node(const Node &n) {
    os << "<circle cx=\"" << x(n.rank) << "\" cy=\"" << y(n.level) << "\" r=\"5\" fill=\""
       << (sends(n.kind) ? colour(n.red) : "#fff") << "\" stroke=\"" << colour(n.red) << "\" stroke-width=\"1.5\"/>\n";
    if (n.missing != ir::kNone)
      line(x(n.missing), y(n.level) - kRow + 6, x(n.rank) + (n.missing > n.rank ? 6 : -6), y(n.level) - 2, colour(true),
           " stroke-dasharray=\"4 4\" marker-end=\"url(#bad)\"");
    // Messages go down from a send and come from above to who takes them: there is no label between.
    text(x(n.rank) + 10, y(n.level) + (sends(n.kind) ? -6 : 16),
         labelOf(n) + (n.note.empty() ? "" : ": " + n.note), n.red, "start", 12);
  }
};

} // namespace

std::string drawDiagram(const ir::Program &program, const Verdict &verdict) {
  const Refutation *refutation = verdict.refutation ? &*verdict.refutation : nullptr;
  Graph graph(program, refutation);
  return graph.build() ? Drawing(program, graph, refutation).run() : std::string();
}

} // namespace coll::check
