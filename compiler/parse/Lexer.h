// The generated lexer, with `(` and `-` told apart by the token before: see the head of grammar/Coll.g4.
#pragma once

#include "CollLexer.h"

namespace coll {

class Lexer final : public grammar::CollLexer {
public:
  using CollLexer::CollLexer;

  std::unique_ptr<antlr4::Token> nextToken() override;

private:
  bool afterOperand = false, afterName = false, afterDot = false;
  std::size_t line = 0;
};

} // namespace coll
