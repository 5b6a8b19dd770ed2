// The names that are visible at a place, and what they stand for.
#pragma once

#include "ast/Ast.h"

#include <map>

namespace coll::sema {

class Scope {
public:
  struct Entry {
    ast::Ref ref;
    ast::Span span; ///< where it is declared
  };

  /// The names of the language are known from the start, and cannot be declared.
  explicit Scope(DiagnosticEngine &diagnostics) : diagnostics(diagnostics) { push(); }

  void push() { levels.emplace_back(); }
  void pop() { levels.pop_back(); }

  /// Reports a name that is taken: nothing may hide anything.
  void declare(const ast::Name &name, ast::Ref ref);
  const Entry *find(std::string_view name) const;

  /// Reports an unknown name, with the visible name that looks most like it.
  void reportUnknown(std::string_view name, ast::Span span, std::string_view what = "name") const;

private:
  DiagnosticEngine &diagnostics;
  std::vector<std::map<std::string, Entry, std::less<>>> levels;
};

/// A name of the language itself, as an expression: `N`, `me`, `f32`, `sum`. Sets dtype or op where it names one.
std::optional<ast::Builtin> builtinNamed(std::string_view name, DType *dtype = nullptr, ReduceOp *op = nullptr);

/// The candidate that a misspelt name is probably meant to be; empty if none is near.
std::string nearest(std::string_view name, const std::vector<std::string> &candidates);

/// "`a`, `b` or `c`"
std::string listed(const std::vector<std::string> &names, std::string_view last = "or");

} // namespace coll::sema
