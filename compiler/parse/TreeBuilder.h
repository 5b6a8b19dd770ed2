// ANTLR's contexts to the syntax tree: one function for each rule that has a node.
#pragma once

#include "ast/Ast.h"

#include "CollParser.h"

namespace coll {

class TreeBuilder {
public:
  /// Spans in the tree are offsets in the file plus `base`.
  explicit TreeBuilder(std::uint32_t base) : base(base) {}

  /// Throws a SyntaxError for what the grammar lets through but the language does not have: another version, a number
  /// that does not fit.
  std::unique_ptr<ast::File> build(grammar::CollParser::FileContext *context);

private:
  using Parser = grammar::CollParser;

  SourceRange span(antlr4::ParserRuleContext *context) const;
  ast::Name name(antlr4::ParserRuleContext *context) const;
  ast::Name name(antlr4::Token *token) const;

  ast::Item item(Parser::ItemContext *context);
  std::unique_ptr<ast::Collective> collective(Parser::CollectiveContext *context);
  std::unique_ptr<ast::Algorithm> algorithm(Parser::AlgorithmContext *context);
  std::vector<ast::Generic> generics(Parser::GenericsContext *context);
  ast::Param param(Parser::ParamContext *context);
  ast::Ensures ensures(Parser::EnsuresContext *context);

  ast::Stmt statement(Parser::StatementContext *context);
  ast::Block block(Parser::BlockContext *context);
  ast::Block braces(Parser::BracesContext *context);
  ast::Mailbox mailbox(Parser::MailboxContext *context);
  ast::Window window(Parser::WindowContext *context);
  ast::ViewStmt view(Parser::ViewContext *context);
  ast::Let let(Parser::LetContext *context);
  ast::Forall forall(Parser::ForallContext *context);
  ast::If ifElse(Parser::IfElseContext *context);
  ast::Tune tune(Parser::TuneContext *context);
  void transfer(Parser::TransferContext *context, ast::Stmt &out);

  ast::ExprPtr expr(Parser::ExprContext *context);
  ast::ExprPtr nested(Parser::ExprContext *context);
  ast::ExprPtr optionalExpr(Parser::ExprContext *context) { return context ? expr(context) : nullptr; }
  ast::ExprPtr leaf(Parser::ExprContext *context);
  ast::ExprPtr reduce(Parser::ReduceContext *context);
  ast::ExprPtr call(Parser::ExprContext *context);
  std::uint64_t integer(antlr4::Token *token) const;
  double real(antlr4::Token *token) const;

  std::uint32_t base;
  unsigned depth = 0;
};

} // namespace coll
