// Columns, `T[R][1]`: vectors of their own, or numbers of the rows of a matrix. What is only taken beside a matrix is loaded as
// its numbers there; what is also assigned, reduced, mailed or stored goes by the rows wherever it stands. Which that is shows
// where a column meets a matrix, so the text is then gone through anew.
#include "ir/Builder.h"

namespace coll::ir {
namespace {

std::vector<std::string> rowsIn(const Length &length) { return {length.extents.begin(), length.extents.end() - 1}; }

} // namespace

std::optional<Length> Builder::rowsOf(const Length &column) const {
  const auto known = column.isColumn() ? columns.find(rowsIn(column)) : columns.end();
  if (known == columns.end()) return std::nullopt;
  Length length = column;
  length.extents.back() = known->second;
  return length;
}

void Builder::meets(const Length &column, const std::string &row) {
  if (column.isColumn()) learnt.emplace(rowsIn(column), row);
}

void Builder::findStored() {
  struct Way {
    std::string row; ///< how long the rows are that it goes by
    bool asVector = false, stored = false;
  };
  std::map<BufferId, Way> ways;
  const auto note = [&](const Slice &slice, bool perRow, ValueId value, bool stores) {
    if (!slice.length.isColumn()) return;
    BufferId memory = slice.buffer;
    for (const auto &[out, in] : program.aliases)
      if (in.buffer == memory) memory = out.buffer;
    Way &way = ways[memory];
    way.stored |= stores;
    if (perRow) way.row = program.values[value].length.extents.back();
    else way.asVector = true;
    if (way.stored && way.asVector && !way.row.empty()) meets(slice.length, way.row);
  };
  walk(program.body, [&](const Stmt &s) {
    if (const auto *load = std::get_if<Load>(&s.op())) note(load->from, load->perRow, load->result, false);
    if (const auto *store = std::get_if<Store>(&s.op())) note(store->to, store->perRow, store->value, true);
  });
}

bool Builder::learn(ColumnsOfRows &known) const {
  bool more = false;
  for (const auto &[rows, row] : learnt) more |= known.emplace(rows, row).second;
  return more;
}

} // namespace coll::ir
