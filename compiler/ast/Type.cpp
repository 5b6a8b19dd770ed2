#include "ast/Type.h"

#include "ast/Ast.h"

#include <algorithm>

namespace coll::ast {

namespace {

constexpr std::string_view syncModes[] = {
#define COLL_SYNC(Enum, Keyword) Keyword,
#include "ast/SyncModes.def"
};

constexpr std::string_view reuseRules[] = {"double_buffer", "ack", "barrier"};

template <typename E, std::size_t count>
std::optional<E> find(const std::string_view (&keywords)[count], std::string_view keyword) {
  for (std::size_t i = 0; i < count; ++i)
    if (keywords[i] == keyword) return static_cast<E>(i);
  return std::nullopt;
}

} // namespace

std::string_view keyword(SyncMode mode) {
  return syncModes[static_cast<unsigned>(mode)];
}
std::optional<SyncMode> parseSyncMode(std::string_view keyword) {
  return find<SyncMode>(syncModes, keyword);
}
std::string_view keyword(ReuseRule rule) {
  return reuseRules[static_cast<unsigned>(rule)];
}
std::optional<ReuseRule> parseReuseRule(std::string_view keyword) {
  return find<ReuseRule>(reuseRules, keyword);
}

bool Extent::operator==(const Extent &other) const {
  if (kind == Kind::Arith && other.kind == Kind::Arith) return canonical() == other.canonical();
  return kind == other.kind && number == other.number && name == other.name && op == other.op &&
         operands == other.operands;
}

static std::string operandText(const Extent &extent) {
  return extent.kind == Extent::Kind::Arith && extent.op != 'l' ? "(" + extent.canonical() + ")" : extent.canonical();
}

/// The operands of a sum, or product, and of those that it is made of.
static void gather(const Extent &extent, char op, std::vector<std::string> &terms) {
  for (const Extent &operand : extent.operands)
    if (operand.kind == Extent::Kind::Arith && operand.op == op) gather(operand, op, terms);
    else terms.push_back(operandText(operand));
}

std::string Extent::canonical() const {
  if (kind != Kind::Arith) return str();
  if (op == 'l') return "log2(" + operands[0].canonical() + ")";
  if (op != '+' && op != '*') return operandText(operands[0]) + op + operandText(operands[1]);
  std::vector<std::string> terms;
  gather(*this, op, terms);
  const auto place = [](const std::string &term) { return term == "N" ? 0 : term[0] >= '0' && term[0] <= '9' ? 1 : 2; };
  std::sort(terms.begin(), terms.end(), [&](const std::string &a, const std::string &b) {
    return std::pair(place(a), std::string_view(a)) < std::pair(place(b), std::string_view(b));
  });
  std::string text = terms.front();
  for (std::size_t i = 1; i < terms.size(); ++i) text += op + terms[i];
  return text;
}

std::string Extent::str() const {
  auto bracketed = [](const Extent &extent) {
    return (extent.kind == Kind::Arith && extent.op != 'l') || extent.kind == Kind::Piece ? "(" + extent.str() + ")" : extent.str();
  };
  switch (kind) {
  case Kind::Number: return std::to_string(number);
  case Kind::Ranks: return "N";
  case Kind::Free: return name;
  case Kind::Piece: return bracketed(operands[0]) + "/" + bracketed(operands[1]);
  case Kind::Dynamic: return (operands[0].kind == Kind::Dynamic ? "" : "up to ") + operands[0].str();
  case Kind::Arith:
    if (op == 'l') return "log2(" + operands[0].str() + ")";
    if (const Extent &a = operands[0]; a.kind == Kind::Arith && (a.op == op || (op == '-' && a.op == '+')) && op != '/')
      return a.str() + op + bracketed(operands[1]);
    return bracketed(operands[0]) + op + bracketed(operands[1]);
  }
  return "";
}

std::string str(const Element &element) {
  std::string base = element.param ? element.param->name.text : std::string(coll::keyword(*element.dtype));
  if (!element.accumulator || (element.dtype && accumulatorOf(*element.dtype) == *element.dtype)) return base;
  return element.dtype ? std::string(coll::keyword(accumulatorOf(*element.dtype))) : "accumulated " + base;
}

std::string str(const Type &type) {
  switch (type.kind) {
  case Type::Kind::Error: return "unknown";
  case Type::Kind::Bool: return "condition";
  case Type::Kind::Int: return "integer";
  case Type::Kind::Rank: return "rank";
  case Type::Kind::Set: return "set of ranks";
  case Type::Kind::Op: return "operator";
  case Type::Kind::Float: return "number";
  case Type::Kind::Scheme: return "quantisation scheme";
  case Type::Kind::Mailbox: return "mailbox";
  case Type::Kind::DType: return "element type";
  case Type::Kind::Value: break;
  }
  std::string out = str(type.element);
  for (const Extent &extent : type.shape) out += "[" + extent.str() + "]";
  return out;
}

DType accumulatorOf(DType type) {
  return isFloat(type) && sizeOf(type) < 4 ? DType::F32 : type;
}

} // namespace coll::ast
