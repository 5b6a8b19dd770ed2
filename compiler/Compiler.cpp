// The compiler's table of contents: text -> syntax tree -> checked program -> IR -> passes -> CUDA text.
#include "coll/Compiler.h"

#include "SharedScratch.h"
#include "check/Check.h"
#include "codegen/EmitCuda.h"
#include "embed/Embedded.h"
#include "ir/Build.h"
#include "parse/Parser.h"
#include "passes/Passes.h"
#include "sema/Sema.h"

#include <chrono>
#include <map>
#include <mutex>

namespace coll {

namespace embedded {
std::span<const EmbeddedFile> stdlibFiles();
}

struct Program::State {
  Sources sources;
  std::unique_ptr<sema::Program> checked;
  std::vector<Member> members;
  /// Of each member, what `emittable` has found.
  struct Emittable {
    std::once_flag found;
    std::vector<DType> dtypes;
  };
  std::vector<Emittable> emittable;
  std::vector<Workspace> workspaces;
};

Program::Program() : state(std::make_unique<State>()) {}
Program::~Program() = default;

namespace {

constexpr std::string_view kSuffix = ".coll";

/// Whether this compiler can emit a member for a type: whether IR of its smallest instance can be built and lowered.
bool isLowered(const sema::Member &member, DType type, const Sources &sources) {
  Diagnostics ignored; // the reasons are given when the member is asked for
  DiagnosticEngine engine(sources, ignored);
  const auto op = member.ops.empty() ? std::nullopt : std::optional(member.ops.front());
  auto ir = ir::build(member, member.algorithm->minRanks, type, op, sources, engine);
  passes::Context context{engine, ignored};
  return ir && passes::expandSyncModes(*ir, context) && passes::splitByLength(*ir, context) &&
         passes::formPacketLoops(*ir, context) && passes::orderRankLoops(*ir, context) &&
         passes::forwardOwnSlot(*ir, context) && passes::checkEmittable(*ir, context);
}

const char *orderName(sema::Order order) {
  switch (order) {
  case sema::Order::Ascending: return "ascending";
  case sema::Order::Fixed: return "fixed";
  case sema::Order::Any: return "any";
  }
  return "";
}

Member describe(const sema::Member &member) {
  Member out;
  out.name = member.name;
  out.algorithm = member.local;
  out.collective = member.algorithm->collective->name;
  out.minRanks = member.algorithm->minRanks;
  out.usesMulticast = member.algorithm->usesMulticast;
  for (const ast::Mailbox *mailbox : member.algorithm->mailboxes)
    if (const auto sync = ir::syncOf(std::string(ast::keyword(*member.syncOf(*mailbox)))))
      out.unsplitBytes = std::max(out.unsplitBytes, ir::wireOf(*sync).unsplitBytes);
  out.outOfPlace = member.algorithm->decl->outOfPlace;
  out.maxRanks = member.algorithm->maxRanks;
  out.dtypes = member.dtypes;
  out.ops = member.ops;
  out.maxBytes = member.algorithm->maxBytes;
  out.order = orderName(member.algorithm->order);
  for (const ast::TuneAxis *axis : member.algorithm->tune) out.tune.emplace_back(axis->name.text, axis->values);
  return out;
}

} // namespace

std::unique_ptr<Program> Program::parse(std::string text, std::string fileName, Diagnostics &diagnostics) {
  std::unique_ptr<Program> program(new Program());
  Sources &sources = program->state->sources;
  DiagnosticEngine engine(sources, diagnostics);
  auto file = coll::parse(sources.add(std::move(text), std::move(fileName)), engine);
  if (!file) return nullptr;
  program->state->checked = sema::analyse(std::move(file), standardLibraryText, sources, engine);
  if (!program->state->checked) return nullptr;
  for (const sema::Member &member : program->state->checked->members)
    program->state->members.push_back(describe(member));
  program->state->emittable = std::vector<State::Emittable>(program->state->members.size());
  for (const sema::Workspace &workspace : program->state->checked->workspaces) {
    Workspace &out = program->state->workspaces.emplace_back();
    out.name = workspace.decl->name.text;
    for (const sema::Member *member : workspace.members) out.members.push_back(member->name);
  }
  return program;
}

const std::vector<Member> &Program::members() const { return state->members; }

const Member *Program::find(std::string_view name) const {
  const sema::Member *member = state->checked->find(name);
  return member ? &state->members[std::size_t(member - state->checked->members.data())] : nullptr;
}

const std::vector<DType> &Program::emittable(const Member &asked) const {
  const sema::Member &member = *state->checked->find(asked.name);
  State::Emittable &known = state->emittable[std::size_t(&member - state->checked->members.data())];
  std::call_once(known.found, [&] {
    for (DType type : member.dtypes)
      if (isLowered(member, type, state->sources)) known.dtypes.push_back(type);
  });
  return known.dtypes;
}

std::string Program::printAst() const { return ast::print(*state->checked->files.front()); }

namespace {

/// The member and instance that are asked for, or an error that says what is offered.
const sema::Member *findMember(const sema::Program &program, const Instance &instance, DiagnosticEngine &engine) {
  const sema::Member *member = program.find(instance.member);
  if (!member) {
    std::string offered;
    for (const sema::Member &m : program.members) offered += (offered.empty() ? "`" : ", `") + m.name + "`";
    const std::string text = offered.empty() ? "this file has no algorithms" : "this file offers " + offered;
    engine.error(DiagnosticKind::BadInstance, {0, 0}, "there is no algorithm `" + instance.member + "`").help(text);
    return nullptr;
  }
  const sema::Algorithm &a = *member->algorithm;
  if (instance.ranks < a.minRanks || instance.ranks > a.maxRanks) {
    engine.error(DiagnosticKind::BadInstance, a.decl->name.span,
                 "`" + member->name + "` is for " + std::to_string(a.minRanks) + " to " + std::to_string(a.maxRanks) +
                     " ranks, not " + std::to_string(instance.ranks));
    return nullptr;
  }
  const auto op = member->ops.empty() ? std::nullopt : std::optional(instance.op);
  return sema::checkOffered(*member, instance.dtype, op, engine) ? member : nullptr;
}

struct NamedPass {
  const char *name, *summary;
  bool (*run)(ir::Program &, passes::Context &);
};

constexpr NamedPass kPasses[] = {
#define COLL_PASS(Function, Name, Summary) {Name, Summary, passes::Function},
#include "passes/Passes.def"
};

bool wanted(const std::vector<std::string> &dumpAfter, std::string_view pass) {
  return llvm::any_of(dumpAfter, [&](const std::string &d) { return d == "all" || d == pass; });
}

std::string text(const ir::Program &program) {
  std::string out;
  llvm::raw_string_ostream os(out);
  ir::print(program, os);
  return os.str();
}

/// Runs the passes up to and including `last`, or all; false after an error.
bool lower(ir::Program &program, passes::Context &context, const std::vector<std::string> &dumpAfter, Kernel &kernel,
           std::string_view last = {}) {
  if (wanted(dumpAfter, "build")) kernel.dumps.emplace_back("build", text(program));
  for (const NamedPass &pass : kPasses) {
    if (!pass.run(program, context)) return false;
    if (std::string broken = ir::verify(program); !broken.empty()) {
      Diagnostic bug;
      bug.kind = "internal";
      bug.message = "the compiler made IR that breaks a rule in pass `" + std::string(pass.name) + "`: " + broken;
      bug.help = "this is a defect of the compiler; please report it with the .coll file";
      context.sink.list.push_back(std::move(bug));
      return false;
    }
    if (wanted(dumpAfter, pass.name)) kernel.dumps.emplace_back(pass.name, text(program));
    if (last == pass.name) break;
  }
  return true;
}

} // namespace

/// Whether a member may be compiled as one of its workspace.
static bool isProved(const Program &program, const Workspace &workspace, const Instance &instance,
                     const CompileOptions &options, Diagnostics &diagnostics) {
  Diagnostics said;
  const auto verdict = program.checkWorkspace(workspace, instance, said, {options.strict, false});
  if (verdict && verdict->proved) return true;
  for (Diagnostic &each : said.list) {
    if (options.unchecked && each.severity == Severity::Error) {
      each.severity = Severity::Warning;
      each.message += "; goes on because of --unchecked";
    }
    diagnostics.list.push_back(std::move(each));
  }
  return options.unchecked;
}

std::optional<Kernel> Program::compile(const Instance &instance, const CompileOptions &options,
                                       Diagnostics &diagnostics) const {
  DiagnosticEngine engine(state->sources, diagnostics);
  const sema::Member *member = findMember(*state->checked, instance, engine);
  if (!member) return std::nullopt;
  const auto op = member->ops.empty() ? std::nullopt : std::optional(instance.op);

  auto program = ir::build(*member, instance.ranks, instance.dtype, op, state->sources, engine);
  if (!program) return std::nullopt;
  if (const sema::Workspace *workspace = workspaceOf(*state->checked, *member)) {
    program->shared = sharedScratch(*workspace, *member, instance.ranks, state->sources);
    const auto &declared = state->workspaces[std::size_t(workspace - state->checked->workspaces.data())];
    if (!isProved(*this, declared, instance, options, diagnostics)) return std::nullopt;
  }

  Kernel kernel;
  passes::Context context{engine, diagnostics, options.unchecked, options.strict};
  if (!lower(*program, context, options.dumpAfter, kernel) || !passes::checkEmittable(*program, context))
    return std::nullopt;

  codegen::Emitted emitted = codegen::emitCuda(*program, options.trace);
  kernel.cuda = std::move(emitted.cuda);
  kernel.manifest = codegen::buildManifest(*program);
  kernel.manifest.sourceMap = std::move(emitted.sourceMap);
  kernel.ir = text(*program);
  kernel.program = std::make_shared<const ir::Program>(std::move(*program));
  return kernel;
}

std::optional<CheckResult> Program::check(const Instance &instance, Diagnostics &diagnostics,
                                          const CheckOptions &options) const {
  const auto start = std::chrono::steady_clock::now();
  DiagnosticEngine engine(state->sources, diagnostics);
  const sema::Member *member = findMember(*state->checked, instance, engine);
  if (!member) return std::nullopt;
  const auto op = member->ops.empty() ? std::nullopt : std::optional(instance.op);
  auto program = ir::build(*member, instance.ranks, instance.dtype, op, state->sources, engine);
  if (!program) return std::nullopt;

  Kernel unused;
  passes::Context context{engine, diagnostics, /*unchecked=*/false, options.strict};
  context.draw = options.diagram;
  CheckResult result;
  result.member = member->name;
  result.ranks = instance.ranks;
  result.dtype = instance.dtype;
  const std::size_t before = diagnostics.list.size();
  result.proved = lower(*program, context, {}, unused, "choose-depth");
  if (!result.proved && !context.refuted) return std::nullopt;
  // What is proved and cannot be had is not worth its proof; why not comes before remarks on it.
  if (result.proved && !(passes::assignMemory(*program, context) && passes::checkEmittable(*program, context))) {
    std::stable_partition(diagnostics.list.begin() + std::ptrdiff_t(before), diagnostics.list.end(),
                          [](const Diagnostic &said) { return said.severity == Severity::Error; });
    return std::nullopt;
  }
  result.untried = context.untried;
  result.diagram = std::move(context.drawing);
  result.events = std::move(context.events);
  result.counts = std::move(context.counts);
  if (!result.proved && program->proof.empty() && diagnostics.list.size() > before)
    result.summary = diagnostics.list[before].message;
  if (result.proved) {
    result.summary = program->proof;
    result.strength = program->strength;
    result.assumptions = program->assumptions;
    result.fullDependence = program->fullDependence;
    result.removableBarriers = program->removableBarriers;
    for (const ir::Mailbox &box : program->mailboxes) result.depth[box.name] = box.copies;
  }
  result.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return result;
}

/// What was said, in words that are the same for all types.
static std::string reason(const Diagnostics &said, DType type) {
  std::string text = said.render();
  const std::string name = "`" + std::string(keyword(type)) + "`";
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos;) text.replace(at, name.size(), "`T`");
  return text;
}

/// Of the member's types and operators: a copy of one may have fewer than it is offered for.
std::vector<Likeness> Program::likenesses(const Member &member, const Instance &first) const {
  const sema::Member &declared = *state->checked->find(member.name);
  std::vector<Likeness> list;
  std::map<std::string, std::size_t> byLooks;
  const auto note = [&](const Instance &instance) {
    Diagnostics said;
    DiagnosticEngine engine(state->sources, said);
    const auto op = member.ops.empty() ? std::nullopt : std::optional(instance.op);
    if (!sema::checkOffered(declared, instance.dtype, op, engine)) return;
    auto program = ir::build(declared, instance.ranks, instance.dtype, op, state->sources, engine);
    Kernel unused;
    passes::Context context{engine, said};
    const bool emitted =
        program && lower(*program, context, {}, unused, "expand-reuse") && passes::checkEmittable(*program, context);
    const auto looks = emitted ? check::looks(*program) : reason(said, instance.dtype);
    const auto [at, fresh] = byLooks.emplace(looks, list.size());
    if (fresh) list.push_back({instance, {}, emitted});
    else list[at->second].others.push_back(instance);
  };
  const std::vector<ReduceOp> ops = member.ops.empty() ? std::vector{first.op} : member.ops;
  note(first);
  for (ReduceOp op : ops)
    if (op != first.op) note({first.member, first.ranks, first.dtype, op});
  for (DType dtype : member.dtypes)
    for (ReduceOp op : ops)
      if (dtype != first.dtype) note({first.member, first.ranks, dtype, op});
  return list;
}

const std::vector<Workspace> &Program::workspaces() const { return state->workspaces; }

// The argument is per whole buffer, so layout, size and algorithm may change from launch to launch (rule T5): with one
// epoch for all, two copies, and full credit from every launch, whoever writes epoch e+2 has received something of e+1
// from everyone who has read e.
std::optional<CheckResult> Program::checkWorkspace(const Workspace &workspace, const Instance &instance,
                                                   Diagnostics &diagnostics, const CheckOptions &options) const {
  DiagnosticEngine engine(state->sources, diagnostics);
  const auto declared = llvm::find_if(state->checked->workspaces,
                                      [&](const sema::Workspace &w) { return w.decl->name.text == workspace.name; });
  const SourceRange where = declared->decl->name.span;
  CheckResult result;
  result.member = workspace.name;
  result.ranks = instance.ranks;
  result.dtype = instance.dtype;
  int copies = 2;
  std::string form;
  auto refute = [&](DiagnosticKind kind, const std::string &message, const std::string &help) {
    engine.error(kind, where, message).help(help);
    result.summary = message;
    return result;
  };
  for (const sema::Member *member : membersFor(*declared, instance.ranks)) {
    if (member->algorithm->hasPipeline)
      return refute(DiagnosticKind::ModeIllegal,
                    "`" + member->name + "` in `" + workspace.name + "` has a `pipeline`: each of its chunks counts as a "
                    "launch, and nothing lets every rank wait for every other between those of two members",
                    "leave `" + member->name + "` out of the workspace; it has scratch of its own then");
    const auto verdict = check(instanceOf(*member, instance), diagnostics, options);
    if (!verdict) return std::nullopt;
    result.milliseconds += verdict->milliseconds;
    result.untried = verdict->untried;
    if (!verdict->proved) return result.summary = verdict->summary, result;
    const std::string its = wireForms(*member);
    if (its.find(" and ") != std::string::npos || (!form.empty() && form != its))
      return refute(DiagnosticKind::ModeIllegal,
                    "`" + workspace.name + "` holds data of `" + (form.empty() || form == its ? its : form + "` and `" + its) +
                        "`: what one form leaves in a slot another takes for its own",
                    "put members of one sync mode into a workspace");
    form = its;
    if (!verdict->fullDependence)
      return refute(DiagnosticKind::OverwriteBeforeRead,
                    "after `" + member->name + "` a rank may be overwritten in `" + workspace.name +
                        "` by one that has not heard of it: not every rank waits for every other in each launch",
                    "leave `" + member->name + "` out of the workspace; it has scratch of its own then");
    for (const auto &[box, depth] : verdict->depth) copies = std::max(copies, depth);
    if (result.strength.empty() || !verdict->assumptions.empty())
      result.assumptions = verdict->assumptions, result.strength = verdict->strength;
  }
  result.proved = result.fullDependence = true;
  result.depth[workspace.name] = copies;
  result.summary = "each member lets every rank wait for every other in each launch, so with one epoch for all and " +
                   std::to_string(copies) + " copies they may follow each other in any order (rule T5)";
  return result;
}

std::vector<std::pair<std::string, std::string>> listPasses() {
  std::vector<std::pair<std::string, std::string>> list = {{"build", "the IR as the algorithm says it"}};
  for (const NamedPass &pass : kPasses) list.emplace_back(pass.name, pass.summary);
  return list;
}

std::vector<std::string> standardLibrary() {
  std::vector<std::string> names;
  for (const EmbeddedFile &file : embedded::stdlibFiles())
    names.emplace_back(file.name.substr(0, file.name.size() - kSuffix.size()));
  return names;
}

std::optional<std::string> standardLibraryText(std::string_view collective) {
  for (const EmbeddedFile &file : embedded::stdlibFiles())
    if (file.name == std::string(collective) + std::string(kSuffix)) return std::string(file.text);
  return std::nullopt;
}

} // namespace coll
