// The checker's findings in words.
#pragma once

#include "check/Check.h"
#include "check/Scalars.h"

namespace coll::check {

/// Which rule proves it, for the header of the generated kernel.
std::string proofText(const ir::Program &program, const Verdict &verdict);
/// What is assumed of hardware beyond the PTX memory model. `trusts`: its orders alone are not enough. `reliesOnWaits`,
/// `reliesOnValues`: as Order says; `reliesOnFetches`: as Dataflow.
std::vector<std::string> assumptions(const ir::Program &program, bool trusts, bool reliesOnWaits, bool reliesOnValues, bool reliesOnFetches);
std::string strengthText(const ir::Program &program, const Verdict &verdict);

/// What no order of events can mend: lines that need more to take effect at once than the platform promises, payload
/// that may hold the value of an empty slot, and CTAs that meet CTAs of their number where grids may differ.
std::optional<Refutation> refuteByPlatform(const ir::Program &program, const Options &options);

/// The last of these: whether ranks must launch the same grid, and where a CTA meets its like.
std::optional<Refutation> refuteOtherGrids(const ir::Program &program);

/// Adds to the fix of an access without order that words of flags would give one.
void offerFlags(const ir::Program &program, Refutation &refutation);

/// Fills explanation and fix of a hazard between launches. `enough`: copies with which there is none, empty if there
/// is no such number.
void explainOrder(const ir::Program &program, Refutation &refutation, const std::vector<int> &enough);

/// What is said where not all values of scalars can be tried, and nothing goes wrong with those that are.
Refutation untried(const ir::Program &program, const ScalarClasses::Refusal &refusal);

/// The same where the launches of all values do more different things than can be followed.
Refutation untriedLaunches(const ir::Program &program);

/// What is said where not all launches that may follow each other can be tried.
Refutation untriedStreams(const ir::Program &program);

} // namespace coll::check
