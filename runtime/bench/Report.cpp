#include "bench/Report.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <set>

namespace coll::bench {
namespace {

__attribute__((format(printf, 1, 2))) std::string format(const char *pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string sizeText(std::uint64_t bytes) {
  static const char *const units[] = {"", "K", "M", "G"};
  unsigned unit = 0;
  while (unit < 3 && bytes >= 1024 && bytes % 1024 == 0) bytes /= 1024, ++unit;
  return std::to_string(bytes) + units[unit];
}

std::string gridText(const Row &row) {
  return row.gridCtas ? std::to_string(row.gridCtas) + "x" + std::to_string(row.gridThreads) : "-";
}

std::string checkText(const Row &row) {
  if (row.wrong) return std::to_string(row.wrong) + " wrong";
  return row.verified ? "ok" : "-";
}

std::string kindText(const Report &report) {
  return report.collective + ", " + std::to_string(report.ranks) + " ranks, " + report.dtype +
         (report.op.empty() ? "" : " " + report.op) + (report.inplace ? ", in place" : "") +
         (report.graph ? ", from a graph" : ", eager");
}

/// Names and sizes in the order of their first row.
template <class Key>
auto inOrder(const Report &report, Key key) {
  std::vector<std::decay_t<decltype(key(report.rows.front()))>> found;
  for (const Row &row : report.rows)
    if (std::find(found.begin(), found.end(), key(row)) == found.end()) found.push_back(key(row));
  return found;
}

const Row *find(const Report &report, std::uint64_t bytes, const std::string &rival) {
  for (const Row &row : report.rows)
    if (row.bytes == bytes && row.rival == rival) return &row;
  return nullptr;
}

bool isNccl(const Row &row) {
  return row.rival.rfind("nccl", 0) == 0;
}

std::string rivalOf(const Row &row) {
  return row.rival;
}
std::uint64_t bytesOf(const Row &row) {
  return row.bytes;
}

} // namespace

bool Report::good() const {
  return std::all_of(rows.begin(), rows.end(),
                     [](const Row &row) { return row.believable && (isNccl(row) || row.foreign || !row.wrong); });
}

std::string heading(const Report &report) {
  std::string text = "# " + kindText(report) + "\n# " + report.machine + ", driver " + report.driver + ", CUDA " +
                     report.cuda + ", NVRTC " + report.nvrtc + (report.nccl.empty() ? "" : ", NCCL " + report.nccl) +
                     ", " + report.date + "\n";
  std::string variables;
  for (const auto &[name, value] : report.environment) variables += " " + name + "=" + value;
  return text + (variables.empty() ? "" : "#" + variables + "\n");
}

std::string tableHead(const Report &report, std::size_t rivalWidth) {
  const Floors &floors = report.floors;
  return format("# floors: empty node %.3f us (without dependent launch %.3f), one way %.3f us, link %.1f GB/s (%s)\n"
                "# us an operation; limit = empty node + one way + bytes over link; grid = CTAs x threads launched\n",
                floors.emptyNode, floors.plainNode, floors.oneWay, floors.bytesPerMicrosecond / 1e3,
                floors.bandwidthBy.c_str()) +
         format("#%8s %10s  ", "bytes", "elements") + padded("rival", rivalWidth) +
         format(" %9s %9s %9s %9s %9s %6s %8s %9s  %s\n", "median", "min", "p99", "slowest", "limit", "x", "busGB/s",
                "grid", "check");
}

std::string tableRow(const Row &row, std::size_t rivalWidth) {
  std::string text = format(" %8s %10llu  ", sizeText(row.bytes).c_str(), (unsigned long long)row.elements) +
                     padded(row.rival, rivalWidth) +
                     format(" %9.3f %9.3f %9.3f %9.3f %9.3f %6.2f %8.2f %9s  %s", row.time.median, row.time.minimum,
                            row.time.p99, row.slowestRank, row.limit, row.ratio(), row.bus, gridText(row).c_str(),
                            checkText(row).c_str());
  if (!row.believable) text += ", BELOW THE FLOOR";
  if (!row.note.empty()) text += ", " + row.note;
  text += "\n";
  if (!row.firstWrong.empty()) text += "           " + row.firstWrong + "\n";
  return text;
}

std::optional<Selected> selectedAt(const Report &report, std::uint64_t bytes) {
  const auto found = report.selected.find(bytes);
  const Row *row = found == report.selected.end() ? nullptr : find(report, bytes, found->second);
  if (!row) return std::nullopt;
  Selected selected{row, nullptr};
  for (const Row &other : report.rows)
    if (other.bytes == bytes && &other != row && !other.foreign && !other.wrong &&
        (!selected.other || other.time.median < selected.other->time.median))
      selected.other = &other;
  return selected;
}

std::string selectionText(const Report &report) {
  if (report.selected.empty()) return "";
  std::string text = "\nselection, and the best of what it did not take:\n" +
                     format("%8s  %-20s %9s  %-20s %9s %9s\n", "bytes", "selected", "us", "other", "us", "costs");
  for (const auto &[bytes, name] : report.selected) {
    const auto selected = selectedAt(report, bytes);
    text += format("%8s  %-20s", sizeText(bytes).c_str(), name.c_str());
    if (!selected) {
      text += " not measured in this run\n";
      continue;
    }
    text += format(" %9.3f", selected->row->time.median);
    if (selected->other)
      text += format("  %-20s %9.3f %+9.3f", selected->other->rival.c_str(), selected->other->time.median,
                     selected->other->time.median - selected->row->time.median);
    text += "\n";
  }
  return text;
}

std::string summary(const Report &report) {
  const auto rivals = inOrder(report, rivalOf);
  std::string text = format("%8s %8s", "bytes", "limit");
  for (const std::string &rival : rivals)
    text += format(" %*s", int(std::max<std::size_t>(rival.size(), 9)), rival.c_str());
  text += "  best/limit";
  const bool hasNccl = std::any_of(report.rows.begin(), report.rows.end(), isNccl);
  const bool hasOwn = !std::all_of(report.rows.begin(), report.rows.end(),
                                  [](const Row &row) { return isNccl(row) || row.foreign; });
  text += hasNccl && hasOwn ? "  nccl/best\n" : "\n";
  double logSum = 0;
  unsigned compared = 0;
  for (std::uint64_t bytes : inOrder(report, bytesOf)) {
    double limit = 0, own = 0, nccl = 0, best = 0;
    std::string cells;
    for (const std::string &rival : rivals) {
      const int width = int(std::max<std::size_t>(rival.size(), 9));
      const Row *row = find(report, bytes, rival);
      cells += row ? format(" %*.3f", width, row->time.median) : format(" %*s", width, "-");
      if (!row) continue;
      limit = limit > 0 ? std::min(limit, row->limit) : row->limit;
      if (row->wrong) continue;
      if (row->foreign) continue;
      double &of = isNccl(*row) ? nccl : own;
      of = of > 0 ? std::min(of, row->time.median) : row->time.median;
      best = best > 0 ? std::min(best, row->time.median) : row->time.median;
    }
    text += format("%8s %8.3f", sizeText(bytes).c_str(), limit) + cells;
    text += best > 0 ? format("  %10.2f", (own > 0 ? own : best) / limit) : format("  %10s", "-");
    if (own > 0 && nccl > 0) {
      text += format("  %9.2f", nccl / own);
      logSum += std::log(nccl / own), ++compared;
    }
    text += "\n";
  }
  if (compared > 0)
    text += format("the best member is %.2fx as fast as the best of NCCL (geometric mean of %u sizes)\n",
                   std::exp(logSum / compared), compared);
  return text;
}

std::string toCsv(const Report &report) {
  std::string text = "collective,ranks,dtype,op,mode,inplace,bytes,elements,rival,version,operations,replays,median_us,"
                     "min_us,p99_us,slowest_rank_us,limit_us,ratio,bus_gbs,ctas,threads,wrong,verified,believable,note\n";
  for (const Row &row : report.rows)
    text += report.collective + "," + std::to_string(report.ranks) + "," + report.dtype + "," + report.op + "," +
            (report.graph ? "graph" : "eager") + "," + (report.inplace ? "1" : "0") + "," + std::to_string(row.bytes) +
            "," + std::to_string(row.elements) + "," + row.rival + "," + row.version + "," +
            std::to_string(row.operations) + "," + std::to_string(row.replays) + "," +
            format("%.4f,%.4f,%.4f,%.4f,%.4f,%.3f,%.3f,", row.time.median, row.time.minimum, row.time.p99,
                   row.slowestRank, row.limit, row.ratio(), row.bus) +
            std::to_string(row.gridCtas) + "," + std::to_string(row.gridThreads) + "," + std::to_string(row.wrong) +
            "," + (row.verified ? "1" : "0") + "," + (row.believable ? "1" : "0") + "," +
            row.note + "\n";
  return text;
}

std::string toJson(const Report &report) {
  using namespace llvm::json;
  const auto text = [](const std::string &value) { return fixUTF8(value); };
  Object environment, extents;
  for (const auto &[name, value] : report.environment) environment[text(name)] = text(value);
  for (const auto &[name, value] : report.extents) extents[text(name)] = std::int64_t(value);
  Array rows, notes, selections;
  for (const auto &[bytes, name] : report.selected) {
    Object one{{"bytes", std::int64_t(bytes)}, {"selected", name}};
    if (const auto selected = selectedAt(report, bytes)) {
      one["median"] = selected->row->time.median;
      if (selected->other) one["other"] = selected->other->rival, one["otherMedian"] = selected->other->time.median;
    }
    selections.push_back(std::move(one));
  }
  for (const std::string &note : report.notes) notes.push_back(text(note));
  for (const Row &row : report.rows)
    rows.push_back(Object{{"rival", row.rival},
                          {"version", row.version},
                          {"bytes", std::int64_t(row.bytes)},
                          {"elements", std::int64_t(row.elements)},
                          {"operations", row.operations},
                          {"replays", row.replays},
                          {"median", row.time.median},
                          {"min", row.time.minimum},
                          {"p99", row.time.p99},
                          {"slowestRank", row.slowestRank},
                          {"limit", row.limit},
                          {"ratio", row.ratio()},
                          {"busGBs", row.bus},
                          {"wrong", std::int64_t(row.wrong)},
                          {"verified", row.verified},
                          {"believable", row.believable},
                          {"foreign", row.foreign},
                          {"ctas", row.ctas},
                          {"threads", row.threads},
                          {"grid", Array{row.gridCtas, row.gridThreads}},
                          {"note", text(row.note)}});
  Object object{{"collective", report.collective},
                {"ranks", report.ranks},
                {"dtype", report.dtype},
                {"op", report.op},
                {"extents", std::move(extents)},
                {"mode", report.graph ? "graph" : "eager"},
                {"inplace", report.inplace},
                {"machine", text(report.machine)},
                {"driver", text(report.driver)},
                {"cuda", report.cuda},
                {"nvrtc", report.nvrtc},
                {"nccl", report.nccl},
                {"date", report.date},
                {"command", text(report.command)},
                {"environment", std::move(environment)},
                {"reference", text(report.reference)},
                {"floors", Object{{"emptyNode", report.floors.emptyNode},
                                  {"plainNode", report.floors.plainNode},
                                  {"oneWay", report.floors.oneWay},
                                  {"linkGBs", report.floors.bytesPerMicrosecond / 1e3},
                                  {"linkBy", report.floors.bandwidthBy}}},
                {"unit", "microseconds an operation"},
                {"notes", std::move(notes)},
                {"selection", std::move(selections)},
                {"rows", std::move(rows)}};
  return llvm::formatv("{0:2}\n", Value(std::move(object))).str();
}

static bool isNccl(const std::string &rival) {
  return rival.rfind("nccl", 0) == 0;
}

/// Those a person can tell apart: where there are many, NCCL and of members and of hand-written kernels what was the
/// quickest of its kind, or selected, at some size.
static std::set<std::string> worthDrawing(const Report &report) {
  constexpr std::size_t kMany = 12;
  std::set<std::string> all, best;
  for (const Row &row : report.rows) all.insert(row.rival);
  if (all.size() <= kMany) return all;
  for (std::uint64_t bytes : inOrder(report, bytesOf))
    for (bool foreign : {false, true}) {
      const Row *quickest = nullptr;
      for (const Row &row : report.rows)
        if (row.bytes == bytes && row.foreign == foreign && !isNccl(row.rival) && row.time.median > 0 &&
            (!quickest || row.time.median < quickest->time.median))
          quickest = &row;
      if (quickest) best.insert(quickest->rival);
    }
  for (const auto &[bytes, rival] : report.selected) best.insert(rival);
  for (const Row &row : report.rows)
    if (isNccl(row.rival)) best.insert(row.rival);
  return best;
}

Plot plotOf(const Report &report) {
  Plot plot{
      kindText(report), report.machine + ", " + report.date + (report.nccl.empty() ? "" : ", NCCL " + report.nccl), {}};
  const std::set<std::string> drawn = worthDrawing(report);
  const std::vector<std::string> rivals = inOrder(report, rivalOf);
  if (drawn.size() < rivals.size())
    plot.subtitle += "; without " + std::to_string(rivals.size() - drawn.size()) + " that are never the quickest of their kind";
  for (const std::string &rival : rivals) {
    if (!drawn.count(rival)) continue;
    PlotLine line{rival, {}};
    for (const Row &row : report.rows)
      if (row.rival == rival && row.time.median > 0) line.points.emplace_back(double(row.bytes), row.time.median);
    plot.lines.push_back(std::move(line));
  }
  PlotLine limit{"limit", {}, true};
  for (std::uint64_t bytes : inOrder(report, bytesOf)) {
    double least = 0;
    for (const Row &row : report.rows)
      if (row.bytes == bytes && row.limit > 0) least = least > 0 ? std::min(least, row.limit) : row.limit;
    if (least > 0) limit.points.emplace_back(double(bytes), least);
  }
  plot.lines.push_back(std::move(limit));
  return plot;
}

} // namespace coll::bench
