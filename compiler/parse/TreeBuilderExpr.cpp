#include "parse/SyntaxError.h"
#include "parse/TreeBuilder.h"

#include <charconv>
#include <map>

namespace coll {

using namespace ast;
using grammar::CollParser;

namespace {

template <typename Node>
ExprPtr make(SourceRange span, Node node) {
  auto out = std::make_unique<Expr>();
  out->span = span;
  out->node = std::move(node);
  return out;
}

BinaryOp binaryOp(const std::string &text) {
  static const std::map<std::string, BinaryOp> ops = {
      {"*", BinaryOp::Mul}, {"/", BinaryOp::Div},  {"%", BinaryOp::Mod},   {"+", BinaryOp::Add},
      {"-", BinaryOp::Sub}, {"<<", BinaryOp::Shl}, {">>", BinaryOp::Shr},  {"^", BinaryOp::Xor},
      {"<", BinaryOp::Lt},  {"<=", BinaryOp::Le},  {">", BinaryOp::Gt},    {">=", BinaryOp::Ge},
      {"==", BinaryOp::Eq}, {"!=", BinaryOp::Ne},  {"and", BinaryOp::And}, {"or", BinaryOp::Or}};
  return ops.at(text);
}

antlr4::Token *tokenAt(CollParser::ExprContext *context, std::size_t child) {
  auto *terminal = dynamic_cast<antlr4::tree::TerminalNode *>(context->children[child]);
  return terminal ? terminal->getSymbol() : nullptr;
}

} // namespace

ExprPtr TreeBuilder::expr(CollParser::ExprContext *context) {
  // A chain such as `a + a + …` is a loop to the parser, but a tree as deep as the chain is long.
  if (++depth > maxTreeDepth) throw tooDeep(context->getStop());
  ExprPtr out = nested(context);
  --depth;
  return out;
}

ExprPtr TreeBuilder::nested(CollParser::ExprContext *context) {
  if (context->children.size() == 1) return leaf(context);
  SourceRange range = span(context);
  if (antlr4::Token *first = tokenAt(context, 0)) {
    if (first->getText() == "(") return expr(context->expr(0));
    auto op = first->getText() == "-" ? UnaryOp::Negate : UnaryOp::Not;
    return make(range, Unary{op, expr(context->expr(0))});
  }
  std::string op = tokenAt(context, 1)->getText();
  if (op == "(") return call(context);
  if (op == ".") return make(range, Member{expr(context->expr(0)), name(context->name()), {}});
  if (op == "[") return make(range, Index{expr(context->expr(0)), expr(context->expr(1))});
  if (op == "as") return make(range, Cast{expr(context->expr(0)), name(context->name()), {}});
  return make(range, Binary{binaryOp(op), expr(context->expr(0)), expr(context->expr(1))});
}

ExprPtr TreeBuilder::leaf(CollParser::ExprContext *context) {
  if (context->reduce()) return reduce(context->reduce());
  antlr4::Token *token = context->getStart();
  SourceRange range = span(context);
  switch (token->getType()) {
  case CollParser::ID: return make(range, NameRef{token->getText(), {}});
  case CollParser::FLOAT: return make(range, FloatLit{real(token), token->getText()});
  default: return make(range, IntLit{integer(token), token->getText()});
  }
}

ExprPtr TreeBuilder::reduce(CollParser::ReduceContext *context) {
  Reduce out;
  antlr4::Token *op = context->reduceOp()->getStart();
  Name opName = name(op);
  out.op = make(opName.span, NameRef{opName.text, {}});
  out.variable.name = name(context->name());
  out.set = expr(context->expr(0));
  out.body = expr(context->expr(1));
  return make(span(context), std::move(out));
}

ExprPtr TreeBuilder::call(CollParser::ExprContext *context) {
  std::vector<CollParser::ExprContext *> parts = context->expr();
  antlr4::Token *bracket = tokenAt(context, 1);
  ExprPtr callee = expr(parts[0]);
  auto *ref = std::get_if<NameRef>(&callee->node);
  if (!ref)
    throw SyntaxError{DiagnosticKind::Syntax, rangeOf(bracket), "only functions and operators can be called", {}};
  Call out;
  out.callee = {ref->name, callee->span};
  for (std::size_t i = 1; i < parts.size(); ++i) out.args.push_back(expr(parts[i]));
  return make(span(context), std::move(out));
}

std::uint64_t TreeBuilder::integer(antlr4::Token *token) const {
  std::string text = token->getText();
  constexpr std::uint64_t limit = INT64_MAX;
  std::uint64_t unit = text.ends_with("Ki")   ? std::uint64_t(1) << 10
                       : text.ends_with("Mi") ? std::uint64_t(1) << 20
                       : text.ends_with("Gi") ? std::uint64_t(1) << 30
                                              : 1;
  std::uint64_t value = 0;
  for (char c : text) {
    if (!std::isdigit(static_cast<unsigned char>(c))) break;
    unsigned digit = c - '0';
    if (value > (limit - digit) / 10)
      value = limit, unit = 2; // does not fit: fails below
    else
      value = value * 10 + digit;
  }
  if (value > limit / unit)
    throw SyntaxError{DiagnosticKind::LiteralOverflow,
                      rangeOf(token),
                      "this number does not fit 63 bits; the largest is " + std::to_string(limit),
                      {}};
  return value * unit;
}

double TreeBuilder::real(antlr4::Token *token) const {
  std::string text = token->getText();
  double value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc())
    throw SyntaxError{DiagnosticKind::LiteralOverflow, rangeOf(token), "this number does not fit `f64`", {}};
  return value;
}

} // namespace coll
