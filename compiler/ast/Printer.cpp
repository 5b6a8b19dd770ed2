#include "ast/Ast.h"

namespace coll::ast {

namespace {

template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <typename... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

// How tightly each kind of expression binds, as in the grammar; operands that bind less get brackets.
constexpr int orLevel = 1, andLevel = 2, notLevel = 3, compareLevel = 4, xorLevel = 5, shiftLevel = 6, addLevel = 7,
              mulLevel = 8, castLevel = 9, negateLevel = 10, postfixLevel = 11;

int level(BinaryOp op) {
  switch (op) {
  case BinaryOp::Mul:
  case BinaryOp::Div:
  case BinaryOp::Mod: return mulLevel;
  case BinaryOp::Add:
  case BinaryOp::Sub: return addLevel;
  case BinaryOp::Shl:
  case BinaryOp::Shr: return shiftLevel;
  case BinaryOp::Xor: return xorLevel;
  case BinaryOp::Lt:
  case BinaryOp::Le:
  case BinaryOp::Gt:
  case BinaryOp::Ge:
  case BinaryOp::Eq:
  case BinaryOp::Ne: return compareLevel;
  case BinaryOp::And: return andLevel;
  case BinaryOp::Or: return orLevel;
  }
  return 0;
}

int level(const Expr &expr) {
  if (auto *binary = std::get_if<Binary>(&expr.node)) return level(binary->op);
  if (auto *unary = std::get_if<Unary>(&expr.node)) return unary->op == UnaryOp::Not ? notLevel : negateLevel;
  if (std::holds_alternative<Cast>(expr.node)) return castLevel;
  return postfixLevel;
}

class Printer {
public:
  std::string out;

  void print(const File &file) {
    out += "coll 1\n";
    for (const Item &item : file.items) {
      out += "\n";
      std::visit([&](const auto &decl) { print(*decl); }, item);
    }
  }

  void print(const Stmt &stmt) {
    std::visit([&](const auto &node) { print(node); }, stmt.node);
  }

  void print(const Expr &expr) {
    std::visit([&](const auto &node) { print(node); }, expr.node);
  }

private:
  // ---- Declarations ----

  void print(const Use &use) { out += "use " + use.collective.text + "\n"; }

  void print(const Workspace &workspace) {
    out += "workspace " + workspace.name.text + " { ";
    list(workspace.members, [&](const Name &member) { out += member.text; });
    out += " }\n";
  }

  void print(const Collective &decl) {
    out += "collective " + decl.name.text;
    print(decl.generics);
    out += "(";
    list(decl.params, [&](const Param &param) {
      out += param.direction == ParamDirection::In ? "in " : param.direction == ParamDirection::Out ? "out " : "inout ";
      out += param.name.text + ": ";
      print(*param.typeExpr);
    });
    out += ")";
    if (!decl.inplace.empty()) {
      out += " inplace(";
      list(decl.inplace, [&](const InPlace &pair) { infix(*pair.lhs, " = ", *pair.rhs); });
      out += ")";
    }
    if (!decl.replicated.empty()) {
      out += " replicated(";
      list(decl.replicated, [&](const Name &name) { out += name.text; });
      out += ")";
    }
    out += "\n";
    for (const Ensures &ensures : decl.ensures) print(ensures);
  }

  void print(const Ensures &ensures) {
    out += "  ensures ";
    for (std::size_t i = 0; i < ensures.variables.size(); ++i) {
      out += "forall " + ensures.variables[i].name.text + " in ";
      print(*ensures.sets[i]);
      out += ": ";
    }
    print(*ensures.condition);
    out += "\n";
  }

  void print(const std::vector<Generic> &generics) {
    if (generics.empty()) return;
    out += "<";
    list(generics, [&](const Generic &generic) {
      out += generic.name.text + " in ";
      if (generic.braces) out += "{";
      list(generic.set, [&](const Name &element) { out += element.text; });
      if (generic.braces) out += "}";
    });
    out += ">";
  }

  void print(const Algorithm &decl) {
    out += "algorithm " + decl.name.text;
    print(decl.modes);
    out += " for " + decl.collective.text;
    print(decl.restriction);
    out += " on ";
    for (const TeamLevel &team : decl.team) {
      if (&team != &decl.team.front()) out += " * ";
      out += team.kind.text + "(";
      print(*team.first);
      if (team.last) out += "..", print(*team.last);
      out += ")";
    }
    if (decl.when) out += " when ", print(*decl.when);
    if (decl.order) out += " order " + decl.order->text;
    if (decl.outOfPlace) out += " outofplace";
    out += " ";
    print(decl.body);
    out += "\n";
  }

  // ---- Statements ----

  void print(const Block &block) {
    out += "{\n";
    indent += 2;
    for (const Stmt &stmt : block) {
      out.append(indent, ' ');
      print(stmt);
      out += "\n";
    }
    indent -= 2;
    out.append(indent, ' ') += "}";
  }

  void print(const Mailbox &box) {
    out += "mailbox " + box.name.text;
    if (box.slots) out += "[", print(*box.slots), out += "]";
    out += " of ";
    print(*box.element);
    if (box.counted) out += " counted";
    out += " sync " + box.sync.text;
    if (box.reuse) out += " reuse " + box.reuse->text;
    if (box.depth) out += " depth ", print(*box.depth);
  }

  void print(const Window &window) {
    out += "window " + window.param.text;
    if (window.sync) out += " sync " + window.sync->text;
  }

  void print(const ViewStmt &stmt) {
    out += "view ";
    list(stmt.views, [&](const View &view) {
      out += view.name.text + " = ";
      print(*view.value);
    });
  }

  void print(const Let &let) {
    out += (let.mutableVar ? "var " : "let ") + let.name.text;
    if (let.declaredType) out += ": ", print(*let.declaredType);
    out += " = ";
    print(*let.value);
  }

  void print(const Assign &assign) { infix(*assign.target, " = ", *assign.value); }

  void print(const Send &send) {
    // A line that begins with `(` or `-` would go on with the statement before.
    std::string value = ast::print(*send.value);
    bool keywordForm = !send.add && (send.keywordForm || value[0] == '(' || value[0] == '-');
    out += (keywordForm ? "send " : "") + value + (keywordForm ? " to " : send.add ? " +> " : " -> ");
    print(*send.target);
  }

  void print(const Await &await) { out += "await ", print(*await.place); }

  void print(const Barrier &barrier) {
    out += barrier.kind == BarrierKind::Entry ? "entry " : barrier.kind == BarrierKind::Exit ? "exit " : "";
    out += "barrier";
  }

  void print(const Forall &loop) {
    out += "forall " + loop.variable.name.text + " in ";
    print(*loop.set);
    if (loop.from) out += " from ", print(*loop.from);
    body(loop.body);
  }

  void print(const For &loop) { range("for ", loop.variable, *loop.first, *loop.last, loop.body); }
  void print(const Pipeline &loop) { range("pipeline ", loop.variable, *loop.first, *loop.last, loop.body); }

  void range(std::string_view keyword, const Variable &variable, const Expr &first, const Expr &last,
             const Block &block) {
    out.append(keyword) += variable.name.text + " in ";
    infix(first, " .. ", last);
    body(block);
  }

  void print(const If &stmt) {
    out += "if ";
    print(*stmt.condition);
    out += " ";
    print(stmt.then);
    if (!stmt.hasElse) return;
    out += " else ";
    if (stmt.otherwise.size() == 1 && std::holds_alternative<If>(stmt.otherwise[0].node))
      print(stmt.otherwise[0]);
    else
      print(stmt.otherwise);
  }

  void print(const Tune &tune) {
    out += "tune ";
    list(tune.axes, [&](const TuneAxis &axis) {
      out += axis.name.text + " {";
      list(axis.values, [&](std::uint64_t value) { out += std::to_string(value); });
      out += "}";
    });
  }

  /// One simple statement goes on the loop's line. An `if` there would take the `else` of one around it.
  void body(const Block &block) {
    bool simple = block.size() == 1 && !std::holds_alternative<If>(block[0].node);
    out += simple ? ": " : " ";
    if (simple)
      print(block[0]);
    else
      print(block);
  }

  // ---- Expressions ----

  void print(const IntLit &literal) { out += literal.text; }
  void print(const FloatLit &literal) { out += literal.text; }
  void print(const NameRef &ref) { out += ref.name; }
  void print(const Member &member) { at(postfixLevel, *member.base), out += "." + member.name.text; }

  void print(const Index &index) {
    at(postfixLevel, *index.base);
    out += "[";
    print(*index.index);
    out += "]";
  }

  void print(const Call &call) {
    out += call.callee.text + "(";
    list(call.args, [&](const ExprPtr &arg) { print(*arg); });
    out += ")";
  }

  void print(const Reduce &reduce) {
    out += "reduce(";
    print(*reduce.op);
    out += ", " + reduce.variable.name.text + " in ";
    print(*reduce.set);
    out += ": ";
    print(*reduce.body);
    out += ")";
  }

  void print(const Unary &unary) {
    out += unary.op == UnaryOp::Negate ? "-" : "not ";
    at(unary.op == UnaryOp::Negate ? negateLevel : notLevel, *unary.operand);
  }

  void print(const Binary &binary) {
    operand(binary, *binary.lhs, level(binary.op));
    out.append(" ").append(spelling(binary.op)).append(" ");
    operand(binary, *binary.rhs, level(binary.op) + 1);
  }

  /// Few readers know how tightly `as`, `^` and shifts bind: their operands and they themselves get brackets.
  void operand(const Binary &parent, const Expr &expr, int least) {
    int own = level(parent.op);
    bool unclear = std::holds_alternative<Cast>(expr.node) ||
                   ((own == xorLevel || own == shiftLevel) && std::holds_alternative<Binary>(expr.node));
    at(unclear ? postfixLevel : least, expr);
  }

  void print(const Cast &cast) { at(castLevel, *cast.operand), out += " as " + cast.to.text; }

  void at(int least, const Expr &expr) {
    bool brackets = level(expr) < least;
    if (brackets) out += "(";
    print(expr);
    if (brackets) out += ")";
  }

  void infix(const Expr &lhs, std::string_view between, const Expr &rhs) {
    print(lhs);
    out.append(between);
    print(rhs);
  }

  template <typename Range, typename F>
  void list(const Range &range, F each) {
    for (const auto &element : range) {
      if (&element != &*std::begin(range)) out += ", ";
      each(element);
    }
  }

  unsigned indent = 0;
};

} // namespace

std::string_view spelling(BinaryOp op) {
  switch (op) {
  case BinaryOp::Mul: return "*";
  case BinaryOp::Div: return "/";
  case BinaryOp::Mod: return "%";
  case BinaryOp::Add: return "+";
  case BinaryOp::Sub: return "-";
  case BinaryOp::Shl: return "<<";
  case BinaryOp::Shr: return ">>";
  case BinaryOp::Xor: return "^";
  case BinaryOp::Lt: return "<";
  case BinaryOp::Le: return "<=";
  case BinaryOp::Gt: return ">";
  case BinaryOp::Ge: return ">=";
  case BinaryOp::Eq: return "==";
  case BinaryOp::Ne: return "!=";
  case BinaryOp::And: return "and";
  case BinaryOp::Or: return "or";
  }
  return "";
}

std::string print(const File &file) {
  Printer printer;
  printer.print(file);
  return std::move(printer.out);
}

std::string print(const Expr &expr) {
  Printer printer;
  printer.print(expr);
  return std::move(printer.out);
}

std::string print(const Stmt &stmt) {
  Printer printer;
  printer.print(stmt);
  return std::move(printer.out);
}

} // namespace coll::ast
