#include "codegen/BodyEmitter.h"

namespace coll::codegen {

void BodyEmitter::outer(const Stmt &stmt) {
  match(
      stmt, [&](const KernelBoundary &) {}, // Launch's constructor and finish()
      [&](const PacketLoop &s) { packetLoop(s); },
      [&](const Barrier &s) {
        apart(s.where);
        out.line("launch.barrier(" + text(s.number) + ");");
      },
      [&](const Fence &s) {
        announce(s.where);
        out.line("launch.fence(); // instead of trusting hardware");
      },
      [&](const Signal &s) { flagLine(s.where, boxName(s.box) + "::announce(launch, " + hopOf(s.peer) + ", " + text(s.slot) + ");"); },
      [&](const Await &s) { flagLine(s.where, boxName(s.box) + "::await(launch, " + text(s.slot) + ", 1" + (slotIsWriter(s.box) ? ", me" : "") + ");"); },
      [&](const AwaitCredit &s) { flagLine(s.where, awaitText(s, ", " + hop(s.peer))); },
      [&](const ForRanks &s) { flagsOfAll(s); },
      [&](const For &s) {
        if (const AwaitCredit *credit = ofAllOthers(s)) return flagLine(s.where, awaitText(*credit, ""));
        if (const Signal *signal = announcesToAllOthers(s))
          return flagLine(s.where, boxName(signal->box) + "::announce(launch, " + text(signal->slot) + ");");
        apart(s.where, begun);
        out.directive("#pragma unroll 1");
        openFor(s);
        closeOuter(s.body);
        scope.loops.erase(variables.at(s.variable));
      },
      [&](const If &s) {
        apart(s.where, begun);
        out.open("if (" + Twine(condition(s.condition)) + ") {");
        opened = true;
        closeOuter(s.body);
      },
      [](const auto &) { std::abort(); }); // formPacketLoops leaves nothing else outside
}

void BodyEmitter::closeOuter(const Block &body) {
  written = false; // no blank line after the head
  const bool before = begun;
  for (const Stmt &stmt : body) outer(stmt);
  out.close("}");
  written = true, begun = before; // the body may not have run
}

void BodyEmitter::flagsOfAll(const ForRanks &loop) {
  if (!isOfAll(loop)) return flagsOfEach(loop);
  if (const auto *signal = std::get_if<Signal>(&loop.body.front().op()))
    return flagLine(loop.where, boxName(signal->box) + "::announce(launch, " + text(signal->slot) + ");");
  if (const auto *credit = std::get_if<Credit>(&loop.body.front().op())) return giveCredits(loop.where, *credit);
  if (const auto *credit = std::get_if<AwaitCredit>(&loop.body.front().op()))
    return flagLine(loop.where, awaitText(*credit, ""));
  const Await &await = std::get<Await>(loop.body.front().op());
  flagLine(loop.where, boxName(await.box) + "::await(launch, 0, N, me);");
}

bool BodyEmitter::isOfAll(const ForRanks &loop) const {
  if (loop.body.size() > 1) return false;
  const auto *signal = std::get_if<Signal>(&loop.body.front().op());
  if (signal && signal->peer.isVariable(loop.variable) && program.mailboxes[signal->box].sync == Sync::Counter)
    return !signal->slot.uses(loop.variable);
  if (signal) return signal->peer.isVariable(loop.variable) && slotIsWriter(signal->box);
  const auto *await = std::get_if<Await>(&loop.body.front().op());
  if (await)
    return await->slot.isVariable(loop.variable) && program.mailboxes[await->box].slots.isConstant(program.ranks) && slotIsWriter(await->box);
  return !bodyOf(loop.body.front());
}

void BodyEmitter::flagsOfEach(const ForRanks &loop) {
  apart(loop.where, begun);
  out.directive("#pragma unroll 1");
  out.open("for (int hop = 0; hop < N; ++hop) {");
  bool named = false;
  walk(loop.body, [&](const Stmt &s) {
    const auto *signal = std::get_if<Signal>(&s.op());
    const auto *await = std::get_if<Await>(&s.op());
    const auto *branch = std::get_if<If>(&s.op());
    named |= signal && (signal->slot.uses(loop.variable) || (signal->peer.uses(loop.variable) && !signal->peer.isVariable(loop.variable)));
    named |= (await && await->slot.uses(loop.variable)) || (branch && branch->condition.uses(loop.variable));
  });
  if (named) out.line("const coll::u32 " + variables.at(loop.variable) + " = coll::rankAt<N>(me, hop);");
  hopVariable = loop.variable, opened = true;
  closeOuter(loop.body);
  hopVariable.clear();
}

bool BodyEmitter::slotIsWriter(MailboxId box) const {
  if (program.mailboxes[box].sync == Sync::Counter) return false;
  bool all = true;
  walk(program.body, [&](const Stmt &s) {
    if (const auto *signal = std::get_if<Signal>(&s.op()); signal && signal->box == box)
      all &= signal->slot.isVariable("me");
  });
  return all;
}

const Signal *BodyEmitter::announcesToAllOthers(const For &loop) const {
  const auto *signal = loop.body.size() == 1 ? std::get_if<Signal>(&loop.body.front().op()) : nullptr;
  if (signal && program.mailboxes[signal->box].sync == Sync::Counter) return nullptr; // which this rank counts too
  return signal && goesToAllOthers(loop, signal->peer) && !signal->slot.uses(loop.variable) ? signal : nullptr;
}

void BodyEmitter::flagLine(SourceOffset where, const std::string &line) {
  apart(where);
  out.line(line);
}

void BodyEmitter::giveCredits(SourceOffset where, const Credit &credit) {
  const auto *first = std::get_if<PacketLoop>(&program.body[2].op());
  if (!credit.releases && !program.chunks && first && !first->rows && program.domains().size() == 1) { // of several, one may have no packet
    givesInLoop = true;
    return;
  }
  apart(where);
  out.line("Credits::give(launch);");
}

const AwaitCredit *BodyEmitter::onlyWait(const Block &body) {
  return body.size() == 1 ? std::get_if<AwaitCredit>(&body.front().op()) : nullptr;
}

const AwaitCredit *BodyEmitter::ofAllOthers(const ForRanks &loop) const {
  const AwaitCredit *credit = onlyWait(loop.body);
  return credit && credit->peer.isVariable(loop.variable) ? credit : nullptr;
}

const AwaitCredit *BodyEmitter::ofAllOthers(const For &loop) const {
  const AwaitCredit *credit = onlyWait(loop.body);
  return credit && goesToAllOthers(loop, credit->peer) ? credit : nullptr;
}

bool BodyEmitter::goesToAllOthers(const For &loop, const Index &peer) const {
  const Index next = Index::mod(Index::add(Index::variable("me"), Index::variable(loop.variable)),
                                Index::constant(program.ranks));
  return loop.first.isConstant(1) && loop.last.isConstant(program.ranks - 1) && peer == next;
}

std::string BodyEmitter::awaitText(const AwaitCredit &s, const std::string &hop) const {
  const auto memory = creditNames.find(&s);
  return (memory == creditNames.end() ? "Credits::awaitWithCta" : memory->second + ".await") + "(launch, " +
         std::to_string(program.mailboxes[s.box].copies) + hop + ");";
}

void BodyEmitter::declareCredits(const PacketLoop &loop) {
  walk(loop.body, [&](const Stmt &s) {
    if (const auto *credit = std::get_if<AwaitCredit>(&s.op())) {
      creditNames[credit] = creditNames.empty() ? "credits" : names.names.unique("credits");
      out.line("Credits " + Twine(creditNames[credit]) + "; // what this thread has waited for");
    }
  });
}

} // namespace coll::codegen
