// The checker's findings in words.
#pragma once

#include "check/Check.h"

namespace coll::check {

/// Which rule proves it, for the header of the generated kernel.
std::string proofText(const ir::Program &program, const Verdict &verdict);
/// `reliesOnWaits`: as Order says.
std::string strengthText(const ir::Program &program, bool reliesOnWaits);

/// Fills explanation and fix of a hazard between launches. `enough`: copies with which there is none, empty if there
/// is no such number.
void explainOrder(const ir::Program &program, Refutation &refutation, const std::vector<int> &enough);

} // namespace coll::check
