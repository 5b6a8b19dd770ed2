// The verbs that the command line keeps a place for and this version does not have: Main.cpp refuses those without a
// function, whatever follows them.
#include "tool/Arguments.h"

namespace coll::tool {

extern const Verb benchVerb, tuneVerb, fuzzVerb;

const Verb benchVerb{"bench", "WHAT", "latency and bandwidth tables (not there yet)", {}, "", nullptr};
const Verb tuneVerb{"tune", "WHAT", "search the `tune` spaces for a machine (not there yet)", {}, "", nullptr};
const Verb fuzzVerb{"fuzz", "WHAT", "adversarial runs on the CPU (not there yet)", {}, "", nullptr};

} // namespace coll::tool
