// Errors as values: what every function of the runtime that can fail returns.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace coll {

/// What went wrong, and for whom to mend. `text` is a whole message: lower case, no full stop, code in backticks; it
/// may have several lines.
struct Error {
  enum class Code {
    BadInput,     ///< the caller's: a file, a name, an argument, a count
    Refuted,      ///< the program is wrong, and the checker or a verified run says so
    MachineLacks, ///< this machine has not got what was asked for: a library, a GPU, a link
    Failed,       ///< something that should have worked did not: a call of CUDA, a launch that ran out of time
    Internal,     ///< a mistake of Coll's own, as a kernel's text that does not compile
  };
  Code code = Code::Failed;
  std::string text;
};

/// A T or the Error for which there is none. Test it before use: `if (!r) return r.error(); use(*r);` Untested, `*` and
/// `->` of an error throw std::bad_variant_access, as error() of a T does.
template <class T>
class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state.index() == 0; }
  T &operator*() & { return std::get<0>(state); }
  const T &operator*() const & { return std::get<0>(state); }
  T &&operator*() && { return std::get<0>(std::move(state)); }
  T *operator->() { return &std::get<0>(state); }
  const T *operator->() const { return &std::get<0>(state); }
  const Error &error() const { return std::get<1>(state); }

private:
  std::variant<T, Error> state;
};

/// Success, or the Error. Returned by what has nothing else to give; `{}` is success.
template <>
class [[nodiscard]] Result<void> {
public:
  Result() = default;
  Result(Error error) : failed(true), cause(std::move(error)) {}

  explicit operator bool() const { return !failed; }
  const Error &error() const { return cause; }

private:
  bool failed = false;
  Error cause;
};

} // namespace coll
