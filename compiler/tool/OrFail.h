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
  }
  return Exit::Refuted;
}

/// The value, or the error as a Failure.
template <class T>
T orFail(Result<T> result) {
  if (!result) throw Failure{exitCodeOf(result.error()), result.error().text};
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

} // namespace coll::tool
