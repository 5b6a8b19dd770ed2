#include "selection/Table.h"

#include "embed/Embedded.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <span>

namespace coll {

namespace embedded {
std::span<const EmbeddedFile> selectionTables();
}

namespace selection {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

constexpr int kVersion = 1;

std::string textOf(const Object &object, const char *key) {
  const auto text = object.getString(key);
  return text ? text->str() : "";
}

double numberOf(const Object *object, const char *key) {
  return object ? object->getNumber(key).getValueOr(0) : 0;
}

/// A curve from `[[bytes, microseconds, ctas, threads], …]`; the shape may be missing. False if it is none.
bool readCurve(const Value &value, Curve &curve) {
  const Array *points = value.getAsArray();
  if (!points) return false;
  for (const Value &each : *points) {
    const Array *numbers = each.getAsArray();
    if (!numbers || (numbers->size() != 2 && numbers->size() != 4)) return false;
    double parts[4] = {};
    for (std::size_t i = 0; i < numbers->size(); ++i) {
      const auto number = (*numbers)[i].getAsNumber();
      if (!number || !(*number >= 0 && *number < 1e15)) return false;
      parts[i] = *number;
    }
    const Point point{std::uint64_t(parts[0]), std::uint64_t(std::llround(parts[1] * 1e3)), unsigned(parts[2]),
                      unsigned(parts[3])};
    const bool goodShape = point.threads % 32 == 0 && point.threads <= 1024 && (point.ctas == 0) == (point.threads == 0);
    if (!curve.points.empty() && curve.points.back().bytes >= point.bytes) return false;
    if (point.nanoseconds == 0 || !goodShape) return false;
    curve.points.push_back(point);
  }
  return !curve.points.empty();
}

/// What is wrong with a section; empty if nothing is.
std::string readSection(const Object &object, Section &section) {
  section.gpu = textOf(object, "gpu");
  section.collective = textOf(object, "collective");
  section.dtype = textOf(object, "dtype");
  section.ranks = int(object.getInteger("ranks").getValueOr(0));
  section.inplace = object.getBoolean("inplace").getValueOr(false);
  section.date = textOf(object, "date"), section.driver = textOf(object, "driver"), section.nccl = textOf(object, "nccl");
  if (section.collective.empty()) return "no `collective`";
  if (!parseDType(section.dtype)) return "`dtype` is no element type";
  if (section.ranks < 2 || section.ranks > 1024) return "`ranks` is no number of ranks";
  const Object *floors = object.getObject("floors");
  section.floors.emptyNode = numberOf(floors, "emptyNode"), section.floors.oneWay = numberOf(floors, "oneWay");
  section.floors.bytesPerMicrosecond = numberOf(floors, "linkGBs") * 1e3;
  if (!(section.floors.emptyNode > 0 && section.floors.oneWay > 0 && section.floors.bytesPerMicrosecond > 0))
    return "`floors` are missing";
  const Object *times = object.getObject("times");
  if (!times || times->empty()) return "no `times`";
  for (const auto &[name, value] : *times)
    if (!readCurve(value, section.curves[name.str()]))
      return "`times` of `" + name.str() + "` are not [bytes, microseconds, ctas, threads], bytes ascending";
  return "";
}

std::string quoted(const std::string &text) {
  return llvm::formatv("{0}", Value(llvm::json::fixUTF8(text))).str();
}

std::string pointText(const Point &point) {
  char text[96];
  std::snprintf(text, sizeof text, "[%llu, %llu.%03llu", (unsigned long long)point.bytes,
                (unsigned long long)(point.nanoseconds / 1000), (unsigned long long)(point.nanoseconds % 1000));
  return text +
         (point.ctas ? ", " + std::to_string(point.ctas) + ", " + std::to_string(point.threads) : std::string()) + "]";
}

std::string sectionText(const Section &section) {
  char floors[160];
  std::snprintf(floors, sizeof floors, "{\"emptyNode\": %.3f, \"oneWay\": %.3f, \"linkGBs\": %.1f}",
                section.floors.emptyNode, section.floors.oneWay, section.floors.bytesPerMicrosecond / 1e3);
  std::string text = "  {\"gpu\": " + quoted(section.gpu) + ", \"collective\": " + quoted(section.collective) +
                     ", \"ranks\": " + std::to_string(section.ranks) + ", \"dtype\": " + quoted(section.dtype) +
                     ", \"inplace\": " + (section.inplace ? "true" : "false") + ",\n   \"date\": " +
                     quoted(section.date) + ", \"driver\": " + quoted(section.driver) + ", \"nccl\": " +
                     quoted(section.nccl) + ",\n   \"floors\": " + floors + ",\n   \"times\": {";
  bool first = true;
  for (const auto &[name, curve] : section.curves) {
    text += std::string(first ? "" : ",") + "\n     " + quoted(name) + ": [";
    for (std::size_t i = 0; i < curve.points.size(); ++i)
      text += std::string(i == 0 ? "" : i % 5 == 0 ? ",\n       " : ", ") + pointText(curve.points[i]);
    text += "]";
    first = false;
  }
  return text + "}}";
}

} // namespace

std::uint64_t Curve::at(std::uint64_t bytes) const {
  if (points.empty()) return 0;
  if (bytes <= points.front().bytes || points.size() == 1) return points.front().nanoseconds;
  const auto above = std::find_if(points.begin() + 1, points.end() - 1, [&](const Point &p) { return p.bytes >= bytes; });
  const Point &low = *(above - 1), &high = *above;
  // 128 bits, as sizes times times may not fit 64. Beyond the last point noise must not make it fall.
  const __int128 rise = __int128(high.nanoseconds) - __int128(low.nanoseconds), run = high.bytes - low.bytes;
  const __int128 time = bytes <= high.bytes ? low.nanoseconds + rise * __int128(bytes - low.bytes) / run
                                            : high.nanoseconds + std::max<__int128>(rise, 0) *
                                                                     __int128(bytes - high.bytes) / run;
  return std::uint64_t(std::min<__int128>(time, INT64_MAX));
}

const Point &Curve::shapeFor(std::uint64_t bytes) const {
  const auto found = std::find_if(points.begin(), points.end(), [&](const Point &p) { return p.bytes >= bytes; });
  return found == points.end() ? points.back() : *found;
}

Result<Table> Table::parse(const std::string &json, const std::string &name) {
  const auto bad = [&](const std::string &text) {
    return Error{Error::Code::BadInput, "`" + name + "` is no selection table: " + text};
  };
  auto value = llvm::json::parse(json);
  if (!value) return bad(llvm::toString(value.takeError()));
  const Object *object = value->getAsObject();
  const auto version = object ? object->getInteger("version") : llvm::None;
  if (!version) return bad("it has no `version`");
  if (*version != kVersion)
    return bad("it has version " + std::to_string(*version) + ", and this Coll reads " + std::to_string(kVersion));
  const Array *sections = object->getArray("sections");
  if (!sections) return bad("it has no `sections`");
  Table table;
  for (const Value &each : *sections) {
    const Object *section = each.getAsObject();
    table.sections.emplace_back();
    const std::string wrong = section ? readSection(*section, table.sections.back()) : "no object";
    if (!wrong.empty()) return bad("section " + std::to_string(table.sections.size()) + ": " + wrong);
  }
  return table;
}

std::string Table::toJson() const {
  std::string text = "{\"version\": " + std::to_string(kVersion) + ", \"unit\": \"microseconds\", \"sections\": [";
  for (std::size_t i = 0; i < sections.size(); ++i) text += (i ? ",\n" : "\n") + sectionText(sections[i]);
  return text + "\n]}\n";
}

const Table &builtinTable() {
  static const Table table = [] {
    Table all;
    for (const EmbeddedFile &file : embedded::selectionTables()) {
      auto one = Table::parse(std::string(file.text), std::string(file.name));
      if (!one) std::fprintf(stderr, "coll: internal error: %s\n", one.error().text.c_str()), std::abort();
      for (Section &section : one->sections) all.sections.push_back(std::move(section));
    }
    return all;
  }();
  return table;
}

} // namespace selection
} // namespace coll
