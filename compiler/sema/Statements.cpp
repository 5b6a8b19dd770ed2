// Blocks, loops, conditions and `let`.
#include "sema/Context.h"
#include "sema/Walk.h"

namespace coll::sema {

using namespace ast;

namespace {

using Kind = Type::Kind;

void checkTopLevel(Context &context, Span where, std::string_view what) {
  if (context.blocks == 1) return;
  context.error(DiagnosticKind::Misplaced, where, "a " + std::string(what) + " belongs to the whole algorithm")
      .help("move it out of the block");
}

void checkLoopBody(Context &context, Variable &variable, Kind kind, std::optional<Loop> loop, Block &body) {
  context.scope.push();
  variable.type = makeType(kind);
  context.scope.declare(variable.name, &variable);
  if (loop) context.loops.push_back(*loop);
  checkBlock(context, body);
  if (loop) context.loops.pop_back();
  context.scope.pop();
}

void checkForall(Context &context, Forall &loop) {
  const Type &set = check(context, *loop.set);
  if (set.kind != Kind::Set && set.kind != Kind::Error)
    context.error(DiagnosticKind::TypeMismatch, loop.set->span,
                  "`forall` goes over `ranks`, not over " + describe(set));
  if (loop.from) checkIndex(context, *loop.from, "the start of a `forall`");
  checkLoopBody(context, loop.variable, Kind::Rank, Loop{&loop.variable, nullptr, nullptr}, loop.body);
}

void checkFor(Context &context, For &loop) {
  bool first = checkIndex(context, *loop.first, "the start of a range");
  bool last = checkIndex(context, *loop.last, "the end of a range");
  std::optional<Loop> known;
  if (first && last) known = Loop{&loop.variable, loop.first.get(), loop.last.get()};
  checkLoopBody(context, loop.variable, Kind::Int, known, loop.body);
}

/// The range of a pipeline: `0 .. chunks(v, SIZE)`, and nothing else.
void checkChunks(Context &context, Pipeline &loop) {
  auto *first = std::get_if<IntLit>(&loop.first->node);
  auto *call = std::get_if<Call>(&loop.last->node);
  loop.first->type = loop.last->type = makeType(Kind::Int);
  if (!first || first->value != 0 || !call || call->callee.text != "chunks" || call->args.size() != 2) {
    Span range{loop.first->span.begin, loop.last->span.end};
    context.error(DiagnosticKind::WrongArguments, range, "a pipeline goes over the chunks of a vector")
        .help("write `pipeline " + loop.variable.name.text + " in 0 .. chunks(v, 256Ki)`");
    return;
  }
  call->function = Function::Chunks;
  context.typeOnly = true;
  const Type vector = check(context, *call->args[0]);
  context.typeOnly = false;
  check(context, *call->args[1]);
  if (vector.kind != Kind::Error && (!vector.isValue() || vector.shape.empty()))
    context.error(DiagnosticKind::WrongArguments, call->args[0]->span,
                  "`chunks` takes a vector or matrix, not " + describe(vector));
  auto *size = std::get_if<IntLit>(&call->args[1]->node);
  if (!size || size->value == 0)
    context
        .error(DiagnosticKind::WrongArguments, call->args[1]->span, "the size of a chunk is a positive number of bytes")
        .help("as in `256Ki`");
  loop.vector = call->args[0].get();
  loop.chunkBytes = size ? size->value : 0;
}

void checkPipeline(Context &context, Pipeline &loop, Span where) {
  checkTopLevel(context, where, "pipeline");
  checkChunks(context, loop);
  if (context.algorithm->hasPipeline)
    context.error(DiagnosticKind::Misplaced, where, "a second `pipeline`")
        .help("a launch goes over its chunks once: write both bodies within one `pipeline`, or two algorithms");
  context.algorithm->hasPipeline = true;
  context.chunk = &loop.variable;
  checkLoopBody(context, loop.variable, Kind::Int, std::nullopt, loop.body);
  context.chunk = nullptr;
}

/// Which slots and peers take part must not depend on what is in a buffer: the checker proves it for all contents.
void checkNoData(Context &context, const Expr &condition) {
  bool reported = false;
  forEach(condition, [&](const Expr &part) {
    if (reported) return false;
    const NameRef *root = std::holds_alternative<Index>(part.node) ? rootOf(part) : nullptr;
    if (!root ||
        !(std::holds_alternative<const Param *>(root->ref) || std::holds_alternative<const Mailbox *>(root->ref)))
      return true;
    context
        .error(DiagnosticKind::Misplaced, part.span,
               "a condition cannot depend on the contents of `" + root->name + "`")
        .help("it may use `me`, `N`, scalar arguments and loop variables");
    reported = true;
    return false;
  });
}

void checkIf(Context &context, If &stmt) {
  const Type &condition = check(context, *stmt.condition);
  if (condition.kind != Kind::Bool && condition.kind != Kind::Error)
    context.error(DiagnosticKind::TypeMismatch, stmt.condition->span,
                  "the condition of an `if` is " + describe(condition));
  checkNoData(context, *stmt.condition);
  context.guards.push_back({stmt.condition.get(), true});
  checkBlock(context, stmt.then);
  context.guards.back().value = false;
  checkBlock(context, stmt.otherwise);
  context.guards.pop_back();
}

void checkViews(Context &context, ViewStmt &stmt) {
  for (View &view : stmt.views) {
    context.typeOnly = true;
    const Type type = check(context, *view.value);
    context.typeOnly = false;
    if (type.kind != Kind::Error && !argumentOf(*view.value))
      context.error(DiagnosticKind::TypeMismatch, view.value->span, "a view shows an argument or a part of one")
          .help("use `let` for a value");
    context.scope.declare(view.name, &view);
    context.algorithm->views.push_back(&view);
  }
}

void checkBarrier(Context &context, Span where) {
  context.barriers.push_back(where);
  if (std::none_of(context.loops.begin(), context.loops.end(), [](const Loop &loop) { return !loop.first; })) return;
  context.error(DiagnosticKind::Misplaced, where, "a `barrier` in a `forall`, whose iterations have no order")
      .help("write it before or behind the `forall`, or write `for`, whose iterations have one");
}

void checkStatement(Context &context, Stmt &stmt) {
  if (auto *mailbox = std::get_if<Mailbox>(&stmt.node)) {
    checkTopLevel(context, stmt.span, "mailbox");
    checkMailbox(context, *mailbox);
  } else if (auto *window = std::get_if<Window>(&stmt.node)) {
    checkTopLevel(context, stmt.span, "window");
    checkWindow(context, *window);
  } else if (auto *tune = std::get_if<Tune>(&stmt.node)) {
    checkTopLevel(context, stmt.span, "`tune`");
    checkTune(context, *tune, stmt.span);
  } else if (auto *view = std::get_if<ViewStmt>(&stmt.node))
    checkViews(context, *view);
  else if (auto *let = std::get_if<Let>(&stmt.node))
    checkLet(context, *let);
  else if (auto *assign = std::get_if<Assign>(&stmt.node))
    checkAssign(context, *assign);
  else if (auto *send = std::get_if<Send>(&stmt.node))
    checkSend(context, *send, stmt.span);
  else if (auto *await = std::get_if<Await>(&stmt.node))
    checkAwait(context, *await);
  else if (std::holds_alternative<Barrier>(stmt.node))
    checkBarrier(context, stmt.span);
  else if (auto *loop = std::get_if<Forall>(&stmt.node))
    checkForall(context, *loop);
  else if (auto *loop = std::get_if<For>(&stmt.node))
    checkFor(context, *loop);
  else if (auto *loop = std::get_if<Pipeline>(&stmt.node))
    checkPipeline(context, *loop, stmt.span);
  else
    checkIf(context, std::get<If>(stmt.node));
}

} // namespace

void checkBlock(Context &context, Block &block) {
  context.scope.push();
  ++context.blocks;
  for (Stmt &stmt : block) checkStatement(context, stmt);
  --context.blocks;
  context.scope.pop();
}

void checkLet(Context &context, Let &let) {
  let.type = check(context, *let.value);
  switch (let.type.kind) {
  case Kind::Set:
  case Kind::Op:
  case Kind::DType:
  case Kind::Scheme:
    context.error(DiagnosticKind::TypeMismatch, let.value->span, describe(let.type) + " is no value to keep");
    let.type = makeType(Kind::Error);
    break;
  default: break;
  }
  if (let.declaredType) {
    const Type declared = checkTypeExpr(context, *let.declaredType);
    if (declared.kind != Kind::Error) {
      checkStorable(context, *let.value, declared, "`" + let.name.text + "`");
      let.type = declared;
    }
  }
  context.scope.declare(let.name, &let);
}

} // namespace coll::sema
