// A text as ANTLR's lexer wants it: one byte a character, so that a token's index is its byte offset. Bytes above 127
// only occur in comments, which the lexer skips whatever is in them.
#pragma once

#include <CharStream.h>

#include <string_view>

namespace coll {

class SourceStream final : public antlr4::CharStream {
public:
  explicit SourceStream(std::string_view text) : text(text) {}

  void consume() override { ++at; }
  std::size_t LA(ssize_t i) override {
    std::size_t place = i < 0 ? at + i : at + i - 1;
    return i == 0 ? 0 : place < text.size() ? static_cast<unsigned char>(text[place]) : static_cast<std::size_t>(EOF);
  }
  ssize_t mark() override { return -1; }
  void release(ssize_t) override {}
  std::size_t index() override { return at; }
  void seek(std::size_t index) override { at = index; }
  std::size_t size() override { return text.size(); }
  std::string getSourceName() const override { return {}; }
  std::string toString() const override { return std::string(text); }
  std::string getText(const antlr4::misc::Interval &interval) override {
    if (interval.a < 0 || static_cast<std::size_t>(interval.a) >= text.size()) return {};
    return std::string(text.substr(interval.a, interval.b - interval.a + 1));
  }

private:
  std::string_view text;
  std::size_t at = 0;
};

} // namespace coll
