// From `--algo`, `-n`, `--dtype`, `--op` and sizes to the instances that a verb works on.
#pragma once

#include "coll/Compiler.h"
#include "tool/Arguments.h"

namespace coll::tool {

/// The options by which every verb picks instances.
namespace option {
inline constexpr Option algo{"--algo", "A", "a member, such as oneshot.ll, or an algorithm with all its modes"};
inline constexpr Option ranks{"-n", "N", "number of ranks; 8 if not given"};
inline constexpr Option dtype{"--dtype", "T", "element type; f32 if not given"};
inline constexpr Option op{"--op", "O", "reduction operator; sum if not given"};
inline constexpr Option noMulticast{"--no-multicast", "", "as on a team without multicast: its loop form alone"};
} // namespace option

/// The members that `--algo` names; all where it was not given. Never empty.
std::vector<const Member *> pickMembers(const Program &program, const Arguments &arguments);
/// The one member that `--algo` names, or the only one there is.
const Member &pickMember(const Program &program, const Arguments &arguments);

/// Each of these is the option's value, or the default where that was not given: f32 and sum if offered, else the first
/// that is. A failure names what the member offers.
DType pickDType(const Member &member, const Arguments &arguments);
ReduceOp pickOp(const Member &member, const Arguments &arguments);
int pickRanks(const Member &member, const Arguments &arguments);

Instance pickInstance(const Member &member, const Arguments &arguments);

/// `allreduce.oneshot.ll, 8 ranks, f32 sum`
std::string describe(const Member &member, const Instance &instance);
/// `f32 sum`, or `f32` where the collective has no operator.
std::string describeTypes(const Member &member, const Instance &instance);

/// Why an option that was given means nothing for a kernel; empty if all that were mean something.
std::string meaningless(const Kernel &kernel, const Arguments &arguments);
/// Fails if one does.
void askForMeaning(const Kernel &kernel, const Arguments &arguments);

/// The members that `--algo` names, less those that cannot be compiled with these options if it names several. Never
/// empty.
std::vector<const Member *> pickMembersToRun(const Program &program, const Arguments &arguments);

/// Whether this version can emit the member, for its default type and operator: a mode or a statement may have to wait.
bool canEmit(const Program &program, const Member &member);

} // namespace coll::tool
