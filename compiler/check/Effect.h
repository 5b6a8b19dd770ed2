// What one launch does to what ranks know, whatever they knew before it.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <vector>

namespace coll::check {

struct Effect {
  static constexpr int kMostRanks = 128;
  using Ranks = std::bitset<kMostRanks>;
  /// Ways to know, by what they order: of Order's chains `seen`, then the strongest that holds for plain accesses, then
  /// release and acquire alone. Each tells of nothing but itself.
  enum Clock { Seen, Firm, Caused, Clocks };

  /// By what a rank knew at the begin: the ranks that know it at the end.
  std::array<std::vector<Ranks>, Clocks> tells;

  /// An access that another one of a later launch has to come after, or that other one. Accesses with one key conflict;
  /// a key has one clock.
  struct Access {
    std::int64_t key;
    int clock;
    int box;      ///< as many launches lie between as it has copies, less so many:
    int less;     ///< if there is no box, it may be the next launch
    Ranks ranks;  ///< of an earlier access: who knows of it at the end of its launch; of a later one: all whose
                  ///< knowledge at the begin of the launch has come to it
    bool isHazard; ///< else only the proof rests on more
  };
  std::vector<Access> earlier, later;
  bool byValue = false; ///< something is known only from what a message's value is computed from
};

} // namespace coll::check
