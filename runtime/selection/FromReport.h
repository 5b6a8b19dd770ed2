// From what `coll bench` and `coll tune` measured to a section of a table.
#pragma once

#include "bench/Report.h"
#include "selection/Table.h"

namespace coll::selection {

/// Rows that are right and possible, of Coll's members and of NCCL. Error::BadInput where there are none.
Result<Section> sectionOf(const bench::Report &report);
/// The same from JSON that `coll bench --json` wrote.
Result<Section> sectionOfJson(const std::string &json, const std::string &name);

/// Puts `section` into the table, in the place of one for the same GPU, collective, ranks, type and placement; what
/// only that one has, other rivals or sizes, stays.
void merge(Table &table, Section section);

} // namespace coll::selection
