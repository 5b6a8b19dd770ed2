#include "check/Symbols.h"

namespace coll::check {

namespace {

std::size_t mix(std::size_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ull;
  return hash ^ (hash >> 29);
}

} // namespace

Symbols::Symbols(const ir::Program &program)
    : buffers(int(program.buffers.size())), firstOperation(1 + program.ranks * buffers), table(1024, 0) {}

void append(Content &content, Segment segment) {
  if (segment.begin >= segment.end) return;
  if (!content.empty()) {
    Segment &last = content.back();
    if (last.end == segment.begin && last.node == segment.node && last.shift == segment.shift) {
      last.end = segment.end;
      return;
    }
  }
  content.push_back(segment);
}

Segment Symbols::combine(ReduceOp op, const Segment &a, const Segment &b) {
  // a op b has the bits of b op a, for all operators and types: one node for both.
  if (std::tie(b.node, b.shift) < std::tie(a.node, a.shift)) return combine(op, b, a);
  return {a.begin, a.end, intern({op, a.node, b.node, b.shift - a.shift}), a.shift};
}

void Symbols::combine(ReduceOp op, const Content &a, const Content &b, Content &out) {
  out.clear();
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    Segment left = a[i], right = b[j];
    left.begin = right.begin = std::max(left.begin, right.begin);
    left.end = right.end = std::min(left.end, right.end);
    append(out, combine(op, left, right));
    i += a[i].end == left.end;
    j += b[j].end == left.end;
  }
}

void Symbols::anyOrder(Content &content, int number) {
  for (Segment &s : content) s.node = intern({ReduceOp::Sum, s.node, ir::kNone, number});
}

Node Symbols::intern(const Operation &o) {
  if (2 * operations.size() >= table.size()) grow();
  std::size_t at =
      mix(mix(mix(std::size_t(o.op), std::uint64_t(o.left)), std::uint64_t(o.right)), std::uint64_t(o.delta));
  for (at &= table.size() - 1; table[at]; at = (at + 1) & (table.size() - 1))
    if (operations[table[at] - firstOperation] == o) return table[at];
  operations.push_back(o);
  return table[at] = firstOperation + Node(operations.size()) - 1;
}

void Symbols::grow() {
  std::vector<Operation> all;
  all.swap(operations);
  table.assign(4 * table.size(), 0);
  for (const Operation &o : all) intern(o);
}

bool Symbols::leaves(Node node, std::int64_t at, std::optional<ReduceOp> op, std::vector<Leaf> &out) const {
  // Folds lean to the left, so the right operands wait on a stack instead of this calling itself.
  std::vector<std::pair<Node, std::int64_t>> todo{{node, at}};
  bool same = true;
  while (!todo.empty()) {
    auto [next, element] = todo.back();
    todo.pop_back();
    if (next == kUnwritten) {
      out.push_back({-1, ir::kNone, element});
    } else if (next < firstOperation) {
      out.push_back({(next - 1) / buffers, (next - 1) % buffers, element});
    } else {
      const Operation &o = operations[next - firstOperation];
      same &= op == o.op;
      if (o.right != ir::kNone) todo.emplace_back(o.right, element + o.delta);
      todo.emplace_back(o.left, element);
    }
  }
  return same;
}

} // namespace coll::check
