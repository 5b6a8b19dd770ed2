// The checked program: what names, types and extents mean, and which members the file offers. Everything points into
// the syntax trees, which the Program owns.
#pragma once

#include "ast/Ast.h"

#include <functional>

namespace coll::sema {

using ast::SyncMode;

/// A contract. Parameters, in-place pairs and ensures clauses are in `decl`, with their types.
struct Collective {
  const ast::Collective *decl = nullptr;
  std::string name;
  const ast::Generic *type = nullptr; ///< the type parameter; null if there is none
  const ast::Generic *op = nullptr;   ///< the operator parameter; null if there is none
  std::vector<std::string> extents;   ///< free extents in order of first use
  bool reduces = false;               ///< some `ensures` contains `reduce`; else the contract only copies
  bool fromLibrary = false;           ///< came in by `use`
};

enum class Team { Lsa };
enum class Order { Ascending, Fixed, Any };

struct Algorithm {
  const ast::Algorithm *decl = nullptr;
  const Collective *collective = nullptr;
  Team team = Team::Lsa;
  int minRanks = 0, maxRanks = 0;
  std::uint64_t minBytes = 0; ///< from `when bytes >= …`; 0 if there is none
  std::uint64_t maxBytes = 0; ///< from `when bytes <= …`; 0 if there is none, and then there is a pipeline
  Order order = Order::Ascending;
  std::vector<DType> dtypes; ///< of the type parameter after the restriction; the one dtype used if there is none
  std::vector<ReduceOp> ops; ///< empty where the collective has no operator
  std::vector<const ast::Mailbox *> mailboxes; ///< in order of declaration
  std::vector<const ast::Window *> windows;
  std::vector<const ast::View *> views;
  std::vector<const ast::TuneAxis *> tune;
  bool hasPipeline = false;
  bool usesMulticast = false; ///< sends to `all`, or reduces over it
};

/// One kernel family: an algorithm with its mode parameters bound.
struct Member {
  std::string name;  ///< `allreduce.oneshot.ll`
  std::string local; ///< `oneshot.ll`
  std::string mode;  ///< `ll`; several joined by `.`; empty without parameters
  const Algorithm *algorithm = nullptr;
  std::vector<std::pair<const ast::Generic *, SyncMode>> modes;
  std::vector<DType> dtypes; ///< those the modes are legal for
  std::vector<ReduceOp> ops;

  /// The mode a mailbox or window has in this member; empty for a window without one.
  std::optional<SyncMode> syncOf(const ast::Mailbox &mailbox) const;
  std::optional<SyncMode> syncOf(const ast::Window &window) const;
};

struct Workspace {
  const ast::Workspace *decl = nullptr;
  std::vector<const Member *> members;
};

struct Program {
  std::vector<std::unique_ptr<ast::File>> files; ///< the user's first, then those that `use` brought in
  std::vector<std::unique_ptr<Collective>> collectives;
  std::vector<std::unique_ptr<Algorithm>> algorithms;
  std::vector<Member> members; ///< by algorithm in order of declaration, then by mode as listed
  std::vector<Workspace> workspaces;

  /// `allreduce.oneshot.ll`, `oneshot.ll` if only one collective has it, `oneshot` if it has one mode. Null if there
  /// is none or more than one.
  const Member *find(std::string_view name) const;
};

/// Text of the standard library's file for a collective; empty if it has none.
using Resolver = std::function<std::optional<std::string>(std::string_view name)>;

/// Names, types, extents and members of a parsed file. Null after an error; remarks for members that are dropped.
/// Texts that `use` brings in are added to `sources`, which must outlive the Program's spans.
std::unique_ptr<Program> analyse(std::unique_ptr<ast::File> file, const Resolver &resolve, Sources &sources,
                                 DiagnosticEngine &diagnostics);

/// Whether a member is offered for this type and operator. Says why not, at the algorithm, when it is asked for by
/// name.
bool checkOffered(const Member &member, DType type, std::optional<ReduceOp> op, DiagnosticEngine &diagnostics);

/// The dtype that an element has in an instance whose type parameter is `parameter`.
DType instantiate(const ast::Element &element, DType parameter);

} // namespace coll::sema
