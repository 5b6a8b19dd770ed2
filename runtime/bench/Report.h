// What a run of `coll bench` found, and how it is written: a table for a person, CSV, JSON, a picture.
#pragma once

#include "bench/Limit.h"
#include "bench/Plot.h"
#include "bench/Statistics.h"
#include "bench/Trace.h"

#include <map>
#include <optional>

namespace coll::bench {

/// One rival at one size.
struct Row {
  std::string rival;   ///< `oneshot.ll`, `nccl`, `nccl-symmetric`
  std::string version; ///< of NCCL where it is that
  std::uint64_t bytes = 0, elements = 0;
  unsigned operations = 0, replays = 0;
  Statistics time;           ///< microseconds an operation, of each replay the fastest rank
  double slowestRank = 0;    ///< the median of each replay's slowest rank
  double limit = 0, bus = 0; ///< microseconds; GB/s as nccl-tests count it
  std::uint64_t wrong = 0;   ///< elements, in the verification and at the end of the chain
  std::string firstWrong;
  bool verified = false, believable = true;
  bool foreign = false;             ///< neither a member nor NCCL: no choice for selection
  unsigned ctas = 0, threads = 0;   ///< of its launches where they were not by the shape rule
  unsigned gridCtas = 0, gridThreads = 0; ///< CTAs that the graph launches for an operation, and threads of each; 0: eager
  std::string note; ///< what NCCL chose

  double ratio() const { return limit > 0 ? time.median / limit : 0; }
};

struct Report {
  // What was measured, and where.
  std::string collective, dtype, op, machine, driver, cuda, nvrtc, nccl, date, command;
  std::vector<std::pair<std::string, std::string>> environment; ///< variables of NCCL's that were set, by whomever
  int ranks = 0;
  std::map<std::string, std::uint64_t> extents; ///< those that are the same at all sizes
  bool graph = true, inplace = false;
  std::string reference; ///< what results were compared with

  Floors floors;
  std::vector<Row> rows; ///< size by size
  std::map<std::uint64_t, std::string> selected; ///< by size: the rival that selection would take
  std::vector<TracedLaunch> traced;
  std::vector<std::string> notes;

  /// Whether all of Coll's own results were right and all figures are possible.
  bool good() const;
};

/// The row that was selected at a size, and the quickest right one of the others that could have been.
struct Selected {
  const Row *row, *other;
};
std::optional<Selected> selectedAt(const Report &report, std::uint64_t bytes);

std::string heading(const Report &report);
/// The floors in words, then the names of the columns.
std::string tableHead(const Report &report, std::size_t rivalWidth);
std::string tableRow(const Row &row, std::size_t rivalWidth);
/// Medians alone: a line a size, a column a rival.
std::string summary(const Report &report);
/// What was selected at each size and what the best of the others takes; empty if nothing was asked to select.
std::string selectionText(const Report &report);
std::string toCsv(const Report &report);
std::string toJson(const Report &report);
Plot plotOf(const Report &report);

} // namespace coll::bench
