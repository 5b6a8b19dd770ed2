// Text to syntax tree. Nothing of ANTLR shows here.
#pragma once

#include "ast/Ast.h"

namespace coll {

/// The longest text that is accepted, and how deep brackets and blocks may nest.
inline constexpr std::size_t maxSourceBytes = 1 << 20;
inline constexpr unsigned maxNesting = 200;

/// Null after an error; there is then exactly one in `diagnostics`, the first.
std::unique_ptr<ast::File> parse(const Sources::File &source, DiagnosticEngine &diagnostics);

} // namespace coll
