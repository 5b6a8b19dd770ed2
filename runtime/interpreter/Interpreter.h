// Runs a program of the IR, as lowered, on ranks of its own: no CUDA text, no C++ compiler.
#pragma once

#include "context/RunLayout.h"

namespace coll::ir {
struct Program;
}

namespace coll::interpreter {

/// What a program has that is not interpreted, in words; empty if there is nothing.
std::string unknown(const ir::Program &program);

/// Runs the launches back to back on every rank, as far apart as a schedule drawn from `seed` has it. memory[rank] holds
/// what RunLayout has filled, and the outputs afterwards. Returns what went wrong, for a person; empty if all launches
/// ended.
std::string run(const ir::Program &program, std::span<const PlannedLaunch> launches,
                std::span<std::vector<std::byte>> memory, std::uint64_t seed);

} // namespace coll::interpreter
