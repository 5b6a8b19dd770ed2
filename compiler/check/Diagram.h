// A launch, or the launches of a counterexample, as a picture: ranks as lanes, messages as arrows, time going down.
#pragma once

#include "check/Check.h"

namespace coll::check {

/// An SVG. Of a refuted program, a schedule in which it goes wrong: everything that the two events of the
/// counterexample need to have happened, then the later one, then the earlier, both in red. Of a proved one, a launch.
/// Empty if there is nothing to draw.
std::string drawDiagram(const ir::Program &program, const Verdict &verdict);

} // namespace coll::check
