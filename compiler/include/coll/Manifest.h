// What a host must know to launch a kernel: written by the compiler beside the CUDA text, read by the runtime.
#pragma once

#include "coll/Types.h"

#include <functional>
#include <limits>
#include <map>

namespace coll {

/// Values of the free extents (`M`, `H`, …) of one launch, by name. `N` is not among them.
using Extents = std::map<std::string, std::uint64_t>;

enum class Direction { In, Out, InOut };

struct Manifest {
  /// A vector or matrix argument, as declared. Its elements lie densely, last extent fastest.
  struct Argument {
    std::string name;
    Direction direction;
    DType dtype;
    std::vector<std::string> extents; ///< each a free extent, `N`, a number, or what coll/Extent.h reads
    /// Peers touch it: it lies in symmetric memory, at the same place on all ranks, and the kernel gets the address of
    /// every rank's, of the rank so many places after this one.
    bool window = false;
    /// Where it holds numbers of elements or rows: each is at most the product of these extents. The kernel reads them when it runs,
    /// and ends the launch with an error if one is larger.
    std::vector<std::string> bound = {};
    /// It is also touched on all ranks at once: behind those addresses there is one of all.
    bool multicast = false;
    /// The caller sees to it that it holds the same bits on all ranks at entry: the proof rests on that.
    bool replicated = false;
  };

  struct Scalar {
    std::string name;
    std::string type; ///< `rank`, `f32`, `u32`, …
    /// What a launch may pass of a whole number: any rank, any number of the type if it steers the program, that is, if a
    /// condition, a place or a number beside data depends on it, but of 64 bits only up to 2^48; of one that is data, anything.
    std::int64_t least = std::numeric_limits<std::int64_t>::min(), greatest = std::numeric_limits<std::int64_t>::max();
  };

  /// A landing zone in every rank's region: `copies` x `slots` x `lines` of `lineBytes` from `offset`.
  struct Mailbox {
    std::string name;
    std::string sync;
    std::uint64_t slots, lines, copies, lineBytes, payloadBytes, offset;
    /// What all 8 bytes of its lines hold before the first launch. Where it is not 0 the mailbox has no epochs and lies
    /// behind those that have.
    std::uint64_t fill = 0;
    std::uint64_t stride = 0; ///< bytes from copy to copy; 0: they follow each other
    unsigned linesOfPacket = 1; ///< where it is more, line n of packet i is line i / 32 * 32 * linesOfPacket + n * 32 + i % 32 of a slot
  };

  /// A `workspace`: kernels with the same key work in one region and number their launches together. Its copies, each of
  /// all mailboxes of a kernel, lie from `begin` to `end` in the region.
  struct Workspace {
    std::string name, key;
    std::uint64_t begin = 0, end = 0;
  };

  /// The vector that the packet loop of the kernel goes over: the product of `extents`, or a piece of it where the
  /// algorithm splits it between the ranks.
  struct Domain {
    std::vector<std::string> extents;
    bool split = false;
    bool rows = false; ///< it goes row by row: the last extent is a row's length, and each row is packets of its own
    bool counted = false; ///< how much of it there is for each rank is known to the kernel alone, so a launch without
                          ///< elements is one too
  };
  /// A vector of another length, which the kernel goes over in loops of its own.
  struct OtherDomain {
    std::vector<std::string> extents;
    bool split = false;
    std::uint64_t capacity = 0; ///< as `capacity` is of the domain
    bool rows = false;          ///< as of the domain; where any vector goes by rows, the domain does
    unsigned rowUnit = 1;       ///< as `rowUnit` is of the domain
  };

  /// What one rank's output must hold after a launch, as the contract's `ensures` says, for any extents. A whole
  /// argument is row kWhole of itself; another number is a row of its first extent.
  struct Promise {
    struct Part {
      unsigned rank, argument;
      int row;
      unsigned depth = 1; ///< how many of the first extents the row's number counts together
    };
    /// A step of what is computed; steps come before their uses.
    struct Step {
      enum class Kind {
        Input,     ///< a source, at entry
        Exit,      ///< a source, an output of the same rank, at exit
        Reduction, ///< several sources, reduced with `op`
        Constant,  ///< `value`, or the number `whole`
        Scalar,    ///< the argument `scalar`
        Map,       ///< `function` of steps a and b, each element alone
        RowReduce, ///< `function` of the rows of step a, or of groups of `group` in them
      } kind = Kind::Input;
      DType dtype = DType::F32; ///< what the step rounds to
      std::vector<Part> sources;
      ReduceOp op = ReduceOp::Sum;
      double value = 0;
      std::optional<std::int64_t> whole = {};
      std::string scalar;
      std::string function; ///< neg abs exp rsqrt inverse convert truncate add sub mul div min max; rowsum rowmean rowmax
      unsigned group = 0;
      bool perRow = false; ///< of sources: they have one element for each row
      int a = -1, b = -1;
    };
    Part output;
    bool reduces = false;       ///< the sources reduced with `op`, in the order given; else there is one, copied
    std::vector<Part> sources;
    std::vector<Step> steps;              ///< if there are any, the last is what the output holds, and not the sources
    std::vector<std::string> rowExtents;  ///< of a row of the steps; a source with these extents alone is every row
    std::optional<Part> count = {};       ///< promised of so many elements alone, a number of an input; of the others nothing
    bool countsRows = false;              ///< of so many rows
  };
  static constexpr int kWhole = -1;

  std::string member;     ///< `allreduce.oneshot.ll`
  std::string collective; ///< `allreduce`
  std::string algorithm;  ///< `oneshot`
  std::string mode;       ///< `ll`; empty for an algorithm without modes
  std::string sourceFile;
  int ranks = 0;
  DType dtype = DType::F32;
  std::optional<ReduceOp> op; ///< empty where the collective has no operator
  std::string order = "ascending"; ///< of operations: `ascending`, or `fixed`: alike on all ranks, rounded at each step

  std::vector<Argument> arguments;
  std::vector<std::string> extents; ///< the free extents, in the order of the kernel's parameters
  std::vector<Scalar> scalars;
  std::vector<std::pair<std::string, std::string>> inplace; ///< (`y`, `x`): y may be x; (`x`, `y[me]`)
  std::vector<Promise> promises; ///< of all ranks; not in the JSON, which has the clauses as text
  /// The same for given values of the scalars, by name, where promises name them; `promises` is empty then.
  std::function<std::vector<Promise>(const std::map<std::string, std::int64_t> &)> promisesWith;
  std::vector<std::string> ensures;
  std::vector<Mailbox> mailboxes;
  std::string entry; ///< the kernel's name in the text
  Domain domain;
  std::vector<OtherDomain> otherDomains; ///< none where all vectors are as long as the domain's

  std::uint64_t regionBytes = 0;  ///< of scratch in every rank's symmetric memory, header included
  std::optional<Workspace> workspace = {}; ///< whose region it is; empty: its own
  unsigned hops = 0;              ///< messages that must follow each other, of the longest chain between ranks
  unsigned barriers = 0;          ///< team barriers in the kernel; where there are any, all ranks launch the same grid
  std::uint64_t credits = 0;      ///< where in the region there is a word for each rank that tells how far its readers
                                  ///< are (in chunks, one for each CTA of it), coll::Credits; 0: nowhere
  unsigned packetBytes = 0;       ///< payload that one thread handles at a time
  unsigned packetsTogether = 1;   ///< packets come in whole groups of so many; CTAs have whole groups of threads
  unsigned alignment = 16;        ///< of a vector whose packets are all to be whole, in bytes
  unsigned unsplitBytes = 8;      ///< aligned stores of so many bytes must arrive whole; up to 8, PTX promises it
  bool bulk = false;              ///< packets are of several units of 16 bytes, for large messages
  unsigned rowPackets = 0;        ///< the most packets of one row that a thread can hold, and
  std::uint64_t maxRowPackets = 0; ///< the most that a row may have; 0 where the domain does not go by rows
  unsigned rowUnit = 1;           ///< a row is a multiple of so many elements
  std::uint64_t wholeUnit = 1;    ///< packets are all whole where the domain's elements are a multiple of this
  std::uint64_t chunkPackets = 0; ///< packets that the loop goes over at a time, each an epoch; 0: all at once
  static constexpr std::uint64_t kMostChunks = 1u << 20; ///< in one launch, as in the device header coll/chunks.h
  std::uint64_t capacity = 0;     ///< the most elements the domain's vector may have, from `when bytes <= …`;
                                  ///< 0: no bound
  unsigned maxThreads = 512;      ///< per CTA
  unsigned maxCtas = 256;
  unsigned minArch = 70;          ///< the lowest sm_XX the kernel builds for
  std::vector<std::string> needs; ///< of the machine, beyond minArch: `p2p-atomics`, `multicast`
  /// What it makes use of where the machine has it, and does without elsewhere: `multicast`.
  std::vector<std::string> uses;
  bool multicastsMail = false;    ///< the region is written on all ranks at once: the kernel gets its address of all
  std::string proof;              ///< the checker's summary; starts with "unchecked" where it was overruled
  std::string strength;           ///< what the proof rests on
  std::vector<std::string> assumptions; ///< of hardware, beyond the PTX memory model; empty: the model alone
  bool strict = false;                  ///< was to be proved without any
  /// Packet i of a slot is handled by thread i mod (CTAs x threads) of the grid on every rank, in all loops: what the
  /// proof of slots that are filled again within a launch rests on.
  bool cyclicThreads = false;
  std::vector<unsigned> removableBarriers; ///< lines of `barrier` statements without which it is proved as well
  std::vector<std::pair<unsigned, unsigned>> sourceMap; ///< (line of CUDA text, line of the .coll file)

  /// Bytes of the kernel's one parameter, a struct of 8-byte fields: Team<N> (N peers, status, timeout, me,
  /// clearBytes), with `multicastsMail` the address of all regions at once, then a pointer per argument, or N for a
  /// window and one more with `multicast`, a u64 per extent, 8 bytes per scalar with the value at
  /// the low end, and a u64 that is not zero if all packets are whole and aligned to `alignment` and, without `bulk`,
  /// every thread has at most one. The kernel then takes its quick path; it is right without, too.
  std::uint64_t parameterBytes() const;
  /// Addresses that the kernel gets for an argument. What is of all ranks at once comes last, and is null where the team
  /// has no multicast.
  unsigned pointersOf(const Argument &argument) const {
    return (argument.window ? unsigned(ranks) : 1u) + (argument.multicast ? 1u : 0u);
  }
  bool hasWindows() const;
  bool usesMulticast() const { return !uses.empty(); }

  /// How much of a region, from its start, the wrap of the epoch clears: up to the first mailbox with a fill.
  std::uint64_t clearBytes() const;

  /// Elements of an argument, and packets that the longest of the kernel's loops has, for these extents. Extents that are
  /// missing count as 1.
  std::uint64_t elements(const Argument &argument, const Extents &values) const;
  std::uint64_t packets(const Extents &values) const;
  /// Whether all packets are whole, as far as counts go.
  bool wholePackets(const Extents &values) const;

  /// Whether the sign of a zero in an output is promised: not where payload goes through a `sentinel` or
  /// `counter` mailbox.
  bool keepsZeroSign() const;

  std::string toJson() const;
};

} // namespace coll
