#include "parse/Parser.h"

#include "parse/Lexer.h"
#include "parse/Prescan.h"
#include "parse/SourceStream.h"
#include "parse/SyntaxError.h"
#include "parse/TreeBuilder.h"

namespace coll {

std::unique_ptr<ast::File> parse(const Sources::File &source, DiagnosticEngine &diagnostics) {
  if (!prescan(source, diagnostics)) return nullptr;

  SourceStream stream(source.text);
  Lexer lexer(&stream);
  lexer.removeErrorListeners();
  antlr4::CommonTokenStream tokens(&lexer);
  grammar::CollParser parser(&tokens);
  parser.removeErrorListeners();
  parser.setErrorHandler(std::make_shared<ErrorStrategy>());
  NestingGuard guard;
  parser.addParseListener(&guard);

  try {
    return TreeBuilder(source.base).build(parser.file());
  } catch (const SyntaxError &error) {
    SourceRange where{source.base + error.where.begin, source.base + error.where.end};
    diagnostics.error(error.kind, where, error.message).help(error.help);
    return nullptr;
  }
}

} // namespace coll
