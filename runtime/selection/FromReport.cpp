#include "selection/FromReport.h"

#include "llvm/Support/JSON.h"

#include <algorithm>
#include <cmath>

namespace coll::selection {
namespace {

using llvm::json::Object;

/// "NVIDIA H200" of "2 x NVIDIA H200".
std::string gpuOf(const std::string &machine) {
  const std::size_t times = machine.find(" x ");
  return times == std::string::npos ? machine : machine.substr(times + 3);
}

std::string text(const Object &object, const char *key) {
  const auto found = object.getString(key);
  return found ? found->str() : "";
}

double number(const Object &object, const char *key) {
  return object.getNumber(key).getValueOr(0);
}

bench::Row rowOf(const Object &object) {
  bench::Row row;
  row.rival = text(object, "rival");
  row.bytes = std::uint64_t(number(object, "bytes"));
  row.time.median = number(object, "median");
  row.wrong = std::uint64_t(number(object, "wrong"));
  row.ctas = unsigned(number(object, "ctas")), row.threads = unsigned(number(object, "threads"));
  row.verified = object.getBoolean("verified").getValueOr(false);
  row.believable = object.getBoolean("believable").getValueOr(false);
  row.foreign = object.getBoolean("foreign").getValueOr(false);
  return row;
}

bool samePlace(const Section &a, const Section &b) {
  return a.gpu == b.gpu && a.collective == b.collective && a.dtype == b.dtype && a.ranks == b.ranks &&
         a.inplace == b.inplace;
}

} // namespace

Result<Section> sectionOf(const bench::Report &report) {
  Section section;
  section.gpu = gpuOf(report.machine);
  section.collective = report.collective, section.dtype = report.dtype, section.ranks = report.ranks;
  section.inplace = report.inplace;
  section.date = report.date, section.driver = report.driver, section.nccl = report.nccl;
  section.floors = report.floors;
  for (const bench::Row &row : report.rows) {
    if (!row.verified || row.wrong || !row.believable || row.foreign || !(row.time.median > 0)) continue;
    section.curves[row.rival].points.push_back(
        {row.bytes, std::uint64_t(std::llround(row.time.median * 1e3)), row.ctas, row.threads});
  }
  for (auto &[name, curve] : section.curves) {
    const auto smaller = [](const Point &a, const Point &b) { return a.bytes < b.bytes; };
    std::stable_sort(curve.points.begin(), curve.points.end(), smaller);
    const auto same = [](const Point &a, const Point &b) { return a.bytes == b.bytes; };
    curve.points.erase(std::unique(curve.points.begin(), curve.points.end(), same), curve.points.end());
  }
  if (section.curves.empty())
    return Error{Error::Code::BadInput, "the measurement has no row that is right and possible"};
  return section;
}

Result<Section> sectionOfJson(const std::string &json, const std::string &name) {
  const auto bad = [&](const std::string &why) {
    return Error{Error::Code::BadInput, "`" + name + "` is no report of `coll bench`: " + why};
  };
  auto value = llvm::json::parse(json);
  if (!value) return bad(llvm::toString(value.takeError()));
  const Object *object = value->getAsObject();
  const auto *rows = object ? object->getArray("rows") : nullptr;
  const Object *floors = object ? object->getObject("floors") : nullptr;
  if (!rows || !floors) return bad("it has no `rows` or no `floors`");
  if (text(*object, "mode") != "graph") return bad("it was not measured from graphs");
  bench::Report report;
  report.collective = text(*object, "collective"), report.dtype = text(*object, "dtype");
  report.ranks = int(number(*object, "ranks")), report.inplace = object->getBoolean("inplace").getValueOr(false);
  report.machine = text(*object, "machine"), report.driver = text(*object, "driver");
  report.nccl = text(*object, "nccl"), report.date = text(*object, "date");
  report.floors.emptyNode = number(*floors, "emptyNode"), report.floors.oneWay = number(*floors, "oneWay");
  report.floors.bytesPerMicrosecond = number(*floors, "linkGBs") * 1e3;
  for (const llvm::json::Value &each : *rows)
    if (const Object *row = each.getAsObject()) report.rows.push_back(rowOf(*row));
  auto section = sectionOf(report);
  return section ? std::move(section) : bad(section.error().text);
}

void merge(Table &table, Section section) {
  const auto place = std::find_if(table.sections.begin(), table.sections.end(),
                                  [&](const Section &other) { return samePlace(other, section); });
  if (place == table.sections.end()) {
    table.sections.push_back(std::move(section));
    return;
  }
  for (const auto &[name, old] : place->curves) {
    std::vector<Point> &points = section.curves[name].points;
    for (const Point &point : old.points)
      if (std::none_of(points.begin(), points.end(), [&](const Point &p) { return p.bytes == point.bytes; }))
        points.push_back(point);
    std::sort(points.begin(), points.end(), [](const Point &a, const Point &b) { return a.bytes < b.bytes; });
  }
  *place = std::move(section);
}

} // namespace coll::selection
