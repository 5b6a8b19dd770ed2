// Visits an expression and all its parts, outermost first.
#pragma once

#include "ast/Ast.h"

namespace coll::sema {

/// `visit(const Expr &)` says whether to go on into the parts.
template <typename Visit>
void forEach(const ast::Expr &expr, Visit visit) {
  if (!visit(expr)) return;
  auto go = [&](const ast::ExprPtr &part) { forEach(*part, visit); };
  if (auto *member = std::get_if<ast::Member>(&expr.node)) go(member->base);
  if (auto *index = std::get_if<ast::Index>(&expr.node)) go(index->base), go(index->index);
  if (auto *call = std::get_if<ast::Call>(&expr.node))
    for (const ast::ExprPtr &arg : call->args) go(arg);
  if (auto *reduce = std::get_if<ast::Reduce>(&expr.node)) go(reduce->op), go(reduce->set), go(reduce->body);
  if (auto *unary = std::get_if<ast::Unary>(&expr.node)) go(unary->operand);
  if (auto *binary = std::get_if<ast::Binary>(&expr.node)) go(binary->lhs), go(binary->rhs);
  if (auto *cast = std::get_if<ast::Cast>(&expr.node)) go(cast->operand);
}

} // namespace coll::sema
