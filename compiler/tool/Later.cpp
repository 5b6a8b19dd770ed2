// The verbs that the command line keeps a place for and this version does not have: Main.cpp refuses those without a
// function, whatever follows them.
#include "tool/Arguments.h"

namespace coll::tool {

extern const Verb tuneVerb;

const Verb tuneVerb{"tune", "WHAT", "search the `tune` spaces for a machine (not there yet)", {}, "", nullptr};

} // namespace coll::tool
