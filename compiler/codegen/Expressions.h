// Values as C++ text: a packet, the floats of one, or a number. Internal to codegen/.
#pragma once

#include "codegen/EmitBody.h"

namespace coll::codegen {

/// Without the parentheses around all of a text, where it stands alone.
std::string withoutParentheses(llvm::StringRef text);

class Expressions {
public:
  Expressions(const ir::Program &p, const BodyNames &n) : program(p), names(n) {}

  enum class Form { Packet, Floats };
  /// Says how a value is written from now on.
  void set(ir::ValueId value, std::string text, Form form) { known[value] = {std::move(text), form}; }
  bool has(ir::ValueId value) const { return known.count(value); }
  void forget(ir::ValueId value) { known.erase(value); }

  Form formOf(ir::ValueId value) const { return known.at(value).form; }
  const std::string &text(ir::ValueId value) const { return known.at(value).text; }
  std::string packet(ir::ValueId value) const; ///< as `Packet`
  std::string floats(ir::ValueId value) const; ///< as `coll::Floats`

  /// Sets the text of what a Constant, Argument or Map computes, from that of its operands.
  void define(const ir::Stmt &stmt);
  static bool defines(const ir::Stmt &stmt);

private:
  struct Known {
    std::string text;
    Form form;
  };
  const ir::Program &program;
  const BodyNames &names;
  std::map<ir::ValueId, Known> known;

  std::string mapText(const ir::Map &map) const;
};

} // namespace coll::codegen
