#include "codegen/EmitMessages.h"

namespace coll::codegen {

using llvm::Twine;

namespace {

/// The loop over all ranks by how many places they are after this one.
void eachHop(const MessagesOut &out, CodeWriter &code, int first, bool byRank, const std::string &body) {
  const std::string head = "for (int hop = " + std::to_string(first) + "; hop < N; ++hop) ";
  code.directive("#pragma unroll");
  if (!byRank) return code.line(head + body);
  code.open(head + "{");
  code.line("const coll::u32 " + out.rank + " = coll::rankAt<N>(me, hop);");
  code.line(body);
  code.close("}");
}

std::string load(const MessagesOut &out, const std::string &vector, const std::string &count) {
  return "coll::loadFirst<Packet>(launch, " + vector + ", " + out.packet + ", " + count + ")";
}

std::string count(const MessagesOut &out, const std::string &index) {
  return "coll::countAt(launch, " + index + ", " + out.length + ")";
}

/// One after the other, a few at a time: written out for all ranks they would be the longer part of compiling.
void sendEach(const MessagesOut &out, CodeWriter &code) {
  code.directive("#pragma unroll 4");
  code.open("for (int hop = " + Twine(out.keeps ? 1 : 0) + "; hop < N; ++hop) {");
  if (out.vectorByRank || out.countByRank) code.line("const coll::u32 " + out.rank + " = coll::rankAt<N>(me, hop);");
  code.line("const coll::u32 " + out.counts + " = " + count(out, out.count) + ";");
  code.line(out.box + "::send(launch, hop, " + out.slot + ", " + out.packet + ", " + load(out, out.vector, out.counts) + ", " +
            out.counts + ");");
  code.close("}");
}

} // namespace

void emitLoads(const MessagesOut &out, CodeWriter &code) {
  if (!out.loadsFirst) return;
  code.line("coll::u32 " + out.counts + "[N]; // by how many places the rank is after me");
  eachHop(out, code, 0, out.countByRank, out.counts + "[hop] = " + count(out, out.count) + ";");
  code.line("Packet " + out.vectors + "[N];");
  eachHop(out, code, 0, out.vectorByRank, out.vectors + "[hop] = " + load(out, out.vector, out.counts + "[hop]") + ";");
}

MessagesOut::Own emitSends(const MessagesOut &out, CodeWriter &code) {
  const std::string each = out.vectors + "[hop], " + out.counts + "[hop]);";
  if (out.loadsFirst) {
    eachHop(out, code, out.keeps ? 1 : 0, false, out.box + "::send(launch, hop, " + out.slot + ", " + out.packet + ", " + each);
    return {out.vectors + "[0]", out.counts + "[0]"};
  }
  sendEach(out, code);
  if (!out.keeps) return {};
  code.line("const coll::u32 " + out.ownName + " = " + count(out, out.ownCount) + ";");
  code.line("const Packet " + out.vectors + " = " + load(out, out.own, out.ownName) + ";");
  return {out.vectors, out.ownName};
}

} // namespace coll::codegen
