#include "platform/Env.h"

#include <cstdlib>

namespace coll::env {
namespace {

// clang-format off
constexpr const char *kNames[] = {
#define COLL_ENV(Enum, Name, Value, Help) Name,
#include "platform/Env.def"
};
// clang-format on

} // namespace

const char *name(Variable variable) {
  return kNames[int(variable)];
}

std::optional<std::string> get(Variable variable) {
  const char *value = std::getenv(name(variable));
  if (!value || !*value) return std::nullopt;
  return value;
}

std::vector<Description> list() {
  return {
#define COLL_ENV(Enum, Name, Value, Help) {Name, Value, Help},
#include "platform/Env.def"
  };
}

} // namespace coll::env
