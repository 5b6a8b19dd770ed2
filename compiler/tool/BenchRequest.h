// From the command line to what is measured: members, sizes, rivals. For `bench` and `tune`.
#pragma once

#include "bench/Bench.h"
#include "tool/Arguments.h"

namespace coll::tool {

bench::Request benchRequest(const Program &program, const Arguments &arguments);

/// The command as it was typed, for the records: less the files that it writes, which are this machine's business.
std::string commandText(const Verb &verb, const Arguments &arguments);

} // namespace coll::tool
