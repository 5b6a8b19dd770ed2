#include "check/Symbols.h"

#include "ast/Type.h"

#include "llvm/Support/FormatVariadic.h"

#include <bit>

namespace coll::check {

namespace {

std::size_t mix(std::size_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ull;
  return hash ^ (hash >> 29);
}

} // namespace

Symbols::Symbols(const ir::Program &program)
    : program(program), buffers(int(program.buffers.size())), firstOperation(1 + program.ranks * buffers), table(1024, 0) {}

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

const Symbols::Operation *Symbols::prefixOf(Node node, int code) const {
  const Operation *o = operation(node);
  if (!o || !isPrefix(o->op)) return nullptr;
  return code < kRows || o->op == kPrefixRows ? o : nullptr; // whole rows are as good for what goes by rows
}

Segment Symbols::combine(ReduceOp op, const Segment &a, const Segment &b) {
  // a op b has the bits of b op a, for all operators and types: one node for both.
  return std::tie(b.node, b.shift) < std::tie(a.node, a.shift) ? pair(int(op), b, a) : pair(int(op), a, b);
}

/// What is made of two, over the elements of `a`.
Segment Symbols::pair(int code, Segment a, Segment b) {
  const Operation *x = prefixOf(a.node, code), *y = prefixOf(b.node, code);
  if (const Operation *has = x ? x : y; has && (!x || !y || (x->op == y->op && x->right == y->right && x->delta == y->delta))) {
    const Operation prefix = *has;
    if (x) a.node = x->left;
    if (y) b.node = y->left;
    Segment of = code < kMaps ? combine(ReduceOp(code), a, b) : pair(code, a, b);
    of.node = intern({prefix.op, of.node, prefix.right, prefix.delta});
    return of;
  }
  const bool leftHas = !hasNoPlace(a.node), rightHas = !hasNoPlace(b.node);
  const std::int64_t delta = leftHas && rightHas ? b.shift - a.shift : 0;
  return {a.begin, a.end, intern({code, a.node, b.node, delta}), leftHas ? a.shift : rightHas ? b.shift : 0};
}

/// What `both` makes of the segments of two vectors of the same elements.
template <class Both>
static void eachPair(const Content &a, const Content &b, Content &out, const Both &both) {
  out.clear();
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    Segment left = a[i], right = b[j];
    left.begin = right.begin = std::max(left.begin, right.begin);
    left.end = right.end = std::min(left.end, right.end);
    append(out, both(left, right));
    i += a[i].end == left.end;
    j += b[j].end == left.end;
  }
}

void Symbols::combine(ReduceOp op, const Content &a, const Content &b, Content &out) {
  eachPair(a, b, out, [&](const Segment &left, const Segment &right) { return combine(op, left, right); });
}

void Symbols::fold(ReduceOp op, const Content &a, const Content &b, Content &out) {
  eachPair(a, b, out, [&](const Segment &left, const Segment &right) { return fold(op, left, right); });
}

void Symbols::anyOrder(Content &content, ReduceOp op, int number) {
  for (Segment &s : content) s.node = intern({int(op), s.node, ir::kNone, number});
}

Node Symbols::intern(const Operation &o) {
  if (2 * operations.size() >= table.size()) grow();
  std::size_t at =
      mix(mix(mix(std::size_t(o.op), std::uint64_t(o.left)), std::uint64_t(o.right)), std::uint64_t(o.delta));
  for (at &= table.size() - 1; table[at]; at = (at + 1) & (table.size() - 1))
    if (operations[table[at] - firstOperation] == o) return table[at];
  operations.push_back(o);
  everywhereToo.push_back(isNumber(o)), placeless.push_back(isPlaceless(o));
  return table[at] = firstOperation + Node(operations.size()) - 1;
}

void Symbols::grow() {
  std::vector<Operation> all;
  all.swap(operations);
  everywhereToo.clear(), placeless.clear();
  table.assign(4 * table.size(), 0);
  for (const Operation &o : all) intern(o);
}

Segment Symbols::apply(int code, const Segment &of, std::int64_t detail) {
  if (const Operation *has = prefixOf(of.node, code)) {
    const Operation prefix = *has;
    Segment made = apply(code, {of.begin, of.end, prefix.left, of.shift}, detail);
    made.node = intern({prefix.op, made.node, prefix.right, prefix.delta});
    return made;
  }
  return {of.begin, of.end, intern({code, of.node, ir::kNone, detail}), of.shift};
}

void Symbols::apply(int code, const Content &of, Content &out, std::int64_t detail) {
  out.clear();
  for (const Segment &s : of) append(out, apply(code, s, detail));
}

Segment Symbols::ofRows(Node node, std::int64_t shift) {
  if (const Operation *has = prefixOf(node, kOfRow)) {
    const Operation prefix = *has;
    Segment of = ofRows(prefix.left, shift);
    of.node = intern({prefix.op, of.node, prefix.right, prefix.delta});
    return of;
  }
  if (const Operation *o = operation(node); o && o->op == kSpread && shift == 0) return {0, 0, o->left, o->delta};
  if (isEverywhere(node)) return {0, 0, node, 0};
  if (!isOfRows(node)) return {0, 0, intern({kOfRow, node, ir::kNone, shift}), 0};
  if (const auto known = numbersOf.find({node, shift}); known != numbersOf.end()) return known->second;
  const Operation o = *operation(node);
  const Segment left = ofRows(o.left, shift);
  const Segment of = o.right == ir::kNone ? apply(o.op, left, o.delta)
                     : o.op < kMaps       ? combine(ReduceOp(o.op), left, ofRows(o.right, shift + o.delta))
                                          : pair(o.op, left, ofRows(o.right, shift + o.delta));
  return numbersOf[{node, shift}] = of;
}

Segment Symbols::alongRows(Node column, std::int64_t shift) {
  const Operation *o = operation(column);
  if (o && o->op == kOfRow && shift == 0) return {0, 0, o->left, o->delta};
  if (isEverywhere(column)) return {0, 0, column, 0};
  const bool maps = o && o->left != ir::kNone && (o->op < kMaps ? o->right != ir::kNone : o->op < kRows);
  if (!maps) return apply(kSpread, {0, 0, column, 0}, shift);
  if (const auto known = spread.find({column, shift}); known != spread.end()) return known->second;
  const Operation of = *o;
  const Segment left = alongRows(of.left, shift);
  const Segment made = of.right == ir::kNone ? apply(of.op, left, of.delta)
                       : of.op < kMaps       ? combine(ReduceOp(of.op), left, alongRows(of.right, shift + of.delta))
                                             : pair(of.op, left, alongRows(of.right, shift + of.delta));
  return spread[{column, shift}] = made;
}

/// Whether a node is computed of numbers of rows, element by element: then the numbers are computed so.
bool Symbols::isOfRows(Node node) {
  const Operation *o = operation(node);
  if (!o) return false;
  const bool maps = o->op < kRows || (o->op >= kFolds && o->op < kConstant);
  if (!maps || o->left == ir::kNone || (o->op < kMaps && o->right == ir::kNone)) return false;
  if (const auto known = ofRowsToo.find(node); known != ofRowsToo.end()) return known->second;
  const auto isNumber = [&](Node n) {
    const Operation *of = operation(n);
    return of && (of->op == kSpread || (of->op >= kRows && of->op < kPrefix && of->delta == 0) || isEverywhere(n) || isOfRows(n));
  };
  const bool is = isNumber(o->left) && (o->right == ir::kNone || isNumber(o->right));
  return ofRowsToo[node] = is;
}

Content Symbols::prefix(const Content &of, Node counts, std::int64_t element, bool rows) {
  Content out;
  for (const Segment &s : of) append(out, {s.begin, s.end, intern({rows ? kPrefixRows : kPrefix, s.node, counts, element}), s.shift});
  return out;
}

std::optional<Segment> Symbols::countOf(Node node) const {
  if (node < firstOperation || !isPrefix(operations[node - firstOperation].op)) return std::nullopt;
  const Operation &o = operations[node - firstOperation];
  return Segment{0, 1, o.right, o.delta};
}

Content Symbols::everywhere(Code code, std::int64_t detail) {
  return {{0, UINT64_MAX, intern({code, ir::kNone, ir::kNone, detail}), 0}};
}

void Symbols::mean(const Content &sum, Content &out) {
  const Content share = everywhere(kConstant, std::bit_cast<std::int64_t>(1.0 / program.ranks));
  combine(ReduceOp::Prod, sum, share, out);
}

Node Symbols::sumOf(Node node, std::int64_t &at) const {
  const Operation *product = operation(unrounded(node));
  if (!product || product->op != int(ReduceOp::Prod)) return ir::kNone;
  const auto isShare = [&](Node n) {
    const Operation *number = operation(n);
    return number && number->op == kConstant && std::bit_cast<double>(number->delta) == 1.0 / program.ranks;
  };
  if (isShare(product->right)) return product->left;
  if (!isShare(product->left)) return ir::kNone;
  at += product->delta;
  return product->right;
}

bool Symbols::isNumber(const Operation &o) const {
  if (o.op >= kConstant) return true;
  if (isPrefix(o.op) || o.left == ir::kNone) return false;
  return isEverywhere(o.left) && (o.right == ir::kNone || isEverywhere(o.right));
}

bool Symbols::isPlaceless(const Operation &o) const {
  if (o.op >= kConstant || o.op == kEveryRow) return true;
  if (isPrefix(o.op) || o.left == ir::kNone) return false;
  return hasNoPlace(o.left) && (o.right == ir::kNone || hasNoPlace(o.right));
}

bool Symbols::isA(Node node, DType type) const {
  if (node == kUnwritten) return false;
  if (node < firstOperation) return program.buffers[(node - 1) % buffers].dtype == type;
  const Operation &o = operations[node - firstOperation];
  return o.op == kConverts + int(type) || ((o.op == kEveryRow || o.op == kSpread || isPrefix(o.op)) && isA(o.left, type));
}

void Symbols::map(ir::Function function, const Content &a, const Content *b, DType from, DType type, Content &out) {
  using ir::Function;
  out.clear();
  if (function == Function::Convert) {
    const bool isOne = from == type || (type == DType::F32 && ast::accumulatorOf(from) == type); // narrow floats are f32
    for (const Segment &s : a) append(out, isOne || isA(s.node, type) ? s : apply(kConverts + int(type), s));
    return;
  }
  if (function == Function::Truncate) return apply(kMaps + int(function), a, out, int(type));
  if (!b) return apply(kMaps + int(function), a, out);
  switch (function) {
  case Function::Add: return combine(ReduceOp::Sum, a, *b, out);
  case Function::Mul: return combine(ReduceOp::Prod, a, *b, out);
  case Function::Min: return combine(ReduceOp::Min, a, *b, out);
  case Function::Max: return combine(ReduceOp::Max, a, *b, out);
  default: break;
  }
  eachPair(a, *b, out, [&](const Segment &x, const Segment &y) { return pair(kMaps + int(function), x, y); });
}

std::string Symbols::text(Node node, std::int64_t at, unsigned depth) const {
  if (node == kUnwritten) return "nothing";
  if (node < firstOperation)
    return program.buffers[(node - 1) % buffers].name + " of rank " + std::to_string((node - 1) / buffers);
  const Operation &o = operations[node - firstOperation];
  if (o.op == kConstant) return llvm::formatv("{0}", std::bit_cast<double>(o.delta)).str();
  if (o.op == kWhole) return std::to_string(o.delta);
  if (o.op == kArgument) return program.scalars[std::size_t(o.delta)].name;
  if (depth == 0) return "…";
  const std::string left = text(o.left, at, depth - 1);
  if (o.op == kEveryRow || o.op == kSpread) return left;
  if (isPrefix(o.op)) // the right side is an input
    return left + (o.op == kPrefix ? " as far as " : " as many rows as ") + program.buffers[(o.right - 1) % buffers].name + "[" + std::to_string(o.delta) +
           "] of rank " + std::to_string((o.right - 1) / buffers) + " says";
  if (o.op == kOfRow) return "that of a row of " + left;
  if (o.op >= kFolds)
    return std::string(keyword(ReduceOp(o.op - kFolds))) + "(" + left + ", " + text(o.right, at + o.delta, depth - 1) + ")";
  if (o.op >= kRows) return ir::keyword(ir::RowOp(o.op - kRows)).str() + "(" + left + ")";
  if (o.op >= kConverts) return "(" + left + " as " + std::string(keyword(DType(o.op - kConverts))) + ")";
  if (o.op == kMaps + int(ir::Function::Truncate)) return "(" + left + " as " + std::string(keyword(DType(o.delta))) + ")";
  const std::string name = o.op >= kMaps ? ir::keyword(ir::Function(o.op - kMaps)).str() : std::string(keyword(ReduceOp(o.op)));
  if (o.right == ir::kNone) return name + "(" + left + ")";
  return name + "(" + left + ", " + text(o.right, at + o.delta, depth - 1) + ")";
}

void Symbols::descend(Node &a, std::int64_t &atA, Node &b, std::int64_t &atB) const {
  while (a >= firstOperation && b >= firstOperation) {
    const Operation &x = operations[a - firstOperation], &y = operations[b - firstOperation];
    const bool two = x.right != ir::kNone;
    if (x.op != y.op || x.op >= kConstant || isPrefix(x.op) || (!two && x.delta != y.delta)) return;
    const bool left = x.left == y.left && atA == atB, right = x.right == y.right && atA + x.delta == atB + y.delta;
    if (!left && (!two || right)) {
      a = x.left, b = y.left;
    } else if (two && left && !right) {
      atA += x.delta, atB += y.delta;
      a = x.right, b = y.right;
    } else {
      return;
    }
  }
}

Node Symbols::unrounded(Node node) const {
  if (node < firstOperation || !isFloat(program.dtype) || sizeOf(program.dtype) >= 4) return node;
  const Operation &o = operations[node - firstOperation];
  return o.op == kConverts + int(program.dtype) ? o.left : node;
}

Segment Symbols::withoutRoundings(const Segment &segment) {
  std::map<Node, Segment> done;
  const Segment from0 = exact(segment.node, done);
  return {segment.begin, segment.end, from0.node, from0.shift + segment.shift};
}

/// Of a node from element 0 on. Operands may be shared, and so are looked at once.
Segment Symbols::exact(Node node, std::map<Node, Segment> &done) {
  if (node < firstOperation) return {0, 1, node, 0};
  if (const auto it = done.find(node); it != done.end()) return it->second;
  if (const Node inner = unrounded(node); inner != node) return done[node] = exact(inner, done);
  const Operation o = operations[node - firstOperation];
  Segment out{0, 1, node, 0};
  if (o.left != ir::kNone) {
    const Segment left = exact(o.left, done);
    if (o.right == ir::kNone || isPrefix(o.op)) {
      out = {0, 1, intern({o.op, left.node, o.right, o.delta}), left.shift};
    } else {
      Segment right = exact(o.right, done);
      right.shift += o.delta;
      out = o.op < kMaps ? combine(ReduceOp(o.op), left, right) : pair(o.op, left, right);
    }
  }
  return done[node] = out;
}

bool Symbols::leaves(Node node, std::int64_t at, std::optional<ReduceOp> op, std::size_t most,
                     std::vector<Leaf> &out) const {
  // Folds lean to the left, so the right operands wait on a stack instead of this calling itself.
  bool same = true;
  if (op == ReduceOp::Avg) {
    const Node sum = sumOf(node, at);
    same = sum != ir::kNone, op = ReduceOp::Sum;
    if (same) node = sum;
  }
  std::vector<std::pair<Node, std::int64_t>> todo{{node, at}};
  while (!todo.empty() && out.size() < most) {
    auto [next, element] = todo.back();
    todo.pop_back();
    if (next == kUnwritten) {
      out.push_back({-1, ir::kNone, element});
    } else if (next < firstOperation) {
      out.push_back({(next - 1) / buffers, (next - 1) % buffers, element});
    } else {
      if (const Node rounded = unrounded(next); rounded != next) { // as each hop does
        todo.emplace_back(rounded, element);
        continue;
      }
      const Operation &o = operations[next - firstOperation];
      same &= op && int(*op) == o.op;
      if (o.right != ir::kNone) todo.emplace_back(o.right, element + o.delta);
      if (o.left != ir::kNone) todo.emplace_back(o.left, element);
    }
  }
  return same;
}

} // namespace coll::check
