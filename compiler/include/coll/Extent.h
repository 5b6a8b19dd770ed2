// An extent as text, such as `M`, `N`, `128`, `H/16` or `(2*M)+1`: what it comes to, and what it is made of.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coll {

/// Whether it is worked out of others.
inline bool isComputed(std::string_view extent) { return extent.find_first_of("+-*/(") != std::string_view::npos; }

/// Reads an extent in an algebra: `Value number(std::uint64_t)`, `Value named(std::string_view)` of `N` and free extents,
/// `Value binary(char, Value, Value)` of + - * /, and `Value log2(Value)`. Allocates nothing itself.
template <class Value, class Algebra>
class ExtentReader {
public:
  ExtentReader(std::string_view t, Algebra &a) : text(t), algebra(a) {}
  Value read() { return sum(); }

private:
  std::string_view text;
  Algebra &algebra;

  bool take(char c) {
    if (text.empty() || text.front() != c) return false;
    text.remove_prefix(1);
    return true;
  }

  Value sum() {
    Value value = product();
    for (;;) {
      if (take('+')) value = algebra.binary('+', value, product());
      else if (take('-')) value = algebra.binary('-', value, product());
      else return value;
    }
  }

  Value product() {
    Value value = factor();
    for (;;) {
      if (take('*')) value = algebra.binary('*', value, factor());
      else if (take('/')) value = algebra.binary('/', value, factor());
      else return value;
    }
  }

  Value bracketed() {
    Value value = sum();
    take(')');
    return value;
  }

  Value factor() {
    if (take('(')) return bracketed();
    std::size_t end = 0;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end);
    if (word == "log2" && take('(')) return algebra.log2(bracketed());
    if (word.empty() || !std::isdigit(static_cast<unsigned char>(word.front()))) return algebra.named(word);
    std::uint64_t number = 0;
    for (char digit : word) number = number * 10 + std::uint64_t(digit - '0');
    return algebra.number(number);
  }
};

/// The arithmetic of extents, and whether 64 bits were too few once. What would be less than 0 is 0, quotients and logarithms
/// are rounded down, of and by 0 they are 0.
struct ExtentArithmetic {
  bool large = false;

  std::uint64_t log2(std::uint64_t n) const { return n ? std::uint64_t(63 - __builtin_clzll(n)) : 0; }
  std::uint64_t binary(char op, std::uint64_t a, std::uint64_t b) {
    std::uint64_t value = 0;
    if (op == '+') large |= __builtin_add_overflow(a, b, &value);
    else if (op == '*') large |= __builtin_mul_overflow(a, b, &value);
    else if (op == '-') value = a > b ? a - b : 0;
    else value = b ? a / b : 0;
    return value;
  }
};

/// What an extent comes to where `valueOf(name)` gives that of each name, `N` among them. Once 64 bits are too few it is the
/// largest number.
template <class ValueOf>
std::uint64_t extentValue(std::string_view extent, const ValueOf &valueOf) {
  struct Numbers : ExtentArithmetic {
    const ValueOf &valueOf;

    explicit Numbers(const ValueOf &v) : valueOf(v) {}
    std::uint64_t number(std::uint64_t n) { return n; }
    std::uint64_t named(std::string_view name) { return valueOf(name); }
  } numbers{valueOf};
  const std::uint64_t value = ExtentReader<std::uint64_t, Numbers>(extent, numbers).read();
  return numbers.large ? UINT64_MAX : value;
}

/// An extent that has been read, to be worked out again and again without its text. Working it out allocates nothing.
class ExtentSteps {
public:
  /// `names` are the free extents; every other name is `N`.
  ExtentSteps(std::string_view extent, std::span<const std::string> names, std::uint64_t n) {
    Recorder recorder{{}, names, n};
    ExtentReader<Recorder::Written, Recorder>(extent, recorder).read();
    steps = std::move(recorder.steps);
  }

  /// As extentValue; `values` of the free extents, in their order.
  std::uint64_t value(std::span<const std::uint64_t> values) const {
    ExtentArithmetic arithmetic;
    std::size_t end = steps.size();
    const std::uint64_t result = operand(end, values, arithmetic);
    return arithmetic.large ? UINT64_MAX : result;
  }

private:
  /// Operands stand before their operators.
  struct Step {
    enum Kind : char { Number, Named, Log2, Binary } kind;
    char op = 0;
    std::uint64_t number = 0; ///< a number, or the place of a free extent
  };
  struct Recorder {
    struct Written {};
    std::vector<Step> steps;
    std::span<const std::string> names;
    std::uint64_t n;

    Written add(Step step) { return steps.push_back(step), Written(); }
    Written number(std::uint64_t of) { return add({Step::Number, 0, of}); }
    Written named(std::string_view name) {
      const auto found = std::find(names.begin(), names.end(), name);
      return found == names.end() ? number(n) : add({Step::Named, 0, std::uint64_t(found - names.begin())});
    }
    Written log2(Written) { return add({Step::Log2}); }
    Written binary(char op, Written, Written) { return add({Step::Binary, op}); }
  };

  /// Of the step before `end`, which moves to where its operands begin.
  std::uint64_t operand(std::size_t &end, std::span<const std::uint64_t> values, ExtentArithmetic &arithmetic) const {
    const Step &step = steps[--end];
    if (step.kind == Step::Number) return step.number;
    if (step.kind == Step::Named) return values[step.number];
    const std::uint64_t last = operand(end, values, arithmetic);
    return step.kind == Step::Log2 ? arithmetic.log2(last)
                                   : arithmetic.binary(step.op, operand(end, values, arithmetic), last);
  }

  std::vector<Step> steps;
};

/// Calls `visit(name)` for `N` and each free extent in it.
template <class Visit>
void forNames(std::string_view extent, const Visit &visit) {
  extentValue(extent, [&](std::string_view name) {
    visit(name);
    return std::uint64_t(0);
  });
}

/// Whether it is, or is worked out of, `N` or a free extent.
inline bool mentions(std::string_view extent, std::string_view name) {
  bool found = false;
  forNames(extent, [&](std::string_view other) { found |= other == name; });
  return found;
}

/// Whether it is worked out as a product.
inline bool isProduct(std::string_view extent) {
  int depth = 0;
  bool multiplies = false;
  for (const char c : extent) {
    depth += (c == '(') - (c == ')');
    if (depth == 0 && (c == '+' || c == '-' || c == '/')) return false;
    multiplies |= depth == 0 && c == '*';
  }
  return multiplies;
}

/// Whether it is `N`, or a product of it: those are written with `N` first.
inline bool hasFactorN(std::string_view extent) { return extent == "N" || (extent.starts_with("N*") && isProduct(extent)); }

} // namespace coll
