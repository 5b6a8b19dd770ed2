// One page of CUDA for one program: header, constants, arguments, mailboxes, the body once as a template over the shape
// of the packet loop, and the entry point. Law of this file: it never changes the IR.
#include "codegen/EmitCuda.h"

#include "ast/Type.h"
#include "codegen/CodeWriter.h"
#include "codegen/EmitBody.h"
#include "codegen/Includes.h"
#include "codegen/Names.h"

#include <map>

namespace coll::codegen {

using namespace ir;

namespace {

class KernelEmitter {
public:
  KernelEmitter(const Program &p, bool trace) : program(p) { names.trace = trace; }

  Emitted run() {
    if (rows()) names.names.unique("row"), names.names.unique("k"); // what its loops have for a row and a packet of it
    out.blank();
    out.line("namespace {");
    out.blank();
    constants();
    arguments();
    mailboxes();
    emitBody(program, names, out);
    out.line("} // namespace");
    out.blank();
    entry();
    const CodeWriter code = std::exchange(out, {});
    header();
    for (llvm::StringRef file : includesFor(code.text())) out.directive("#include \"coll/" + file + ".h\"");
    out.append(code);
    return {out.text(), out.sourceMap()};
  }

private:
  const Program &program;
  CodeWriter out;
  BodyNames names;

  void header() {
    std::string title = program.member + "   N = " + std::to_string(program.ranks) + "   " +
                        std::string(keyword(program.dtype));
    if (program.op) title += ", " + std::string(keyword(*program.op));
    out.comment(title + "   generated from " + baseName(program.sourceFile));
    out.line("//");
    for (const std::string &text : contractTexts()) out.comment("Contract  " + text, 10);
    for (const Buffer &b : program.buffers)
      if (b.replicated) out.comment("Contract  " + b.name + " holds the same bits on all ranks at entry", 10);
    for (std::size_t b = 0; b < program.buffers.size(); ++b)
      if (program.buffers[b].direction != Direction::In && !isPromised(BufferId(b)))
        out.comment("Contract  promises nothing of " + program.buffers[b].name, 10);
    for (const Mailbox &box : program.mailboxes) out.comment("Mailbox   " + mailboxText(box), 10);
    if (program.shared) out.comment("Workspace " + workspaceText(*program.shared), 10);
    if (program.chunks)
      out.comment("Chunks    of " + std::to_string(program.chunks->elements * sizeOf(program.dtype)) +
                      " bytes of every vector, each an epoch", 10);
    out.comment("Proof     " + program.proof, 10);
    if (!program.strength.empty()) out.comment("Rests on  " + program.strength, 10);
  }

  bool isPromised(BufferId buffer) const {
    return llvm::any_of(program.ensures, [&](const Ensures &e) { return e.target.buffer == buffer; });
  }

  /// Of each clause; what `and` joins is one.
  std::vector<std::string> contractTexts() const {
    std::map<SourceOffset, std::string> texts;
    for (const Ensures &e : program.ensures)
      if (std::string text = contractText(e); text.size() > texts[e.where].size()) texts[e.where] = std::move(text);
    std::vector<std::string> inOrder;
    for (auto &[where, text] : texts) inOrder.push_back(std::move(text));
    return inOrder;
  }

  std::string contractText(const Ensures &e) const {
    const std::string text = ensuresText(program, e);
    if (e.kind != Ensures::Kind::Reduction) return text;
    if (program.order == "any")
      return text + ", in any order and rounded at each step, the same bits on every rank but not in every run";
    if (program.order == "fixed" && program.mailed) return text + ", combined alike on every rank and rounded to f32 at each step";
    if (program.order == "fixed") return text + ", combined alike on every rank and rounded at each step";
    const bool widened = isFloat(program.dtype) && sizeOf(program.dtype) < 4;
    return text + ", ascending" + (widened ? ", accumulated in f32 and rounded once" : "") +
           ", the same bits on every rank";
  }

  std::string mailboxText(const Mailbox &box) const {
    if (!box.payload) return box.name + "[" + box.slots.str() + "], flags that announce what is stored in the window";
    std::string text = box.name + "[" + box.slots.str() + "], " + keyword(box.sync).str() + ", ";
    text += box.copies == 1 ? "1 copy" : std::to_string(box.copies) + " copies, of which a launch uses its epoch mod " +
                                             std::to_string(box.copies);
    if (box.reuse == Reuse::Ack) text += "; filled again when its readers have said so";
    if (box.counted) text += box.countsRows ? "; a message says how many rows it has" : "; a message says how long it is";
    if (box.spread == Spread::Row) text += "; a line for the number of each row";
    if (box.spread == Spread::Group) text += "; a line for the number of each group of " + std::to_string(box.group);
    return text + "; a slot holds " + std::to_string(box.lines * wireOf(box.sync).payloadBytes) + " bytes" + (box.dtype == program.packetType() ? "" : " of " + std::string(keyword(box.dtype)));
  }

  static std::string workspaceText(const SharedScratch &shared) {
    std::string text = shared.workspace + ", one region and one epoch";
    for (const std::string &other : shared.others) text += (&other == &shared.others.front() ? " with " : ", ") + other;
    return text + "; a copy of all mailboxes has " + std::to_string(shared.copyBytes) +
           " bytes; in each launch of any of them every rank waits for every other, so any may follow any (rule T5)";
  }

  void constants() {
    out.line("constexpr int N = " + llvm::Twine(program.ranks) + ";");
    out.line("using T = " + llvm::Twine(std::string(cudaName(program.packetType()))) + (program.mailed ? "; // what is sent; the arguments have their own" : ";"));
    if (program.op) out.line("using Op = " + llvm::Twine(std::string(cudaName(*program.op))) + ";");
    out.blank();
  }

  void arguments() {
    out.open("struct Args {");
    out.line("coll::Team<N> team;");
    Names fields; // members of Args: they cannot clash with the variables of the body
    fields.unique("team"), fields.unique("onePacket"), fields.unique("whole");
    if (program.multicastsMail())
      out.line("char *" + (names.regionsOfAll = fields.unique("all")) + "; // the regions of all ranks at once; null without multicast");
    for (const Buffer &b : program.buffers) {
      const std::string field = names.buffers[b.name] = fields.unique(b.name);
      const std::string type = b.dtype == program.packetType() ? "T" : std::string(cudaName(b.dtype));
      out.line(llvm::Twine(b.direction == Direction::In ? "const " : "") + type + " *" + field + (b.window ? "[N]" : "") +
               "; // " + (b.dtype == program.packetType() ? "T" : std::string(keyword(b.dtype))) + shapeText(b) +
               (b.window ? ", of the rank so many places after this one" : ""));
      if (program.multicastsBuffer(BufferId(&b - program.buffers.data())))
        out.line(llvm::Twine(b.direction == Direction::In ? "const " : "") + type + " *" +
                 (names.buffersOfAll[b.name] = fields.unique(b.name + "OfAll")) + "; // of all ranks at once; null without multicast");
    }
    for (const std::string &extent : program.extents)
      out.line("coll::u64 " + (names.extents[extent] = fields.unique(extent)) + ";");
    for (const Scalar &s : program.scalars) {
      const std::string field = names.scalars[s.name] = fields.unique(s.name);
      if (s.rank) out.line("alignas(8) coll::u32 " + llvm::Twine(field) + "; // a rank");
      else out.line("alignas(8) " + llvm::Twine(std::string(cudaName(s.type))) + " " + field + ";");
    }
    out.line(program.bulkUnits() ? std::string("coll::u64 whole; // all packets are whole and aligned")
                                 : std::string("coll::u64 onePacket; // every thread has at most one packet") +
                                       (rows() ? " of a row" : "") + ", and all are whole and aligned");
    out.close("};");
    out.blank();
  }

  static std::string shapeText(const Buffer &b) {
    std::string text;
    for (const std::string &e : b.extents) text += "[" + e + "]";
    return text;
  }

  static const char *deviceNamespace(Sync sync) {
    switch (sync) {
    case Sync::LL: return "ll";
    case Sync::LL16: return "ll16";
    case Sync::LL128: return "ll128";
    case Sync::Sentinel: return "sentinel";
    case Sync::Flag: return "flag";
    case Sync::Barrier: return "plain";
    case Sync::Counter: return "counter";
    case Sync::Counter16: return "counter16";
    case Sync::Counter128: return "counter128";
    }
    return "";
  }

  void mailboxes() {
    if (!program.mailboxes.empty()) out.line("// type, ranks, number, offset in the region, slots, packets a slot, copies" +
                                           (program.shared ? llvm::Twine(", bytes from copy to copy") : llvm::Twine("")));
    for (std::size_t number = 0; number < program.mailboxes.size(); ++number) {
      const Mailbox &box = program.mailboxes[number];
      std::string name = box.name;
      name[0] = char(std::toupper(static_cast<unsigned char>(name[0])));
      name = names.boxes[box.name] = names.names.unique(name);
      out.from(lineOf(program, box.where));
      std::string type = std::string("coll::") + deviceNamespace(box.sync) + "::Mailbox<" + typeName(box.dtype) + ", N, " +
                               std::to_string(number) + ", " + std::to_string(box.offset) + ", " + box.slots.str() + ", " +
                               std::to_string(box.lines) + ", " + std::to_string(box.copies) +
                               (box.stride ? ", " + std::to_string(box.stride) : "") +
                               (box.flagOffset ? ", " + std::to_string(box.flagOffset) : "") + ">";
      if (box.payload && program.linesOf(box) > 1) type = "coll::wide::Mailbox<" + type + ", " + packetText(box.dtype) + ">";
      out.line("using " + name + " = " +
               (box.counted ? std::string("coll::Counted") + (program.chunks ? "InChunks<" : box.countsRows ? "Rows<" : "<") + type + ", " + countsText(box, number) + ">;"
                            : type + ";"));
      out.from(0);
    }
    if (program.creditOffset) {
      bool releases = false;
      walk(program.body, [&](const Stmt &s) {
        if (const auto *credit = std::get_if<Credit>(&s.op())) releases = credit->releases;
      });
      out.line("using Credits = coll::Credits<N, " + llvm::Twine(*program.creditOffset) + ", " +
               (releases ? "true" : "false") +
               (program.chunks ? ", true>; // offset in the region, whether they release, of chunks"
                               : ">; // offset in the region, whether they release"));
    }
    for (ValueId v = 0; v < ValueId(program.values.size()); ++v) {
      const Value &value = program.values[v];
      if (!value.kept) continue;
      std::string name = value.name.empty() ? "value" : value.name;
      name[0] = char(std::toupper(static_cast<unsigned char>(name[0])));
      name = names.kept[v] = names.names.unique("Kept" + name);
      const std::string at = std::to_string(value.keptOffset);
      out.line("using " + name + " = coll::" +
               (program.keepsPackets(value) ? "Kept<" + at : "KeptElements<" + at + ", " + std::string(cudaName(ast::accumulatorOf(value.dtype)))) + ">; // " + (value.name.empty() ? "a value" : "`" + value.name + "`") + " between loops: offset in the region");
    }
    const unsigned units = program.bulkUnits();
    out.line("using Packet = " + packetText(program.packetType()) +
             (units > 1 ? "; // units of 16 bytes that a thread handles at a time" : "; // what a thread handles at a time"));
    out.blank();
  }

  /// The lines with the lengths of messages; of chunks one for each CTA.
  std::string countsText(const Mailbox &box, std::size_t number) const {
    return "coll::ll::Mailbox<coll::u32, N, " + std::to_string(number) + ", " + std::to_string(box.countOffset) + ", " + box.slots.str() +
           ", " + (program.chunks ? "coll::kMaxCtas" : "1") + ", " + std::to_string(box.copies) +
           (box.countStride ? ", " + std::to_string(box.countStride) : "") + ">";
  }

  std::string typeName(DType type) const { return type == program.packetType() ? "T" : std::string(cudaName(type)); }

  /// What a thread handles at a time of vectors of a type.
  std::string packetText(DType type) const {
    const Wire wire = program.wire();
    const unsigned units = program.bulkUnits(), bytes = program.pieceElements() * sizeOf(type);
    const std::string of = "Packet<" + typeName(type);
    if (units > 1) return "coll::bulk::" + of + ", " + std::to_string(units) + ">";
    if (wire.together > 1 && bytes != 16) return "coll::wide::Line" + of + ", " + std::to_string(bytes) + ">";
    if (wire.together == 1) return (bytes > 16 ? "coll::wide::" : "coll::") + of + ", " + std::to_string(bytes) + ">";
    const auto inLines = llvm::find_if(program.mailboxes, [](const Mailbox &box) { return Program::holdsPackets(box) && wireOf(box.sync).together > 1; });
    return std::string("coll::") + deviceNamespace(inLines->sync) + "::" + of + ">";
  }

  /// Whether the kernel goes by rows; then all its loops do.
  bool rows() const {
    return llvm::any_of(program.body, [](const Stmt &s) {
      const auto *loop = std::get_if<PacketLoop>(&s.op());
      return loop && loop->rows;
    });
  }

  /// Whether threads hold so much, a packet of each rank, that a CTA is to have the registers of a whole multiprocessor. Left
  /// to choose, ptxas makes room for two or four CTAs: loads of large packets wait for others, and own payload that waits for
  /// the peers' is put on the stack before the epoch is read. Rows, pipelines and two packets of 8 bytes fit without, and are
  /// quicker with more CTAs.
  bool holdsMuch() const {
    if (program.bulkUnits()) return true;
    bool reduces = false;
    walk(program.body, [&](const Stmt &s) { reduces |= std::holds_alternative<Reduce>(s.op()) || std::holds_alternative<Combine>(s.op()); });
    return reduces && program.ranks * program.wire().payloadBytes > 16 && !rows() && !program.chunks;
  }

  void entry() {
    out.line(std::string("extern \"C\" __global__ void __launch_bounds__(512") + (holdsMuch() ? ", 1)" : ")"));
    out.open(llvm::Twine(kernelName(program)) + "(const __grid_constant__ Args a) {");
    if (names.trace) out.line("coll::stamp(coll::kEntered);");
    out.line("coll::Launch<N> launch(a.team);");
    if (names.trace) out.line("launch.start();"), out.line("coll::stamp(coll::kMayRun);");
    const std::string row = rows() ? "Row" : "";
    out.line((program.bulkUnits() ? "if (a.whole) " : "if (a.onePacket) ") + llvm::Twine(names.function) +
             (program.bulkUnits() ? "<coll::WholePackets>" : "<coll::One" + row + "Packet>") + "(launch, a);");
    out.line("else " + llvm::Twine(names.function) + "<coll::Any" + row + "Packets>(launch, a);");
    if (names.trace) out.line("coll::stamp(coll::kFinished);");
    out.close("}");
  }
};

} // namespace

std::string baseName(llvm::StringRef path) { return path.substr(path.rfind('/') == llvm::StringRef::npos ? 0 : path.rfind('/') + 1).str(); }

unsigned lineOf(const Program &program, SourceOffset where) {
  return program.sources->position(std::uint32_t(where)).line;
}

Emitted emitCuda(const Program &program, bool trace) { return KernelEmitter(program, trace).run(); }

} // namespace coll::codegen
