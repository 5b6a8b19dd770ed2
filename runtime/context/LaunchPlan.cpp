#include "context/LaunchPlan.h"

#include "context/Region.h"

#include <algorithm>
#include <cctype>
#include <tuple>

namespace coll {
namespace {

unsigned ceilDiv(std::uint64_t value, unsigned by) {
  return unsigned((value + by - 1) / by);
}

/// The quickest shape as measured on H200, before anything bounds it: a thread for each packet, in CTAs of 128 threads
/// while there may be enough of them. A second packet a thread costs a trip over the link more.
LaunchShape measuredShape(std::uint64_t packets) {
  if (packets <= 128) return {1, std::max(32u, ceilDiv(packets, 32) * 32)};
  for (unsigned block : {128u, 256u, 512u})
    if (packets <= std::uint64_t(region::kMaxCtas) * block) return {ceilDiv(packets, block), block};
  return {region::kMaxCtas, 512};
}

} // namespace

LaunchShape chooseShape(std::uint64_t packets, const ShapeLimits &limits, const Shape &wanted) {
  LaunchShape shape = measuredShape(packets);
  if (wanted.threads) shape = {std::max(1u, wanted.ctas), std::clamp(wanted.threads / 32 * 32, 32u, 512u)};
  if (shape.block > limits.maxThreads) {
    shape.block = limits.maxThreads;
    if (!wanted.threads) shape.grid = ceilDiv(std::min<std::uint64_t>(packets, 1u << 30), shape.block);
  }
  // A block so large that not one fits twice for every rank is halved until it does; load() has checked that one warp
  // fits.
  while (limits.resident[shape.block / 32] == 0 && shape.block > 32)
    shape.block = std::max(32u, shape.block / 2 / 32 * 32);
  if (wanted.maxCtas) shape.grid = std::min(shape.grid, wanted.maxCtas);
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
  bool large = false;
  for (unsigned extent : size.extents) {
    if (extents[extent] == 0) return 0;
    large |= __builtin_mul_overflow(value, extents[extent], &value);
  }
  return large ? UINT64_MAX : value;
}

std::uint64_t LaunchPlan::packets(std::span<const std::uint64_t> extents) const {
  std::uint64_t elements = domainElements(extents);
  const std::uint64_t size = sizeOf(manifest.dtype);
  if (manifest.domain.split) {
    // As coll::Pieces: pieces of whole 16-byte units.
    const std::uint64_t unit = 16 / size, ranks = manifest.ranks;
    elements = ((elements + ranks - 1) / ranks + unit - 1) / unit * unit;
  }
  const std::uint64_t together = manifest.packetsTogether;
  const std::uint64_t perGroup = std::max<std::uint64_t>(1, manifest.packetBytes * together / size);
  return (elements + perGroup - 1) / perGroup * together;
}

/// Two arguments that share memory do so as an `inplace` of the contract says: `y = x`, whole, or `x = y[me]`.
Result<void> LaunchPlan::checkOverlap(int rank, std::size_t i, std::size_t j, std::span<void *const> pointers,
                                      std::span<const std::uint64_t> extents) const {
  const Manifest::Argument &one = manifest.arguments[i], &other = manifest.arguments[j];
  if (one.direction == Direction::In && other.direction == Direction::In) return {};
  const auto begin = [&](std::size_t argument) { return reinterpret_cast<std::uintptr_t>(pointers[argument]); };
  const auto bytes = [&](std::size_t argument) {
    return argumentElements(argument, extents) * sizeOf(manifest.arguments[argument].dtype);
  };
  if (begin(i) >= begin(j) + bytes(j) || begin(j) >= begin(i) + bytes(i)) return {};
  std::string allowed;
  for (const auto &[left, right] : manifest.inplace)
    for (const auto &[a, b, name, otherName] : {std::tuple(i, j, &left, &right), std::tuple(j, i, &left, &right)}) {
      const bool leftIsRow = name->ends_with("[me]"), rightIsRow = otherName->ends_with("[me]");
      if (name->substr(0, name->find('[')) != manifest.arguments[a].name ||
          otherName->substr(0, otherName->find('[')) != manifest.arguments[b].name)
        continue;
      if (begin(a) + (leftIsRow ? rank * bytes(b) : 0) == begin(b) + (rightIsRow ? rank * bytes(a) : 0)) return {};
      allowed = *name + " = " + *otherName;
    }
  return Error{Error::Code::BadInput,
               "`" + manifest.member + "`: `" + one.name + "` and `" + other.name + "` overlap, and " +
                   (allowed.empty() ? "the contract has no `inplace` for them" : "not as `inplace(" + allowed + ")` says")};
}

Result<void> LaunchPlan::check(int rank, std::span<void *const> pointers,
                               std::span<const std::uint64_t> extents) const {
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
    const std::uint64_t size = sizeOf(argument.dtype), count = argumentElements(i, extents);
    if (count == 0) continue;
    if (!address) return bad("`" + argument.name + "` is null");
    if (address % size) return bad("`" + argument.name + "` is not aligned to its element type");
    if (count > (UINTPTR_MAX - address) / size)
      return bad("`" + argument.name + "` of " + std::to_string(count) + " elements reaches past the end of memory");
    for (std::size_t j = 0; j < i; ++j)
      if (argumentElements(j, extents) != 0)
        if (auto good = checkOverlap(rank, i, j, pointers, extents); !good) return good;
  }
  return {};
}

bool LaunchPlan::onePacket(std::span<void *const> pointers, std::span<const std::uint64_t> extents,
                           LaunchShape shape) const {
  if (manifest.packetBytes == 0 || domainElements(extents) % std::max<std::uint64_t>(1, manifest.wholeUnit) != 0 ||
      packets(extents) > std::uint64_t(shape.grid) * shape.block)
    return false;
  return std::all_of(pointers.begin(), pointers.end(), [&](void *pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % manifest.alignment == 0;
  });
}

} // namespace coll
