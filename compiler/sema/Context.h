// What the parts of the analysis share while they look at one contract or one algorithm.
#pragma once

#include "sema/Ranges.h"
#include "sema/Scope.h"
#include "sema/Sema.h"

#include <set>

namespace coll::sema {

/// Where an expression stands, which decides what it may contain.
enum class Place {
  Declaration, ///< types of parameters, in-place pairs
  Ensures,     ///< values at entry and exit
  When,        ///< what the host knows at a launch
  Body,        ///< statements
};

/// How a mailbox is used, for the rules that need the whole body.
struct MailboxUse {
  struct Access {
    ast::Span where;
    const ast::Expr *slot;   ///< null for a mailbox without slots
    std::vector<Loop> loops; ///< around it
    bool guarded;            ///< inside an `if`
  };
  std::vector<Access> sends, reads;
  std::optional<ast::Type> message; ///< of the first send
};

/// A branch of an `if`: taken where the condition has this value.
struct Guard {
  const ast::Expr *condition;
  bool value;
};

struct WindowUse {
  const ast::Window *window = nullptr;
  std::optional<ast::Span> firstAccess, lastAccess; ///< of a peer's buffer
  bool pulled = false, pushed = false;
  std::optional<ast::Span> lastPush;
  std::string itsWait; ///< for the last push: a line that awaits it, behind the loop or statement that it is in; or empty
  bool awaited = false;
};

struct Context {
  Context(const Collective &collective, DiagnosticEngine &diagnostics)
      : collective(collective), diagnostics(diagnostics), scope(diagnostics) {}

  const Collective &collective;
  Algorithm *algorithm = nullptr; ///< null while the contract itself is looked at
  DiagnosticEngine &diagnostics;
  Scope scope;
  Place place = Place::Declaration;

  /// Where a parameter's type is looked at: unknown names become free extents, and are added here.
  std::vector<std::string> *newExtents = nullptr;
  bool typeOnly = false;     ///< only the type of the expression is meant; nothing is read
  bool wholeSplit = false;   ///< a split view may stand without an index: something chooses a piece
  std::vector<DType> dtypes; ///< what the type parameter may be here
  std::vector<int> ranks;    ///< the values of N to look at
  std::vector<Loop> loops;   ///< around the current place
  std::vector<Guard> guards; ///< `if`s around it
  const ast::Variable *chunk = nullptr; ///< of the `pipeline` around
  int blocks = 0;            ///< blocks around it, the algorithm's own included
  std::map<const ast::Mailbox *, MailboxUse> mailboxes;
  std::map<const ast::Param *, WindowUse> windows;
  std::set<const ast::Param *> assigned;
  std::vector<ast::Span> barriers;

  DiagnosticEngine::Report error(DiagnosticKind kind, ast::Span where, std::string message) const {
    return diagnostics.error(kind, where, std::move(message));
  }
};

/// The type parameters and operators of a contract, and its arguments, as names.
void declareContract(Context &context);

// ---- Types (Types.cpp) ----

ast::Type makeType(ast::Type::Kind kind);
ast::Type valueType(ast::Element element, std::vector<ast::Extent> shape = {});
ast::Extent numberExtent(std::uint64_t number);
/// A type in a sentence: "`T[M]`", "an integer".
std::string describe(const ast::Type &type);

/// Whether two elements are the same type in every instance.
bool sameElement(const Context &context, const ast::Element &a, const ast::Element &b);
/// The element of `a + b`: a narrow float widens to what it accumulates in. Nothing if they do not mix.
std::optional<ast::Element> commonElement(const Context &context, const ast::Element &a, const ast::Element &b);
/// Whether a value may be stored as `to` without a cast: the same type, or an accumulator that rounds to it.
bool storesAs(const Context &context, const ast::Element &from, const ast::Element &to);
bool isFloatElement(const Context &context, const ast::Element &element);
bool isIntElement(const Context &context, const ast::Element &element);

/// The shape of `a + b`, aligned at the last extent; an extent of 1 stretches. Nothing if they do not fit.
std::optional<std::vector<ast::Extent>> commonShape(const std::vector<ast::Extent> &a,
                                                    const std::vector<ast::Extent> &b);
/// Whether every value of shape `value` surely fits a place of shape `slot`.
bool fits(const std::vector<ast::Extent> &value, const std::vector<ast::Extent> &slot);

// ---- Expressions (Expressions.cpp, Calls.cpp, Access.cpp) ----

/// Types of an expression and all its parts; Error where something was reported.
const ast::Type &check(Context &context, ast::Expr &expr);
/// As an integer or rank: an index, a bound, a count.
bool checkIndex(Context &context, ast::Expr &expr, std::string_view what);
/// As a type (`T[M]`), or as a value whose type is meant (`X[0]`).
ast::Type checkTypeExpr(Context &context, ast::Expr &expr);
ast::Type checkCall(Context &context, ast::Call &call, ast::Expr &expr);
ast::Type checkReduce(Context &context, ast::Reduce &reduce);
/// Whether an expression is a rank, or else reports that.
bool checkOwner(Context &context, ast::Expr &owner);
ast::Type checkMember(Context &context, ast::Member &member, ast::Expr &expr);
ast::Type checkSubscript(Context &context, ast::Index &index, ast::Expr &expr);
ast::Type readMailbox(Context &context, const ast::Mailbox &mailbox, const ast::Expr *slot, ast::Span where);
/// Reports an index that is past the end for some N; `mailbox` is null where it chooses an element or a piece.
void checkInRange(Context &context, const ast::Expr &index, const ast::Extent &extent, std::string_view of,
                  const ast::Mailbox *mailbox);
/// The value of an extent for N ranks; nothing where it depends on a launch.
std::optional<std::int64_t> valueOf(const ast::Extent &extent, int ranks);
/// An integer expression over N and extents, as an extent. Reports anything else.
std::optional<ast::Extent> extentOf(Context &context, ast::Expr &expr);

// ---- Places (Access.cpp) ----

/// The name an expression such as `Y[me][0]` starts from.
const ast::NameRef *rootOf(const ast::Expr &expr);
/// The argument that a place is part of, through views; null if it is none.
const ast::Param *argumentOf(const ast::Expr &expr);
/// Whether a name is a view with a piece for each rank.
bool isSplit(const ast::View &view);

// ---- Statements (Statements.cpp, Transfers.cpp, Declarations.cpp) ----

void checkBlock(Context &context, ast::Block &block);
void checkLet(Context &context, ast::Let &let);
/// The mode a declaration names: a mode parameter, or a mode. Reports anything else.
void resolveSync(Context &context, const ast::Name &name, const ast::Generic *&parameter,
                 std::optional<ast::SyncMode> &mode);
/// Every mode that a declaration with this sync may have.
std::vector<ast::SyncMode> modesOf(const ast::Generic *parameter, std::optional<ast::SyncMode> mode);
void checkMailbox(Context &context, ast::Mailbox &mailbox);
void checkWindow(Context &context, ast::Window &window);
void checkTune(Context &context, ast::Tune &tune, ast::Span span);
void checkAssign(Context &context, ast::Assign &assign);
void checkSend(Context &context, ast::Send &send, ast::Span span);
void checkAwait(Context &context, ast::Await &await);
/// Reports a value that cannot be stored as `type`, with what to do.
bool checkStorable(Context &context, const ast::Expr &value, const ast::Type &type, std::string_view target);

// ---- Whole algorithms (Contract.cpp, Header.cpp, Coverage.cpp, Members.cpp) ----

/// Sets and parameters of a contract, its in-place pairs and ensures clauses.
void checkCollective(ast::Collective &decl, Collective &collective, DiagnosticEngine &diagnostics);
/// Modes, restriction, team, `when` and order.
void checkHeader(Context &context, ast::Algorithm &decl, Algorithm &algorithm);
/// What only the whole body shows: sends that nobody reads, results never assigned, barriers that are missing.
void checkCoverage(Context &context, const Algorithm &algorithm);
/// The members of a checked algorithm, with the types that each is legal for.
std::vector<Member> membersOf(const Algorithm &algorithm, DiagnosticEngine &diagnostics);
/// Kind and elements of a generic that is a set of types or operators.
void checkTypeOrOpSet(ast::Generic &generic, DiagnosticEngine &diagnostics);

/// The keywords of all sync modes.
const std::vector<std::string> &modeNames();

} // namespace coll::sema
