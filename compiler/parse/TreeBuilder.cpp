// Declarations and statements; expressions are in TreeBuilderExpr.cpp.
#include "parse/TreeBuilder.h"

#include "parse/SyntaxError.h"

namespace coll {

using namespace ast;
using grammar::CollParser;

SourceRange TreeBuilder::span(antlr4::ParserRuleContext *context) const {
  return {base + rangeOf(context->getStart()).begin, base + rangeOf(context->getStop()).end};
}

Name TreeBuilder::name(antlr4::Token *token) const {
  SourceRange range = rangeOf(token);
  return {token->getText(), {base + range.begin, base + range.end}};
}

Name TreeBuilder::name(antlr4::ParserRuleContext *context) const {
  return name(context->getStart());
}

std::unique_ptr<File> TreeBuilder::build(CollParser::FileContext *context) {
  antlr4::Token *version = context->version()->INT()->getSymbol();
  if (version->getText() != "1")
    throw SyntaxError{DiagnosticKind::Version,
                      rangeOf(version),
                      "this is version " + version->getText() + " of the language; this compiler knows version 1",
                      {}};
  auto file = std::make_unique<File>();
  for (auto *each : context->item()) file->items.push_back(item(each));
  return file;
}

Item TreeBuilder::item(CollParser::ItemContext *context) {
  if (auto *use = context->use()) return std::make_unique<Use>(Use{name(use->name())});
  if (auto *decl = context->collective()) return collective(decl);
  if (auto *decl = context->algorithm()) return algorithm(decl);
  auto *decl = context->workspace();
  auto workspace = std::make_unique<Workspace>(Workspace{name(decl->name()), {}});
  for (auto *each : decl->memberName()) {
    Name member{{}, span(each)};
    for (auto *part : each->name()) member.text += (member.text.empty() ? "" : ".") + part->getText();
    workspace->members.push_back(std::move(member));
  }
  return workspace;
}

std::unique_ptr<Collective> TreeBuilder::collective(CollParser::CollectiveContext *context) {
  auto out = std::make_unique<Collective>();
  out->span = span(context);
  out->name = name(context->name());
  out->generics = generics(context->generics());
  for (auto *each : context->param()) out->params.push_back(param(each));
  if (context->inplace())
    for (auto *each : context->inplace()->inplacePair())
      out->inplace.push_back({expr(each->expr(0)), expr(each->expr(1)), span(each)});
  if (context->replicated())
    for (auto *each : context->replicated()->name()) out->replicated.push_back(name(each));
  for (auto *each : context->ensures()) out->ensures.push_back(ensures(each));
  return out;
}

std::vector<Generic> TreeBuilder::generics(CollParser::GenericsContext *context) {
  std::vector<Generic> out;
  if (!context) return out;
  for (auto *each : context->generic()) {
    Generic generic;
    generic.span = span(each);
    generic.name = name(each->name(0));
    generic.braces = each->nameSet() != nullptr;
    if (generic.braces)
      for (auto *element : each->nameSet()->name()) generic.set.push_back(name(element));
    else
      generic.set.push_back(name(each->name(1)));
    out.push_back(std::move(generic));
  }
  return out;
}

Param TreeBuilder::param(CollParser::ParamContext *context) {
  std::string direction = context->getStart()->getText();
  Param out;
  out.direction = direction == "in"    ? ParamDirection::In
                  : direction == "out" ? ParamDirection::Out
                                       : ParamDirection::InOut;
  out.name = name(context->name());
  out.typeExpr = expr(context->expr());
  return out;
}

Ensures TreeBuilder::ensures(CollParser::EnsuresContext *context) {
  Ensures out;
  out.span = span(context);
  for (auto *each : context->quantifier()) {
    out.variables.push_back({name(each->name()), {}});
    out.sets.push_back(expr(each->expr()));
  }
  out.condition = expr(context->expr());
  return out;
}

std::unique_ptr<Algorithm> TreeBuilder::algorithm(CollParser::AlgorithmContext *context) {
  auto out = std::make_unique<Algorithm>();
  out->span = span(context);
  out->name = name(context->name(0));
  out->collective = name(context->name(1));
  // The two lists look alike; what tells them apart is which side of the collective's name they are on.
  for (auto *each : context->generics()) {
    bool isRestriction = each->getStart()->getTokenIndex() > context->name(1)->getStart()->getTokenIndex();
    (isRestriction ? out->restriction : out->modes) = generics(each);
  }
  for (auto *each : context->team()->level())
    out->team.push_back({name(each->name()), expr(each->expr(0)), optionalExpr(each->expr(1))});
  if (context->when()) out->when = expr(context->when()->expr());
  if (context->order()) out->order = name(context->order()->name());
  out->outOfPlace = context->outOfPlace() != nullptr;
  out->body = braces(context->braces());
  return out;
}

Block TreeBuilder::braces(CollParser::BracesContext *context) {
  Block out;
  for (auto *each : context->statement()) out.push_back(statement(each));
  return out;
}

Block TreeBuilder::block(CollParser::BlockContext *context) {
  if (context->braces()) return braces(context->braces());
  Block out;
  out.push_back(statement(context->statement()));
  return out;
}

Stmt TreeBuilder::statement(CollParser::StatementContext *context) {
  Stmt out;
  out.span = span(context);
  if (auto *decl = context->mailbox())
    out.node = mailbox(decl);
  else if (auto *decl = context->window())
    out.node = window(decl);
  else if (auto *decl = context->view())
    out.node = view(decl);
  else if (auto *decl = context->let())
    out.node = let(decl);
  else if (auto *stmt = context->send()) {
    Send send;
    send.value = expr(stmt->expr(0));
    send.target = expr(stmt->expr(1));
    send.keywordForm = true;
    out.node = std::move(send);
  } else if (auto *stmt = context->transfer())
    transfer(stmt, out);
  else if (auto *stmt = context->await())
    out.node = Await{expr(stmt->expr())};
  else if (auto *stmt = context->barrier()) {
    std::string first = stmt->getStart()->getText();
    out.node = Barrier{first == "entry"  ? BarrierKind::Entry
                       : first == "exit" ? BarrierKind::Exit
                                         : BarrierKind::Plain};
  } else if (auto *stmt = context->forall())
    out.node = forall(stmt);
  else if (auto *stmt = context->forLoop())
    out.node = For{{name(stmt->name()), {}}, expr(stmt->expr(0)), expr(stmt->expr(1)), block(stmt->block())};
  else if (auto *stmt = context->pipeline())
    out.node = Pipeline{{name(stmt->name()), {}}, expr(stmt->expr(0)), expr(stmt->expr(1)), block(stmt->block())};
  else if (auto *stmt = context->ifElse())
    out.node = ifElse(stmt);
  else
    out.node = tune(context->tune());
  return out;
}

Mailbox TreeBuilder::mailbox(CollParser::MailboxContext *context) {
  Mailbox out;
  out.name = name(context->name(0));
  if (context->slots()) out.slots = expr(context->slots()->expr());
  out.element = expr(context->expr());
  out.counted = context->counted() != nullptr;
  out.sync = name(context->name(1));
  if (context->reuseRule()) out.reuse = name(context->reuseRule()->name());
  if (context->depthRule()) out.depth = expr(context->depthRule()->expr());
  return out;
}

Window TreeBuilder::window(CollParser::WindowContext *context) {
  Window out;
  out.param = name(context->name(0));
  if (context->name().size() > 1) out.sync = name(context->name(1));
  return out;
}

ViewStmt TreeBuilder::view(CollParser::ViewContext *context) {
  ViewStmt out;
  for (auto *each : context->viewItem()) out.views.push_back({name(each->name()), expr(each->expr())});
  return out;
}

Let TreeBuilder::let(CollParser::LetContext *context) {
  Let out;
  out.mutableVar = context->getStart()->getText() == "var";
  out.name = name(context->name());
  if (context->expr().size() > 1) out.declaredType = expr(context->expr(0));
  out.value = expr(context->expr().back());
  return out;
}

void TreeBuilder::transfer(CollParser::TransferContext *context, Stmt &out) {
  if (context->assign()) {
    out.node = Assign{expr(context->expr()), expr(context->assign()->expr())};
    return;
  }
  Send send;
  send.value = expr(context->expr());
  send.target = expr(context->arrow()->expr());
  send.add = context->arrow()->getStart()->getText() == "+>";
  out.node = std::move(send);
}

Forall TreeBuilder::forall(CollParser::ForallContext *context) {
  Forall out;
  out.variable.name = name(context->name());
  out.set = expr(context->expr(0));
  out.from = optionalExpr(context->expr(1));
  out.body = block(context->block());
  return out;
}

If TreeBuilder::ifElse(CollParser::IfElseContext *context) {
  If out;
  out.condition = expr(context->expr());
  out.then = block(context->block(0));
  if (auto *chained = context->ifElse()) {
    out.otherwise.push_back({span(chained), ifElse(chained)});
    out.hasElse = true;
  } else if (context->block().size() > 1) {
    out.otherwise = block(context->block(1));
    out.hasElse = true;
  }
  return out;
}

Tune TreeBuilder::tune(CollParser::TuneContext *context) {
  Tune out;
  for (auto *each : context->tuneAxis()) {
    TuneAxis axis{name(each->name()), {}, span(each)};
    for (auto *value : each->tuneValue()) axis.values.push_back(integer(value->getStart()));
    out.axes.push_back(std::move(axis));
  }
  return out;
}

} // namespace coll
