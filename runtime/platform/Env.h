// The environment variables of Env.def. Nothing else in Coll calls getenv for a COLL_ variable.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace coll::env {

enum class Variable {
#define COLL_ENV(Enum, Name, Value, Help) Enum,
#include "platform/Env.def"
};

/// Its name, e.g. "COLL_NVRTC_PATH".
const char *name(Variable variable);

/// Its value now; empty if it is not set or set to nothing.
std::optional<std::string> get(Variable variable);

struct Description {
  std::string name, value, help;
};
/// All of them in the order of Env.def, for help texts.
std::vector<Description> list();

} // namespace coll::env
