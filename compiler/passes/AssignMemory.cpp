#include "passes/Passes.h"

#include "ast/Type.h"
#include "coll/Extent.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

namespace coll::passes {

using namespace ir;

namespace {

// As in the device header coll/region.h, which a test compares with this.
constexpr std::uint64_t kBarrierWords = 256 * 4 + 128, kMaxCtas = 256;

constexpr std::uint64_t kMostRowPackets = 16 * 512; ///< of a row: Manifest::rowPackets of each of Manifest::maxThreads

bool isProductOfN(llvm::StringRef extent) { return extent != "N" && hasFactorN(extent); }

/// Elements a slot must hold when the largest argument has as many bytes as `when` allows.
std::uint64_t capacity(const Program &program, const Length &length) {
  if (const auto fixed = program.fixedElements(length); fixed && !program.chunks) return *fixed;
  std::vector<std::string> largest;
  for (const Buffer &b : program.buffers)
    if (b.extents.size() > largest.size() || (b.extents.size() == largest.size() && llvm::any_of(b.extents, isProductOfN)))
      largest = b.extents;
  if (program.chunks) return program.chunks->elements;
  std::uint64_t elements = program.maxBytes / sizeOf(program.dtype);
  // What the largest argument has beyond the slot's extents divides it: y: T[N][M] gives M a share of 1/N.
  for (const std::string &extent : largest)
    if (hasFactorN(extent) && llvm::none_of(length.extents, hasFactorN)) elements /= std::uint64_t(program.ranks);
  if (length.kind != Length::Kind::Piece) return elements;
  if (length.ofRows) { // a row more than a share, where rows are as long as threads have room for
    const std::uint64_t row = kMostRowPackets * program.pieceElements();
    return std::min(elements, llvm::divideCeil(elements, std::uint64_t(program.ranks)) + row);
  }
  const std::uint64_t unit = 16 / sizeOf(program.dtype);
  return llvm::alignTo(llvm::divideCeil(elements, std::uint64_t(program.ranks)), unit);
}

constexpr std::uint64_t kMostRegionBytes = std::uint64_t(1) << 40; ///< a terabyte: more is a slip of the pen
constexpr std::uint64_t kMostPackets = std::uint64_t(1) << 31;     ///< kernels count packets in 32 bits

bool refuseSize(const Program &program, Context &context, const std::string &what) {
  const auto at = std::uint32_t(program.mailboxes.front().where);
  context.diagnostics.error(DiagnosticKind::Unbounded, {at, at}, what).help("change the bound of `when bytes <=`");
  return false;
}

/// Whether the bound of `when` makes mailboxes that can be had: at least an element, and no more than fits.
bool checkSizes(const Program &program, Context &context) {
  for (const Mailbox &box : program.mailboxes) {
    if (!box.payload) continue;
    const std::uint64_t elements = capacity(program, box.length);
    if (elements == 0 || (!program.chunks && program.maxBytes < sizeOf(program.dtype)))
      return refuseSize(program, context,
                        "`" + box.name + "` would have no room for a single " + std::string(keyword(program.dtype)) +
                            ", with " + std::to_string(program.maxBytes) + " bytes at most and N = " +
                            std::to_string(program.ranks));
    const std::uint64_t slotBytes = elements <= kMostRegionBytes ? elements * sizeOf(box.dtype) * 2 : kMostRegionBytes;
    const std::uint64_t share = kMostRegionBytes / (std::uint64_t(box.slots.value()) * std::uint64_t(box.copies) + 1);
    if (slotBytes > share || slotBytes / 8 > kMostPackets)
      return refuseSize(program, context, "`" + box.name + "` would take more memory than there is");
  }
  return true;
}

/// A chunk is whole warps of packets, and more 16-byte units than there are ranks (see check/README.md).
void roundChunks(Program &program) {
  if (!program.chunks) return;
  const std::uint64_t unit = std::lcm<std::uint64_t>(4096, 32 * program.wire().payloadBytes) / sizeOf(program.dtype);
  program.chunks->elements = llvm::alignTo(std::max<std::uint64_t>(program.chunks->elements, 1), unit);
}

/// What is kept of a packet: coll::Kept::kStride, or coll::KeptElements::kStride.
std::uint64_t keptBytes(const Program &program, const Value &value) {
  const unsigned packet = llvm::alignTo(program.wire().packetBytes(), 4);
  if (program.keepsPackets(value)) return llvm::alignTo(packet, 16);
  const bool ofEach = value.spread == Spread::Element || (value.spread == Spread::Group && program.wire().together > 1);
  const unsigned elements = ofEach ? packet / sizeOf(program.packetType()) : 1;
  return llvm::alignTo(elements * sizeOf(ast::accumulatorOf(value.dtype)), 16);
}

/// Packets of a vector that is as long as it may be, whole groups of those that come in such.
std::uint64_t packetsOf(const Program &program, const Length &length) {
  const Wire wire = program.wire();
  const std::uint64_t packets = llvm::divideCeil(capacity(program, length) * sizeOf(program.packetType()), wire.payloadBytes);
  return llvm::alignTo(std::max<std::uint64_t>(packets, 1), wire.together);
}

/// Places for the packets of what threads keep from loop to loop; returns the first offset behind.
std::uint64_t placeKept(Program &program, std::uint64_t at) {
  for (Value &value : program.values) {
    if (!value.kept) continue;
    value.keptOffset = at;
    const std::uint64_t bytes = keptBytes(program, value);
    at = llvm::alignTo(at + llvm::alignTo(packetsOf(program, value.length), 32) * bytes, 128); // as whole warps have them
  }
  return at;
}

/// Lines of a slot: one for each packet; where a packet takes several, those of whole warps, as coll::wide has them.
std::uint64_t linesOf(const Program &program, const Mailbox &box) {
  const std::uint64_t packets = packetsOf(program, box.length), each = program.linesOf(box);
  return each == 1 ? packets : llvm::alignTo(packets, 32) * each;
}

} // namespace

std::uint64_t wordsOf(const Mailbox &box) {
  const std::uint64_t slots = std::uint64_t(box.slots.value());
  if (box.sync == Sync::Counter) return kMaxCtas * slots * 8; // coll::counter::countBytes
  return box.sync == Sync::Flag ? kMaxCtas * slots * 4 : 0;   // coll::flag::flagBytes
}

bool assignMemory(Program &program, Context &context) {
  roundChunks(program);
  if (!checkSizes(program, context)) return false;
  // What must not be cleared when the epoch wraps comes last: see Manifest::clearBytes.
  std::vector<Mailbox *> order;
  for (Mailbox &box : program.mailboxes) order.push_back(&box);
  llvm::stable_sort(order, [](const Mailbox *a, const Mailbox *b) {
    return (a->sync == Sync::Sentinel) < (b->sync == Sync::Sentinel);
  });
  std::uint64_t at = llvm::alignTo(kBarrierWords + program.barriers * kMaxCtas * program.ranks * 4, 128);
  program.creditOffset.reset();
  walk(program.body, [&](const Stmt &s) {
    if (std::holds_alternative<Credit>(s.op())) program.creditOffset = at;
  });
  const std::uint64_t credits = std::uint64_t(program.ranks) * (program.chunks ? kMaxCtas : 1);
  if (program.creditOffset) at = llvm::alignTo(at + credits * 4, 128);
  const auto &shared = program.shared;
  if (shared && program.creditOffset) program.creditOffset = shared->credits;
  at = placeKept(program, shared ? shared->kept : at);
  std::uint64_t flags = shared ? shared->flags : 0, counts = shared ? shared->counts : 0;
  if (shared) at = shared->begin;
  for (Mailbox *placed : order) {
    Mailbox &box = *placed;
    const Wire wire = wireOf(box.sync);
    box.lines = box.payload ? linesOf(program, box) : 0;
    box.offset = at;
    if (shared) box.copies = shared->copies, box.stride = shared->copyBytes;
    const std::uint64_t slots = std::uint64_t(box.slots.value()), together = shared ? 1 : std::uint64_t(box.copies);
    at += together * slots * box.lines * wire.lineBytes;
    const std::uint64_t words = wordsOf(box);
    if (shared && words) box.flagOffset = flags, flags = llvm::alignTo(flags + words, 128);
    else at += words;
    at = llvm::alignTo(at, 128);
    if (!box.counted) continue;
    // Of chunks each CTA has a line of its own: they go on without knowing of each other.
    std::uint64_t &place = shared ? counts : at;
    box.countOffset = place;
    box.countStride = shared ? shared->countBytes : 0;
    place = llvm::alignTo(place + together * slots * (program.chunks ? kMaxCtas : 1) * wireOf(Sync::LL).lineBytes, 128);
  }
  if (shared) at = shared->begin + std::uint64_t(shared->copies) * shared->copyBytes;
  program.regionBytes = at;
  return true;
}

} // namespace coll::passes
