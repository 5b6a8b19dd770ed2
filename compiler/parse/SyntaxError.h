// How a text that does not fit the grammar is reported: in terms of the construct being written, not of token sets.
#pragma once

#include "parse/Parser.h"

#include <antlr4-runtime.h>

namespace coll {

/// Ends a parse. Thrown by ErrorStrategy, NestingGuard and the tree builder; caught in parse().
struct SyntaxError {
  DiagnosticKind kind;
  SourceRange where; ///< within the file, without its base
  std::string message, help;
};

/// A bracket or an operator is one level deep, a block four.
inline constexpr unsigned maxTreeDepth = 4 * maxNesting;
SyntaxError tooDeep(antlr4::Token *token);

/// The place of a token within its file.
SourceRange rangeOf(antlr4::Token *token);

/// Throws a SyntaxError at the first token that does not fit; never recovers.
class ErrorStrategy final : public antlr4::DefaultErrorStrategy {
public:
  void reportError(antlr4::Parser *parser, const antlr4::RecognitionException &error) override;
  antlr4::Token *recoverInline(antlr4::Parser *parser) override;
  void sync(antlr4::Parser *) override {}
};

/// Throws before the parser's recursion, or later that of a walk over the tree, gets too deep for the stack.
class NestingGuard final : public antlr4::tree::ParseTreeListener {
public:
  void enterEveryRule(antlr4::ParserRuleContext *context) override;
  void exitEveryRule(antlr4::ParserRuleContext *) override { --depth; }
  void visitTerminal(antlr4::tree::TerminalNode *) override {}
  void visitErrorNode(antlr4::tree::ErrorNode *) override {}

private:
  unsigned depth = 0;
};

} // namespace coll
