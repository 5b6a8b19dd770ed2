// From the runtime's errors as values to the tool's way out.
#pragma once

#include "coll/Result.h"
#include "tool/Failure.h"

namespace coll::tool {

inline Exit exitCodeOf(const Error &error) {
  switch (error.code) {
  case Error::Code::BadInput: return Exit::BadInput;
  case Error::Code::Refuted: return Exit::Refuted;
  case Error::Code::MachineLacks: return Exit::Lacking;
  case Error::Code::Failed: return Exit::Refuted;
  case Error::Code::Internal: return Exit::Internal;
  }
  return Exit::Refuted;
}

inline constexpr const char *kAskToReport = "please report it with the command and its input";

/// Of what the machine lacks, the last line says how to get it.
inline Failure failureOf(const Error &error) {
  const std::size_t line = error.text.rfind('\n');
  if (error.code == Error::Code::MachineLacks && line != std::string::npos)
    return {exitCodeOf(error), error.text.substr(0, line), error.text.substr(line + 1)};
  if (error.code != Error::Code::Internal) return {exitCodeOf(error), error.text};
  return {Exit::Internal, "internal error: " + error.text, kAskToReport};
}

/// The value, or the error as a Failure.
template <class T>
T orFail(Result<T> result) {
  if (!result) throw failureOf(result.error());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

} // namespace coll::tool
