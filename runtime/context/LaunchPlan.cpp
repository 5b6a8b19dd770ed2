#include "context/LaunchPlan.h"

#include "coll/Extent.h"
#include "context/Region.h"

#include <algorithm>
#include <cctype>

namespace coll {
namespace {

unsigned ceilDiv(std::uint64_t value, unsigned by) {
  return unsigned((value + by - 1) / by);
}

/// The quickest shape as measured on H200, before anything bounds it: a thread for each packet, in CTAs of 128 threads
/// while there may be enough of them. A second packet a thread costs a trip over the link more.
LaunchShape measuredShape(std::uint64_t packets, unsigned mostCtas) {
  if (packets <= 128) return {1, std::max(32u, ceilDiv(packets, 32) * 32)};
  for (unsigned block : {128u, 256u, 512u})
    if (packets <= std::uint64_t(mostCtas) * block) return {ceilDiv(packets, block), block};
  return {mostCtas, 512};
}

} // namespace

unsigned shareOfGpu(unsigned fit, unsigned multiprocessors, unsigned grids) {
  const unsigned share = fit / grids;
  return grids > 2 ? std::min(share, std::max(1u, multiprocessors / 2 / grids)) : share;
}

LaunchShape chooseShape(std::uint64_t packets, const ShapeLimits &limits, const Shape &wanted, unsigned usualCtas) {
  LaunchShape shape = measuredShape(packets, std::min(usualCtas, region::kMaxCtas));
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

LaunchShape chooseRowShape(std::uint64_t rows, std::uint64_t packetsOfRow, const ShapeLimits &limits) {
  // As for vectors: a packet for each thread, CTAs of 128 threads while that is few of them, and CTAs before threads. The
  // CTAs of a row meet at its sum, which clusters alone can.
  constexpr unsigned kCtas = 128, kFewThreads = 128;
  const std::uint64_t needed = std::max<std::uint64_t>(1, packetsOfRow);
  const auto most = [&](unsigned block, unsigned cluster) {
    return std::max(1u, std::min({kCtas, limits.maxCtas, region::kMaxCtas, limits.residentCtas(block, cluster)}));
  };
  const auto blockFor = [&](unsigned cluster) {
    return std::max(32u, std::min(limits.maxThreads, ceilDiv(std::min<std::uint64_t>(ceilDiv(needed, cluster), 1024), 32) * 32));
  };
  unsigned cluster = 1;
  while (cluster < limits.maxCluster) {
    const unsigned next = cluster * 2;
    const bool tooLong = std::uint64_t(cluster) * limits.maxThreads < needed; // for a packet a thread
    const bool room = rows * next <= most(blockFor(next), next) && blockFor(cluster) > kFewThreads;
    if ((!tooLong && !room) || next > most(blockFor(next), next)) break;
    cluster = next;
  }
  LaunchShape shape{1, blockFor(cluster), cluster};
  while (limits.residentCtas(shape.block, shape.cluster) < shape.cluster && shape.block > 32)
    shape.block = std::max(32u, shape.block / 2 / 32 * 32);
  const std::uint64_t groups = std::min<std::uint64_t>(rows, most(shape.block, shape.cluster) / shape.cluster);
  shape.grid = unsigned(std::max<std::uint64_t>(1, groups)) * shape.cluster;
  return shape;
}

LaunchPlan::LaunchPlan(const Manifest &manifest) : manifest(manifest), domain(sizeOfExtents(manifest.domain.extents)) {
  const Manifest::Domain &first = manifest.domain;
  if (first.rows) matrices.push_back(rowsOf(first.extents, first.split, manifest.capacity, manifest.rowUnit));
  for (const Manifest::OtherDomain &other : manifest.otherDomains)
    if (other.rows) matrices.push_back(rowsOf(other.extents, other.split, other.capacity, other.rowUnit));
  for (const Manifest::Argument &argument : manifest.arguments) arguments.push_back(sizeOfExtents(argument.extents));
  for (const Manifest::OtherDomain &other : manifest.otherDomains) others.push_back(sizeOfExtents(other.extents));
  for (const auto &[left, right] : manifest.inplace)
    inplace.push_back({argumentOf(left), argumentOf(right), left.ends_with("[me]"), right.ends_with("[me]")});
}

/// The argument of `y` or `y[me]`.
std::size_t LaunchPlan::argumentOf(std::string_view side) const {
  const std::string_view name = side.substr(0, side.find('['));
  const auto found = std::find_if(manifest.arguments.begin(), manifest.arguments.end(),
                                  [&](const Manifest::Argument &argument) { return argument.name == name; });
  return std::size_t(found - manifest.arguments.begin());
}

LaunchPlan::Rows LaunchPlan::rowsOf(const std::vector<std::string> &names, bool split, std::uint64_t capacity, unsigned unit) const {
  return {sizeOfExtents(names), sizeOfExtents({names.back()}), split, capacity, unit, names.back()};
}

LaunchPlan::Size LaunchPlan::sizeOfExtents(const std::vector<std::string> &names) const {
  Size size;
  for (const std::string &name : names) {
    const auto found = std::find(manifest.extents.begin(), manifest.extents.end(), name);
    if (found != manifest.extents.end())
      size.extents.push_back(unsigned(found - manifest.extents.begin()));
    else if (isComputed(name))
      size.computed.emplace_back(name, manifest.extents, std::uint64_t(manifest.ranks));
    else if (name == "N")
      size.constant *= manifest.ranks;
    else if (!name.empty() && std::isdigit(static_cast<unsigned char>(name[0])))
      size.constant *= std::stoull(name);
  }
  return size;
}

/// `M = 5, K = 3`: the free extents that some are made of.
static std::string valuesIn(const Manifest &manifest, const std::vector<std::string> &of, std::span<const std::uint64_t> extents) {
  std::string text;
  for (std::size_t e = 0; e < extents.size(); ++e)
    if (std::any_of(of.begin(), of.end(), [&](const std::string &extent) { return mentions(extent, manifest.extents[e]); }))
      text += (text.empty() ? "" : ", ") + manifest.extents[e] + " = " + std::to_string(extents[e]);
  return text;
}

/// The first extent of an argument that is worked out to be too large.
static Error beyond64Bits(const Manifest &manifest, const Manifest::Argument &argument, std::size_t computed,
                          std::span<const std::uint64_t> extents) {
  const auto text = std::find_if(argument.extents.begin(), argument.extents.end(),
                                 [&](const std::string &extent) { return isComputed(extent) && computed-- == 0; });
  return {Error::Code::BadInput, "`" + manifest.member + "`: the extent `" + *text + "` of `" + argument.name +
                                     "` is beyond 64 bits, with " + valuesIn(manifest, {*text}, extents)};
}

/// Extents that are worked out are numbers of 64 bits, as the kernel counts in those.
Result<void> LaunchPlan::checkComputed(std::span<const std::uint64_t> extents) const {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    for (std::size_t c = 0; c < arguments[i].computed.size(); ++c)
      if (arguments[i].computed[c].value(extents) == UINT64_MAX) return beyond64Bits(manifest, manifest.arguments[i], c, extents);
  return {};
}

std::uint64_t LaunchPlan::product(const Size &size, std::span<const std::uint64_t> extents) const {
  std::uint64_t value = size.constant;
  bool large = false;
  for (unsigned extent : size.extents) {
    if (extents[extent] == 0) return 0;
    large |= __builtin_mul_overflow(value, extents[extent], &value);
  }
  for (const ExtentSteps &steps : size.computed) {
    const std::uint64_t factor = steps.value(extents);
    if (factor == 0) return 0;
    large |= __builtin_mul_overflow(value, factor, &value);
  }
  return large ? UINT64_MAX : value;
}

std::uint64_t LaunchPlan::groupElements() const {
  return std::max<std::uint64_t>(1, std::uint64_t(manifest.packetBytes) * manifest.packetsTogether / sizeOf(manifest.dtype));
}

std::uint64_t LaunchPlan::packetsIn(std::uint64_t elements) const {
  return (elements / groupElements() + (elements % groupElements() != 0)) * manifest.packetsTogether;
}

std::uint64_t LaunchPlan::packetsOfRow(std::span<const std::uint64_t> extents) const {
  std::uint64_t most = 0;
  for (const Rows &matrix : matrices) most = std::max(most, packetsIn(product(matrix.row, extents)));
  return most;
}

std::uint64_t LaunchPlan::rowsIn(const Rows &matrix, std::span<const std::uint64_t> extents) const {
  const std::uint64_t elements = product(matrix.all, extents);
  const std::uint64_t rows = elements ? elements / product(matrix.row, extents) : 0;
  return matrix.split ? (rows + manifest.ranks - 1) / manifest.ranks : rows; // as coll::RowPieces
}

static unsigned usualCtas(const Manifest &manifest) {
  constexpr unsigned kBulkCtas = 32, kFlagCtas = 128;
  // Where messages are large a few multiprocessors fill the links, as few as NCCL takes; all would be 3 % quicker.
  if (manifest.bulk) return kBulkCtas;
  // Each CTA flushes what it has stored and waits for a flag of each peer's. More than one a multiprocessor cost more
  // than larger ones do: `allreduce.oneshot.barrier` takes 7.8 us for 1 MB in 256 CTAs of 256 threads, 6.4 in 128 of 512.
  const bool flags = std::any_of(manifest.mailboxes.begin(), manifest.mailboxes.end(),
                                 [](const Manifest::Mailbox &box) { return box.sync == "flag"; });
  return manifest.barriers > 0 || flags ? kFlagCtas : region::kMaxCtas;
}

LaunchShape LaunchPlan::shape(std::span<const std::uint64_t> extents, const ShapeLimits &limits,
                              const Shape &wanted) const {
  if (!manifest.domain.rows) return chooseShape(packetsAtOnce(extents), limits, wanted, usualCtas(manifest));
  ShapeLimits within = limits;
  if (wanted.maxCtas) within.maxCtas = std::min(within.maxCtas, wanted.maxCtas);
  if (wanted.threads)
    within.maxThreads = std::min(within.maxThreads, std::clamp(wanted.threads / 32 * 32, 32u, 512u));
  std::uint64_t rows = 0;
  for (const Rows &matrix : matrices) rows = std::max(rows, rowsIn(matrix, extents));
  return chooseRowShape(rows, packetsOfRow(extents), within);
}

std::uint64_t LaunchPlan::mostElements(std::span<const std::uint64_t> extents) const {
  std::uint64_t most = domainElements(extents);
  for (const Size &other : others) most = std::max(most, product(other, extents));
  return most;
}

std::uint64_t LaunchPlan::packets(std::span<const std::uint64_t> extents) const {
  std::uint64_t most = manifest.domain.rows ? 0 : packetsOf(domainElements(extents), manifest.domain.split);
  for (const Rows &matrix : matrices)
    most = std::max(most, rowsIn(matrix, extents) * packetsIn(product(matrix.row, extents)));
  for (std::size_t o = 0; o < others.size(); ++o)
    if (!manifest.otherDomains[o].rows) most = std::max(most, packetsOf(product(others[o], extents), manifest.otherDomains[o].split));
  return most;
}

std::uint64_t LaunchPlan::packetsOf(std::uint64_t elements, bool split) const {
  const std::uint64_t size = sizeOf(manifest.dtype);
  if (manifest.domain.counted) elements = std::max<std::uint64_t>(elements, 1);
  if (split) {
    // As coll::Pieces: pieces of whole 16-byte units.
    const std::uint64_t unit = 16 / size, ranks = manifest.ranks;
    elements = ((elements + ranks - 1) / ranks + unit - 1) / unit * unit;
  }
  return packetsIn(elements);
}

std::uint64_t LaunchPlan::packetsAtOnce(std::span<const std::uint64_t> extents) const {
  const std::uint64_t all = packets(extents);
  return manifest.chunkPackets ? std::min(all, manifest.chunkPackets) : all;
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
  for (const InPlace &pair : inplace) {
    const bool asWritten = pair.left == i && pair.right == j;
    if (!asWritten && (pair.left != j || pair.right != i)) continue;
    const std::uint64_t leftAt = pair.leftIsRow ? rank * bytes(pair.right) : 0;
    const std::uint64_t rightAt = pair.rightIsRow ? rank * bytes(pair.left) : 0;
    if (begin(pair.left) + leftAt == begin(pair.right) + rightAt) return {};
    const auto &[left, right] = manifest.inplace[std::size_t(&pair - inplace.data())];
    allowed = left + " = " + right;
  }
  return Error{Error::Code::BadInput,
               "`" + manifest.member + "`: `" + one.name + "` and `" + other.name + "` overlap, and " +
                   (allowed.empty() ? "the contract has no `inplace` for them" : "not as `inplace(" + allowed + ")` says")};
}

Error beyondCapacity(const Manifest &manifest, const std::string &what, std::uint64_t capacity) {
  return {Error::Code::BadInput, "`" + manifest.member + "`: " + what + " are more than its capacity of " +
                                     std::to_string(capacity) +
                                     ", from the `when bytes <=` of its algorithm: raise that, or take a member with more room where there is one"};
}

std::uint64_t LaunchPlan::mostRowElements() const {
  return std::min<std::uint64_t>(manifest.maxRowPackets, manifest.rowPackets * manifest.maxThreads) / manifest.packetsTogether *
         groupElements();
}

/// A row is whole packets in a slot, and all of it is in the registers of the threads that share it.
Result<void> LaunchPlan::checkRows(const Rows &matrix, std::span<const std::uint64_t> extents) const {
  const auto bad = [&](const std::string &text) {
    return Error{Error::Code::BadInput, "`" + manifest.member + "`: " + text};
  };
  const std::uint64_t length = product(matrix.row, extents), ofRow = packetsIn(length);
  const std::string &name = matrix.length;
  if (length % matrix.unit != 0)
    return bad("rows of `" + name + "` = " + std::to_string(length) + " elements are not whole groups of " +
               std::to_string(matrix.unit));
  if (length > mostRowElements())
    return bad("rows of `" + name + "` = " + std::to_string(length) + " elements do not fit into registers; they may have " +
               std::to_string(mostRowElements()));
  if (matrix.capacity && length != 0 &&
      ofRow / manifest.packetsTogether * groupElements() > matrix.capacity / std::max<std::uint64_t>(1, product(matrix.all, extents) / length))
    return beyondCapacity(manifest, "rows of `" + name + "` = " + std::to_string(length) +
                                        " elements, each in whole packets of " + std::to_string(groupElements()) + ",",
                          matrix.capacity);
  return {};
}

/// What has so many elements, by an argument that is as long, where one is, and what its extents are made of.
static std::string elementsOf(const Manifest &manifest, std::uint64_t elements, const std::vector<std::string> &of,
                              std::span<const std::uint64_t> extents) {
  std::string text = std::to_string(elements) + " elements of ";
  const auto named = std::find_if(manifest.arguments.begin(), manifest.arguments.end(), [&](const Manifest::Argument &a) { return a.extents == of; });
  text += named == manifest.arguments.end() ? "a vector " : "`" + named->name + "` ";
  for (const std::string &extent : of) text += "[" + extent + "]";
  const std::string values = valuesIn(manifest, of, extents);
  return text + (values.empty() ? "" : ", where " + values + ",");
}

Result<void> LaunchPlan::checkCapacity(std::span<const std::uint64_t> extents) const {
  if (auto good = checkComputed(extents); !good) return good;
  if (manifest.capacity && domainElements(extents) > manifest.capacity)
    return beyondCapacity(manifest, elementsOf(manifest, domainElements(extents), manifest.domain.extents, extents), manifest.capacity);
  for (std::size_t o = 0; o < others.size(); ++o) {
    const Manifest::OtherDomain &other = manifest.otherDomains[o];
    if (const std::uint64_t elements = product(others[o], extents); other.capacity && elements > other.capacity)
      return beyondCapacity(manifest, elementsOf(manifest, elements, other.extents, extents), other.capacity);
  }
  return {};
}

Result<void> LaunchPlan::checkExtents(std::span<const std::uint64_t> extents) const {
  const auto bad = [&](const std::string &text) {
    return Error{Error::Code::BadInput, "`" + manifest.member + "`: " + text};
  };
  if (auto good = checkCapacity(extents); !good) return good;
  const std::uint64_t elements = mostElements(extents);
  constexpr std::uint64_t kMostPackets = 1ull << 31; // kernels count them in 32 bits
  if (packets(extents) > kMostPackets) return bad(std::to_string(elements) + " elements are more than a launch can have");
  if (manifest.chunkPackets && packets(extents) / manifest.chunkPackets >= Manifest::kMostChunks)
    return bad(std::to_string(elements) + " elements are more than " + std::to_string(Manifest::kMostChunks) +
               " chunks of it");
  for (const Rows &matrix : matrices)
    if (auto good = checkRows(matrix, extents); !good) return good;
  return {};
}

Result<void> LaunchPlan::check(int rank, std::span<void *const> pointers,
                               std::span<const std::uint64_t> extents) const {
  const auto bad = [&](const std::string &text) {
    return Error{Error::Code::BadInput, "`" + manifest.member + "`: " + text};
  };
  if (auto good = checkExtents(extents); !good) return good;
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
  if (manifest.domain.rows) {
    const auto whole = [&](const Rows &matrix) {
      return isWhole(product(matrix.row, extents)) && (!manifest.domain.counted || product(matrix.all, extents) != 0);
    };
    return std::all_of(matrices.begin(), matrices.end(), whole) &&
           packetsOfRow(extents) <= std::uint64_t(shape.cluster) * shape.block && aligned(pointers);
  }
  const auto quick = [&](std::uint64_t elements) {
    return isWhole(elements) && (!manifest.domain.counted || elements != 0); // one packet is there for the count alone
  };
  if (manifest.packetBytes == 0 || !quick(domainElements(extents)) ||
      !std::all_of(others.begin(), others.end(), [&](const Size &other) { return quick(product(other, extents)); }) ||
      (!manifest.bulk && packetsAtOnce(extents) > std::uint64_t(shape.grid) * shape.block))
    return false;
  return aligned(pointers);
}

bool LaunchPlan::aligned(std::span<void *const> pointers) const {
  return std::all_of(pointers.begin(), pointers.end(), [&](void *pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % manifest.alignment == 0;
  });
}

} // namespace coll
