#include "tool/EachMember.h"

#include <set>

using namespace coll;
using namespace coll::tool;

/// How bad it is; the codes' numbers say nothing of that.
static int badness(Exit code) {
  switch (code) {
  case Exit::Good: return 0;
  case Exit::Lacking: return 1;
  case Exit::BadInput: return 2;
  case Exit::Refuted: return 3;
  }
  return 3;
}

Exit coll::tool::eachMember(const std::vector<const Member *> &members, llvm::function_ref<bool(const Member &)> passes) {
  Exit worst = Exit::Good;
  std::set<std::string> said;
  const auto add = [&](Exit code) {
    if (badness(code) > badness(worst)) worst = code;
  };
  for (const Member *member : members) {
    try {
      if (!passes(*member)) add(Exit::Refuted);
    } catch (const Failure &failure) {
      if (members.size() == 1) throw;
      if (said.insert(failure.message).second) printFailure(failure);
      add(failure.code);
    }
  }
  return worst;
}
