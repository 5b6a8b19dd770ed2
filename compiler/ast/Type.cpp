#include "ast/Type.h"

#include "ast/Ast.h"

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
  return kind == other.kind && number == other.number && name == other.name && op == other.op &&
         operands == other.operands;
}

std::string Extent::str() const {
  auto bracketed = [](const Extent &extent) {
    return extent.kind == Kind::Arith || extent.kind == Kind::Piece ? "(" + extent.str() + ")" : extent.str();
  };
  switch (kind) {
  case Kind::Number: return std::to_string(number);
  case Kind::Ranks: return "N";
  case Kind::Free: return name;
  case Kind::Piece: return bracketed(operands[0]) + "/" + bracketed(operands[1]);
  case Kind::Dynamic: return (operands[0].kind == Kind::Dynamic ? "" : "up to ") + operands[0].str();
  case Kind::Arith:
    if (op == 'l') return "log2(" + operands[0].str() + ")";
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
