#include "context/LaunchPlan.h"

#include "context/Region.h"

#include <algorithm>
#include <cctype>

namespace coll {
namespace {

unsigned ceilDiv(std::uint64_t value, unsigned by) {
  return unsigned((value + by - 1) / by);
}

/// The quickest shape as measured on H200 (one thread a packet while that is few CTAs of 128 threads; more threads a
/// CTA only where 128 CTAs are not enough), before anything bounds it.
LaunchShape measuredShape(std::uint64_t packets) {
  constexpr unsigned kCtas = 128;
  if (packets <= 256) return {1, std::max(32u, ceilDiv(packets, 32) * 32)};
  if (packets <= 512) return {4, 128};
  if (packets <= 2 * kCtas * 128) return {std::min(kCtas, ceilDiv(packets, 128)), 128};
  return {std::min(kCtas, ceilDiv(std::min<std::uint64_t>(packets, kCtas * 512), 512)), 512};
}

} // namespace

LaunchShape chooseShape(std::uint64_t packets, const ShapeLimits &limits) {
  LaunchShape shape = measuredShape(packets);
  if (shape.block > limits.maxThreads) {
    shape.block = limits.maxThreads;
    shape.grid = ceilDiv(std::min<std::uint64_t>(packets, 1u << 30), shape.block);
  }
  // A block so large that not one fits twice for every rank is halved until it does; load() has checked that one warp
  // fits.
  while (limits.resident[shape.block / 32] == 0 && shape.block > 32)
    shape.block = std::max(32u, shape.block / 2 / 32 * 32);
  shape.grid =
      std::max(1u, std::min({shape.grid, limits.maxCtas, region::kMaxCtas, limits.resident[shape.block / 32]}));
  return shape;
}

LaunchPlan::LaunchPlan(const Manifest &manifest) : manifest(manifest), domain(sizeOfExtents(manifest.domain.extents)) {
  for (const Manifest::Argument &argument : manifest.arguments) arguments.push_back(sizeOfExtents(argument.extents));
}

LaunchPlan::Size LaunchPlan::sizeOfExtents(const std::vector<std::string> &names) const {
  Size size;
  for (const std::string &name : names) {
    const auto found = std::find(manifest.extents.begin(), manifest.extents.end(), name);
    if (found != manifest.extents.end())
      size.extents.push_back(unsigned(found - manifest.extents.begin()));
    else if (name == "N")
      size.constant *= manifest.ranks;
    else if (!name.empty() && std::isdigit(static_cast<unsigned char>(name[0])))
      size.constant *= std::stoull(name);
  }
  return size;
}

std::uint64_t LaunchPlan::product(const Size &size, std::span<const std::uint64_t> extents) {
  std::uint64_t value = size.constant;
  for (unsigned extent : size.extents) value *= extents[extent];
  return value;
}

std::uint64_t LaunchPlan::packets(std::span<const std::uint64_t> extents) const {
  std::uint64_t elements = domainElements(extents);
  const std::uint64_t size = sizeOf(manifest.dtype);
  if (manifest.domain.split) {
    // As coll::Pieces: pieces of whole 16-byte units.
    const std::uint64_t unit = 16 / size, ranks = manifest.ranks;
    elements = ((elements + ranks - 1) / ranks + unit - 1) / unit * unit;
  }
  const std::uint64_t perPacket = std::max<std::uint64_t>(1, manifest.packetBytes / size);
  return (elements + perPacket - 1) / perPacket;
}

/// Whether the contract lets two arguments be the same memory: `y = x`, or a part of one: `x = y[me]`.
bool LaunchPlan::mayShare(std::size_t one, std::size_t other) const {
  const auto base = [](const std::string &name) { return name.substr(0, name.find('[')); };
  const std::string &a = manifest.arguments[one].name, &b = manifest.arguments[other].name;
  for (const auto &[left, right] : manifest.inplace)
    if ((base(left) == a && base(right) == b) || (base(left) == b && base(right) == a)) return true;
  return false;
}

Result<void> LaunchPlan::check(std::span<void *const> pointers, std::span<const std::uint64_t> extents) const {
  const auto bad = [&](const std::string &text) {
    return Error{Error::Code::BadInput, "`" + manifest.member + "`: " + text};
  };
  const std::uint64_t elements = domainElements(extents);
  if (manifest.capacity && elements > manifest.capacity)
    return bad(std::to_string(elements) + " elements are more than its capacity of " +
               std::to_string(manifest.capacity));
  for (std::size_t i = 0; i < pointers.size(); ++i) {
    const Manifest::Argument &argument = manifest.arguments[i];
    const auto address = reinterpret_cast<std::uintptr_t>(pointers[i]);
    if (argumentElements(i, extents) == 0) continue;
    if (!address) return bad("`" + argument.name + "` is null");
    if (address % sizeOf(argument.dtype)) return bad("`" + argument.name + "` is not aligned to its element type");
    const std::uintptr_t end = address + argumentElements(i, extents) * sizeOf(argument.dtype);
    for (std::size_t j = 0; j < i; ++j) {
      const auto other = reinterpret_cast<std::uintptr_t>(pointers[j]);
      const std::uintptr_t otherEnd = other + argumentElements(j, extents) * sizeOf(manifest.arguments[j].dtype);
      const bool written = argument.direction != Direction::In || manifest.arguments[j].direction != Direction::In;
      if (written && address < otherEnd && other < end && !mayShare(i, j))
        return bad("`" + argument.name + "` and `" + manifest.arguments[j].name +
                   "` overlap, and the contract has no `inplace` for them");
    }
  }
  return {};
}

bool LaunchPlan::onePacket(std::span<void *const> pointers, std::span<const std::uint64_t> extents,
                           LaunchShape shape) const {
  if (manifest.packetBytes == 0 || domainElements(extents) % std::max<std::uint64_t>(1, manifest.wholeUnit) != 0 ||
      packets(extents) > std::uint64_t(shape.grid) * shape.block)
    return false;
  return std::all_of(pointers.begin(), pointers.end(), [&](void *pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % manifest.packetBytes == 0;
  });
}

} // namespace coll
