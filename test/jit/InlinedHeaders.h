// A kernel's text with the device headers in it, for tests that plant a defect in them. The primitives of ptx.h and the
// types, which emulator and GPU have each of their own, stay includes.
#pragma once

#include "embed/Embedded.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace coll::embedded {
std::span<const EmbeddedFile> deviceHeaders();
}

namespace coll::test {

namespace detail {

inline std::string withHeaders(std::string_view text, std::set<std::string> &done) {
  constexpr std::string_view kInclude = "#include \"";
  std::string result;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, std::min(text.size(), text.find('\n') + 1));
    text.remove_prefix(line.size());
    const std::string name(line.starts_with(kInclude) ? line.substr(kInclude.size(), line.rfind('"') - kInclude.size())
                                                      : "");
    if (name == "coll/ptx.h" || name == "coll/types.h" || (name.empty() && line != "#pragma once\n")) {
      result += line;
    } else if (!name.empty() && done.insert(name).second) {
      for (const EmbeddedFile &file : embedded::deviceHeaders())
        if (file.name == name) result += withHeaders(file.text, done);
    }
  }
  return result;
}

} // namespace detail

inline std::string withHeaders(std::string_view text) {
  std::set<std::string> done;
  return detail::withHeaders(text, done);
}

/// `text` with the one place that reads `what` reading `by`.
inline std::string replaced(std::string text, const std::string &what, const std::string &by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << "nothing reads `" << what << "`";
  if (at == std::string::npos) return text;
  EXPECT_EQ(text.find(what, at + 1), std::string::npos) << "more than one place reads `" << what << "`";
  return text.replace(at, what.size(), by);
}

} // namespace coll::test
