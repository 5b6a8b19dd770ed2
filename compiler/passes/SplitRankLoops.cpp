#include "passes/SplitRankLoops.h"

#include "passes/RankLoops.h"
#include "passes/Traffic.h"

namespace coll::passes {

using namespace ir;

namespace {

bool awaits(const Block &block) {
  bool found = false;
  walk(block, [&](const Stmt &s) { found |= std::holds_alternative<Await>(s.op()); });
  return found;
}

bool awaits(const Stmt &stmt) {
  const Block *body = bodyOf(stmt);
  return std::holds_alternative<Await>(stmt.op()) || (body && awaits(*body));
}

/// The statements of a block in runs that only wait and runs that do not, an `if` over both once for each; nothing if an
/// inner loop has both, or is one over ranks.
std::optional<std::vector<Block>> runsOf(const Block &block) {
  std::vector<Block> runs;
  bool waiting = false;
  const auto add = [&](Stmt part) {
    const bool waits = awaits(part);
    if (runs.empty() || waits || waiting) runs.emplace_back();
    waiting = waits;
    runs.back().push_back(std::move(part));
  };
  for (const Stmt &stmt : block) {
    if (std::holds_alternative<Await>(stmt.op()) || !awaits(stmt)) {
      add(stmt);
      continue;
    }
    const auto inner = runsOf(*bodyOf(stmt));
    const auto *branch = std::get_if<If>(&stmt.op());
    if (!inner || (!branch && (inner->size() > 1 || !std::holds_alternative<For>(stmt.op())))) return std::nullopt;
    for (const Block &run : *inner)
      if (branch) add(If{branch->condition, run, branch->where});
      else add(stmt);
  }
  return runs;
}

/// Whether a run takes what an earlier one makes.
bool passOn(const std::vector<Block> &runs) {
  std::vector<ValueId> made;
  bool taken = false;
  for (const Block &run : runs) {
    for (const Stmt &stmt : run) usesOf(stmt, [&](ValueId v) { taken |= v != kNone && llvm::is_contained(made, v); });
    walk(run, [&](const Stmt &s) { made.push_back(resultOf(s)); });
  }
  return taken;
}

/// What waits is apart from what does not, in one loop over ranks for each run of either.
void splitAtAwaits(Program &program, Stmt &stmt, Block &parts) {
  const ForRanks &loop = std::get<ForRanks>(stmt.op());
  const auto runs = runsOf(loop.body);
  if (!runs || passOn(*runs)) {
    inOrder(program, stmt);
    parts.push_back(std::move(stmt));
    return;
  }
  for (const Block &run : *runs) parts.push_back(ForRanks{loop.variable, run, loop.where});
}

bool isSentAndRead(const Traffic &traffic) {
  return llvm::any_of(traffic.sent, [&](MailboxId box) { return traffic.polled.count(box) > 0; });
}

/// Where the reads begin of what a loop over ranks sends before; 0 if the loop cannot be split there.
std::size_t firstRead(const Program &program, const Stmt &loop) {
  const Traffic all = trafficOf(program, loop);
  const Block &body = *bodyOf(loop);
  const auto isBoth = [&](MailboxId box) { return all.sent.count(box) && all.polled.count(box); };
  std::size_t at = 0;
  while (at < body.size() && llvm::none_of(trafficOf(program, body[at]).polled, isBoth)) ++at;
  BoxSet sentLater;
  std::vector<Block> halves(2);
  for (std::size_t s = 0; s < body.size(); ++s) {
    halves[s >= at].push_back(body[s]);
    if (s >= at)
      for (MailboxId box : trafficOf(program, body[s]).sent) sentLater.insert(box);
  }
  return passOn(halves) || llvm::any_of(sentLater, isBoth) ? 0 : at;
}

/// The sends of a loop over ranks are apart from the reads of the same mailbox.
void splitAtReads(Program &program, Stmt &stmt, Block &parts) {
  const std::size_t at = firstRead(program, stmt);
  if (at == 0) {
    inOrder(program, stmt);
    parts.push_back(std::move(stmt));
    return;
  }
  auto &loop = std::get<ForRanks>(stmt.op());
  ForRanks reads{loop.variable, {}, loop.where};
  std::move(loop.body.begin() + long(at), loop.body.end(), std::back_inserter(reads.body));
  loop.body.resize(at);
  parts.push_back(std::move(stmt));
  parts.push_back(std::move(reads));
}

} // namespace

void splitRankLoops(Program &program, Block &block) {
  Block parts;
  for (Stmt &stmt : block) {
    if (!std::holds_alternative<ForRanks>(stmt.op())) parts.push_back(std::move(stmt));
    else if (awaits(stmt)) splitAtAwaits(program, stmt, parts);
    else if (isSentAndRead(trafficOf(program, stmt))) splitAtReads(program, stmt, parts);
    else parts.push_back(std::move(stmt));
  }
  block = std::move(parts);
}

} // namespace coll::passes
