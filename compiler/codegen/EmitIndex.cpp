#include "codegen/EmitIndex.h"

namespace coll::codegen {

using ir::Index;

namespace {

/// The constant that is added to a variable, if `index` is such a sum.
std::optional<std::int64_t> offsetOf(const Index &index) {
  if (index.kind() == Index::Kind::Variable) return 0;
  if (index.kind() != Index::Kind::Add || index.left().kind() != Index::Kind::Variable ||
      index.right().kind() != Index::Kind::Constant)
    return std::nullopt;
  return index.right().value();
}

std::string plain(const Index &index, int ranks) {
  auto infix = [&](const char *sign) {
    return "(" + plain(index.left(), ranks) + sign + plain(index.right(), ranks) + ")";
  };
  switch (index.kind()) {
  case Index::Kind::Constant: return std::to_string(index.value());
  case Index::Kind::Variable: return "int(" + index.name() + ")";
  case Index::Kind::Add: return infix(" + ");
  case Index::Kind::Sub: return infix(" - ");
  case Index::Kind::Mul: return infix(" * ");
  case Index::Kind::Div: return infix(" / ");
  case Index::Kind::Xor: return infix(" ^ ");
  case Index::Kind::Shl: return infix(" << ");
  case Index::Kind::Eq: return infix(" == ");
  case Index::Kind::Ne: return infix(" != ");
  case Index::Kind::Lt: return infix(" < ");
  case Index::Kind::Le: return infix(" <= ");
  case Index::Kind::And: return infix(" && ");
  case Index::Kind::Or: return infix(" || ");
  case Index::Kind::Mod: {
    const std::string n = plain(index.right(), ranks);
    return "((" + plain(index.left(), ranks) + " % " + n + " + " + n + ") % " + n + ")";
  }
  case Index::Kind::CeilDiv:
    return "((" + plain(index.left(), ranks) + " + " + plain(index.right(), ranks) + " - 1) / " +
           plain(index.right(), ranks) + ")";
  case Index::Kind::Min:
  case Index::Kind::Max: {
    const std::string a = plain(index.left(), ranks), b = plain(index.right(), ranks);
    return "(" + a + (index.kind() == Index::Kind::Min ? " < " : " > ") + b + " ? " + a + " : " + b + ")";
  }
  }
  return {};
}

} // namespace

std::string indexText(const Index &index, int ranks) {
  if (index.kind() == Index::Kind::Constant) return std::to_string(index.value());
  if (index.kind() == Index::Kind::Variable) return index.name();
  if (index.kind() == Index::Kind::Mod && index.right().isConstant(ranks))
    if (auto offset = offsetOf(index.left())) {
      const Index base = index.left().kind() == Index::Kind::Variable ? index.left() : index.left().left();
      const std::int64_t hop = ((*offset % ranks) + ranks) % ranks;
      return hop ? "coll::rankAt<N>(" + base.name() + ", " + std::to_string(hop) + ")" : base.name();
    }
  return "coll::u32(" + plain(index, ranks) + ")";
}

std::string hopText(const Index &peer, int ranks) {
  if (peer.isVariable("me")) return "0";
  if (peer.kind() == Index::Kind::Mod && peer.right().isConstant(ranks))
    if (auto offset = offsetOf(peer.left());
        offset && (peer.left().isVariable("me") ||
                   (peer.left().kind() == Index::Kind::Add && peer.left().left().isVariable("me"))))
      return std::to_string(((*offset % ranks) + ranks) % ranks);
  return "coll::hopTo<N>(me, " + indexText(peer, ranks) + ")";
}

std::string conditionText(const Index &condition, int ranks) {
  std::string text = plain(condition, ranks);
  if (text.size() > 1 && text.front() == '(' && text.back() == ')') text = text.substr(1, text.size() - 2);
  return text;
}

} // namespace coll::codegen
