// Values as C++ text: a packet, the floats of one, or a number. Internal to codegen/.
#pragma once

#include "codegen/EmitBody.h"

#include <functional>
#include <set>

namespace coll::codegen {

/// Without the parentheses around all of a text, where it stands alone.
std::string withoutParentheses(llvm::StringRef text);

class Expressions {
public:
  Expressions(const ir::Program &p, const BodyNames &n, std::function<std::string(const ir::Index &)> i);

  enum class Form { Packet, Elements };
  /// Says how a value is written from now on.
  void set(ir::ValueId value, std::string text, Form form) { known[value] = {std::move(text), form}; }
  bool has(ir::ValueId value) const { return known.count(value); }
  void forget(ir::ValueId value) { known.erase(value); }

  Form formOf(ir::ValueId value) const { return known.at(value).form; }
  const std::string &text(ir::ValueId value) const { return known.at(value).text; }
  std::string packet(ir::ValueId value) const; ///< as `Packet`
  std::string elements(ir::ValueId value) const; ///< as `coll::Elements`

  /// Sets the text of what a Constant, Argument or Map computes, from that of its operands.
  void define(const ir::Stmt &stmt);
  static bool defines(const ir::Stmt &stmt);
  /// Whether what a Map makes is a packet, and not the elements of one.
  static bool makesPacket(const ir::Program &program, const ir::Map &map);

  /// The type of a value's elements as C++ has it: `coll::Floats<N>`.
  std::string typeOf(ir::ValueId value, llvm::StringRef count) const;
  /// What stores a value's elements as those of another type: they are rounded, or as they are.
  std::string storeOf(ir::ValueId value) const;

private:
  struct Known {
    std::string text;
    Form form;
  };
  const ir::Program &program;
  const BodyNames &names;
  std::function<std::string(const ir::Index &)> numberText; ///< as text
  std::map<ir::ValueId, Known> known;
  std::set<ir::ValueId> unrounded;    ///< floats that a store rounds
  std::set<ir::ValueId> computedWith; ///< what a Map or row reduction takes

  std::string mapText(const ir::Map &map) const;
  void convert(const ir::Map &map);
  /// Whether what rounds is left to the store or mailbox that takes it, as nothing is computed with it.
  bool staysWide(const ir::Map &map) const;
  std::string number(DType type, const std::string &text) const;
};

} // namespace coll::codegen
