#include "parse/Lexer.h"

#include "CollParser.h"

namespace coll {

std::unique_ptr<antlr4::Token> Lexer::nextToken() {
  std::unique_ptr<antlr4::Token> token = CollLexer::nextToken();
  std::string text = token->getText();
  bool sameLine = token->getLine() == line;
  if (text == "(" && afterName && sameLine)
    static_cast<antlr4::CommonToken &>(*token).setType(grammar::CollParser::CALL);
  if (text == "-" && !afterOperand) static_cast<antlr4::CommonToken &>(*token).setType(grammar::CollParser::NEGATE);

  std::size_t type = token->getType();
  // A keyword behind a dot is a name.
  afterName = type == ID || (afterDot && std::isalpha(static_cast<unsigned char>(text[0])));
  afterOperand = afterName || type == INT || type == SIZE || type == FLOAT || text == ")" || text == "]";
  afterDot = text == ".";
  line = token->getLine();
  return token;
}

} // namespace coll
