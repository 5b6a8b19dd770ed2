// A file's declarations in order: what it uses, contracts, algorithms, workspaces.
#include "sema/Sema.h"

#include "parse/Parser.h"
#include "sema/Context.h"

#include "llvm/ADT/STLExtras.h"

namespace coll::sema {

namespace {

class Analysis {
public:
  Analysis(const Resolver &resolve, Sources &sources, DiagnosticEngine &diagnostics)
      : resolve(resolve), sources(sources), diagnostics(diagnostics), program(std::make_unique<Program>()) {}

  std::unique_ptr<Program> run(std::unique_ptr<ast::File> file) {
    program->files.push_back(std::move(file));
    // `use` adds files, and moves the vector under a reference.
    ast::File &own = *program->files.front();
    each<ast::Use>(own, [&](ast::Use &decl) { use(decl); });
    each<ast::Collective>(own, [&](ast::Collective &decl) { collective(decl, false); });
    each<ast::Algorithm>(own, [&](ast::Algorithm &decl) { algorithm(decl); });
    if (diagnostics.errors() > 0) return nullptr;
    for (const auto &checked : program->algorithms)
      for (Member &member : membersOf(*checked, diagnostics)) program->members.push_back(std::move(member));
    each<ast::Workspace>(own, [&](ast::Workspace &decl) { workspace(decl); });
    return diagnostics.errors() > 0 ? nullptr : std::move(program);
  }

private:
  template <typename Decl, typename F>
  void each(ast::File &file, F visit) {
    for (ast::Item &item : file.items)
      if (auto *decl = std::get_if<std::unique_ptr<Decl>>(&item)) visit(**decl);
  }

  const Collective *find(std::string_view name) const {
    for (const auto &known : program->collectives)
      if (known->name == name) return known.get();
    return nullptr;
  }

  void use(const ast::Use &decl) {
    const ast::Name &name = decl.collective;
    std::optional<std::string> text = resolve ? resolve(name.text) : std::nullopt;
    if (!text) {
      diagnostics.error(DiagnosticKind::UnknownCollective, name.span,
                        "the standard library has no collective `" + name.text + "`");
      return;
    }
    const Sources::File &source = sources.add(std::move(*text), name.text + ".coll");
    auto file = parse(source, diagnostics);
    if (!file) return;
    program->files.push_back(std::move(file));
    // Only the contract: the library's algorithms are the library's members.
    each<ast::Collective>(*program->files.back(), [&](ast::Collective &contract) {
      if (contract.name.text == name.text) collective(contract, true);
    });
  }

  void collective(ast::Collective &decl, bool fromLibrary) {
    if (const Collective *other = find(decl.name.text)) {
      diagnostics
          .error(DiagnosticKind::DuplicateName, decl.name.span,
                 "the collective `" + decl.name.text + "` is declared twice")
          .note(other->decl->name.span, "first declared here");
      return;
    }
    auto checked = std::make_unique<Collective>();
    checked->fromLibrary = fromLibrary;
    checkCollective(decl, *checked, diagnostics);
    program->collectives.push_back(std::move(checked));
  }

  void reportUnknownCollective(const ast::Name &name) {
    auto report =
        diagnostics.error(DiagnosticKind::UnknownCollective, name.span, "unknown collective `" + name.text + "`");
    if (resolve && resolve(name.text)) {
      report.help("the standard library has it: write `use " + name.text + "` above");
      return;
    }
    std::vector<std::string> known;
    for (const auto &each : program->collectives) known.push_back(each->name);
    std::string meant = nearest(name.text, known);
    report.help(meant.empty() ? "declare it with `collective`" : "did you mean `" + meant + "`?");
  }

  void algorithm(ast::Algorithm &decl) {
    const Collective *contract = find(decl.collective.text);
    if (!contract) return reportUnknownCollective(decl.collective);
    for (const auto &other : program->algorithms)
      if (other->collective == contract && other->decl->name.text == decl.name.text)
        diagnostics
            .error(DiagnosticKind::DuplicateName, decl.name.span,
                   "`" + contract->name + "` has two algorithms `" + decl.name.text + "`")
            .note(other->decl->name.span, "the first is here");
    auto checked = std::make_unique<Algorithm>();
    checked->decl = &decl;
    checked->collective = contract;
    check(decl, *checked);
    program->algorithms.push_back(std::move(checked));
  }

  void check(ast::Algorithm &decl, Algorithm &checked) {
    unsigned before = diagnostics.errors();
    Context context(*checked.collective, diagnostics);
    context.algorithm = &checked;
    context.place = Place::Body;
    declareContract(context);
    checkHeader(context, decl, checked);
    // The body means nothing on a team, or in a contract, that is not understood.
    if (checked.minRanks == 0 || hasErrors(*checked.collective)) return;
    checkBlock(context, decl.body);
    if (diagnostics.errors() == before) checkCoverage(context, checked);
  }

  static bool hasErrors(const Collective &collective) {
    for (const ast::Param &param : collective.decl->params)
      if (param.type.kind == ast::Type::Kind::Error) return true;
    return false;
  }

  void workspace(const ast::Workspace &decl) {
    Workspace out{&decl, {}};
    for (const ast::Name &name : decl.members) {
      const Member *member = program->find(name.text);
      if (member) {
        if (!alone(*member, out, name)) continue;
        out.members.push_back(member);
        continue;
      }
      std::vector<std::string> known;
      for (const Member &each : program->members) known.push_back(each.name);
      std::string meant = nearest(name.text, known);
      diagnostics.error(DiagnosticKind::UnknownName, name.span, "unknown member `" + name.text + "`")
          .help(meant.empty() ? "a member is written `collective.algorithm.mode`" : "did you mean `" + meant + "`?");
    }
    program->workspaces.push_back(std::move(out));
  }

  /// A member has one scratch region.
  bool alone(const Member &member, const Workspace &here, const ast::Name &name) {
    const Workspace *other = llvm::is_contained(here.members, &member) ? &here : nullptr;
    for (const Workspace &each : program->workspaces)
      if (llvm::is_contained(each.members, &member)) other = &each;
    if (!other) return true;
    diagnostics.error(DiagnosticKind::DuplicateName, name.span,
                      "`" + member.name + "` is in workspace `" + other->decl->name.text + "` already, and has one scratch")
        .help("write another algorithm for the second");
    return false;
  }

  const Resolver &resolve;
  Sources &sources;
  DiagnosticEngine &diagnostics;
  std::unique_ptr<Program> program;
};

} // namespace

std::unique_ptr<Program> analyse(std::unique_ptr<ast::File> file, const Resolver &resolve, Sources &sources,
                                 DiagnosticEngine &diagnostics) {
  return Analysis(resolve, sources, diagnostics).run(std::move(file));
}

} // namespace coll::sema
