// What a Manifest works out for its reader, and its JSON.
#include "coll/Manifest.h"

#include "coll/Extent.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace coll {

namespace {

/// A name that has no value is 1. What does not fit into 64 bits is the largest number.
std::uint64_t product(const std::vector<std::string> &extents, int ranks, const Extents &values) {
  const auto valueOf = [&](std::string_view name) -> std::uint64_t {
    const auto known = values.find(std::string(name));
    return name == "N" ? std::uint64_t(ranks) : known != values.end() ? known->second : 1;
  };
  std::uint64_t elements = 1;
  for (const std::string &extent : extents) elements = llvm::SaturatingMultiply(elements, extentValue(extent, valueOf));
  return elements;
}

} // namespace

bool Manifest::keepsZeroSign() const {
  for (const Mailbox &box : mailboxes)
    if (box.sync == "sentinel" || llvm::StringRef(box.sync).startswith("counter")) return false;
  return true;
}

std::uint64_t Manifest::parameterBytes() const {
  std::uint64_t pointers = 0;
  for (const Argument &a : arguments) pointers += pointersOf(a);
  if (multicastsMail) ++pointers;
  return 8 * (std::uint64_t(ranks) + 4 + pointers + extents.size() + scalars.size() + 1);
}

bool Manifest::hasWindows() const {
  for (const Argument &a : arguments)
    if (a.window) return true;
  return false;
}

std::uint64_t Manifest::clearBytes() const {
  std::uint64_t bytes = regionBytes;
  for (const Mailbox &box : mailboxes)
    if (box.fill) bytes = std::min(bytes, box.offset);
  return bytes;
}

std::uint64_t Manifest::elements(const Argument &argument, const Extents &values) const {
  return product(argument.extents, ranks, values);
}

std::uint64_t Manifest::packets(const Extents &values) const {
  const std::uint64_t size = sizeOf(dtype);
  const auto packetsOf = [&](const std::vector<std::string> &extents, bool split, bool rows) {
    if (rows) {
      const std::uint64_t row = product({extents.back()}, ranks, values);
      return row ? product(extents, ranks, values) / row * llvm::divideCeil(row * size, packetBytes) : 0;
    }
    std::uint64_t elements = product(extents, ranks, values);
    if (domain.counted) elements = std::max<std::uint64_t>(elements, 1);
    if (split)
      elements = llvm::alignTo(llvm::divideCeil(elements, std::uint64_t(ranks)), std::max<std::uint64_t>(1, 16 / size));
    return llvm::divideCeil(elements * size, packetBytes * packetsTogether) * packetsTogether;
  };
  std::uint64_t most = packetsOf(domain.extents, domain.split, domain.rows);
  for (const OtherDomain &other : otherDomains) most = std::max(most, packetsOf(other.extents, other.split, other.rows));
  return most;
}

bool Manifest::wholePackets(const Extents &values) const {
  const auto isWhole = [&](const std::vector<std::string> &extents) { return product(extents, ranks, values) % wholeUnit == 0; };
  if (domain.rows) // the others are gone over any way
    return isWhole({domain.extents.back()}) &&
           llvm::all_of(otherDomains, [&](const OtherDomain &other) { return !other.rows || isWhole({other.extents.back()}); });
  return isWhole(domain.extents) && llvm::all_of(otherDomains, [&](const OtherDomain &other) { return isWhole(other.extents); });
}

namespace {

llvm::StringRef ref(std::string_view s) { return {s.data(), s.size()}; }

void strings(llvm::json::OStream &json, llvm::StringRef key, const std::vector<std::string> &list) {
  json.attributeArray(key, [&] {
    for (const std::string &s : list) json.value(s);
  });
}

void argument(llvm::json::OStream &json, const Manifest::Argument &a) {
  static constexpr const char *directions[] = {"in", "out", "inout"};
  json.object([&] {
    json.attribute("name", a.name);
    json.attribute("direction", directions[int(a.direction)]);
    json.attribute("dtype", ref(keyword(a.dtype)));
    strings(json, "extents", a.extents);
    if (a.window) json.attribute("window", true);
    if (a.replicated) json.attribute("replicated", true);
    if (!a.bound.empty()) strings(json, "bound", a.bound);
    if (a.multicast) json.attribute("multicast", true);
  });
}

void mailbox(llvm::json::OStream &json, const Manifest::Mailbox &m) {
  json.object([&] {
    json.attribute("name", m.name);
    json.attribute("sync", m.sync);
    json.attribute("slots", m.slots);
    json.attribute("lines", m.lines);
    json.attribute("copies", m.copies);
    json.attribute("lineBytes", m.lineBytes);
    json.attribute("payloadBytes", m.payloadBytes);
    json.attribute("offset", m.offset);
    if (m.fill) json.attribute("fill", "0x" + llvm::utohexstr(m.fill, /*LowerCase=*/true));
    if (m.stride) json.attribute("stride", m.stride);
  });
}

void launchRules(llvm::json::OStream &json, const Manifest &m) {
  json.attributeObject("domain", [&] {
    strings(json, "extents", m.domain.extents);
    json.attribute("split", m.domain.split);
    if (m.domain.counted) json.attribute("counted", true);
    if (m.domain.rows) json.attribute("rows", true);
  });
  if (!m.otherDomains.empty())
    json.attributeArray("otherDomains", [&] {
      for (const Manifest::OtherDomain &other : m.otherDomains)
        json.object([&] {
          strings(json, "extents", other.extents);
          json.attribute("split", other.split);
          json.attribute("capacity", other.capacity);
          if (other.rows) json.attribute("rows", true);
          if (other.rowUnit > 1) json.attribute("rowUnit", other.rowUnit);
        });
    });
  json.attribute("entry", m.entry);
  json.attribute("parameterBytes", m.parameterBytes());
  json.attribute("regionBytes", m.regionBytes);
  if (m.workspace)
    json.attributeObject("workspace", [&] {
      json.attribute("name", m.workspace->name);
      json.attribute("key", m.workspace->key);
      json.attribute("begin", m.workspace->begin);
    });
  json.attribute("hops", m.hops);
  json.attribute("barriers", m.barriers);
  if (m.credits) json.attribute("credits", m.credits);
  json.attribute("packetBytes", m.packetBytes);
  json.attribute("packetsTogether", m.packetsTogether);
  json.attribute("alignment", m.alignment);
  json.attribute("unsplitBytes", m.unsplitBytes);
  if (m.bulk) json.attribute("bulk", true);
  json.attribute("wholeUnit", m.wholeUnit);
  json.attribute("capacity", m.capacity);
  if (m.chunkPackets) json.attribute("chunkPackets", m.chunkPackets);
  json.attribute("maxThreads", m.maxThreads);
  json.attribute("maxCtas", m.maxCtas);
  json.attribute("minArch", m.minArch);
  if (!m.needs.empty()) strings(json, "needs", m.needs);
  if (!m.uses.empty()) strings(json, "uses", m.uses);
  if (m.multicastsMail) json.attribute("multicastsMail", true);
}

} // namespace

std::string Manifest::toJson() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os, 2);
  json.object([&] {
    json.attribute("member", member);
    json.attribute("collective", collective);
    json.attribute("algorithm", algorithm);
    json.attribute("mode", mode);
    json.attribute("source", sourceFile);
    json.attribute("ranks", ranks);
    json.attribute("dtype", ref(keyword(dtype)));
    if (op) json.attribute("op", ref(keyword(*op)));
    json.attribute("order", order);
    json.attributeArray("arguments", [&] {
      for (const Argument &a : arguments) argument(json, a);
    });
    strings(json, "extents", extents);
    json.attributeArray("scalars", [&] {
      for (const Scalar &s : scalars)
        json.object([&] {
          json.attribute("name", s.name);
          json.attribute("type", s.type);
          if (s.least == std::numeric_limits<std::int64_t>::min()) return;
          json.attribute("least", s.least);
          json.attribute("greatest", s.greatest);
        });
    });
    json.attributeArray("inplace", [&] {
      for (const auto &[a, b] : inplace) json.value(a + " = " + b);
    });
    strings(json, "ensures", ensures);
    json.attributeArray("mailboxes", [&] {
      for (const Mailbox &m : mailboxes) mailbox(json, m);
    });
    launchRules(json, *this);
    json.attribute("proof", proof);
    json.attribute("strength", strength);
    json.attributeArray("assumptions", [&] {
      for (const std::string &a : assumptions) json.value(a);
    });
    json.attribute("strict", strict);
    json.attribute("cyclicThreads", cyclicThreads);
    json.attributeArray("removableBarriers", [&] {
      for (unsigned line : removableBarriers) json.value(line);
    });
    json.attributeArray("sourceMap", [&] {
      for (const auto &[cuda, coll] : sourceMap) json.array([&] { json.value(cuda), json.value(coll); });
    });
  });
  return os.str() + "\n";
}

} // namespace coll
