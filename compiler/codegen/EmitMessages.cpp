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

std::string load(const MessagesOut &out, const std::string &vector, const std::string &hop) {
  return "coll::loadFirst<Packet>(launch, " + vector + ", " + out.packet + ", " + out.counts + "[" + hop + "])";
}

} // namespace

void emitLoads(const MessagesOut &out, CodeWriter &code) {
  code.line("coll::u32 " + out.counts + "[N]; // by how many places the rank is after me");
  eachHop(out, code, 0, out.countByRank, out.counts + "[hop] = coll::countAt(launch, " + out.count + ", " + out.length + ");");
  if (!out.loadsFirst) return;
  code.line("Packet " + out.vectors + "[N];");
  eachHop(out, code, 0, out.vectorByRank, out.vectors + "[hop] = " + load(out, out.vector, "hop") + ";");
}

std::string emitSends(const MessagesOut &out, CodeWriter &code) {
  if (out.keeps && !out.loadsFirst) code.line("const Packet " + out.vectors + " = " + load(out, out.own, "0") + ";");
  const std::string what = out.loadsFirst ? out.vectors + "[hop]" : load(out, out.vector, "hop");
  eachHop(out, code, out.keeps ? 1 : 0, !out.loadsFirst && out.vectorByRank,
          out.box + "::send(launch, hop, " + out.slot + ", " + out.packet + ", " + what + ", " + out.counts + "[hop]);");
  return out.loadsFirst ? out.vectors + "[0]" : out.vectors;
}

} // namespace coll::codegen
