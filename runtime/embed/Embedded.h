// Texts that are part of the library: device headers, the standard library. See CollEmbed.cmake for how one gets in.
#pragma once

#include <span>
#include <string_view>

namespace coll {

/// A file whose text was embedded at build time. `name` is its path relative to the base it was embedded with.
struct EmbeddedFile {
  std::string_view name;
  std::string_view text;
};

} // namespace coll
