#include "bench/Race.h"

#include <algorithm>
#include <limits>

namespace coll::bench {
namespace {

class Race {
public:
  Race(const std::vector<std::size_t> &groups, const RaceRules &rules, const TimeOne &time)
      : groups(groups), rules(rules), time(time), runners(groups.size()),
        best(*std::max_element(groups.begin(), groups.end()) + 1) {}

  Result<std::vector<RaceResult>> run() {
    double margin = rules.margin;
    for (unsigned timings = rules.first; anyRuns(); timings *= 2, margin = std::max(rules.least, margin / 2)) {
      if (auto done = round(timings); !done) return done.error();
      judge(margin);
    }
    std::vector<RaceResult> results;
    for (std::size_t winner : best) results.push_back({winner, runners[winner].samples});
    return results;
  }

private:
  struct Runner {
    std::vector<double> samples;
    double median = std::numeric_limits<double>::infinity();
    bool runs = true;
  };

  bool anyRuns() const {
    return std::any_of(runners.begin(), runners.end(), [](const Runner &runner) { return runner.runs; });
  }

  Result<void> round(unsigned timings) {
    for (unsigned i = 0; i < timings; ++i, ++turn)
      for (std::size_t k = 0; k < runners.size(); ++k) {
        const std::size_t candidate = (k + turn) % runners.size();
        Runner &runner = runners[candidate];
        if (!runner.runs || runner.samples.size() >= rules.most) continue;
        auto sample = time(candidate);
        if (!sample) return sample.error();
        runner.samples.push_back(*sample);
      }
    return {};
  }

  void judge(double margin) {
    for (Runner &runner : runners) runner.median = bench::median(runner.samples);
    for (std::size_t c = 0; c < runners.size(); ++c) {
      // What has dropped out was timed too seldom to come back.
      std::size_t &leader = best[groups[c]];
      if (groups[leader] != groups[c] || (runners[c].runs && !runners[leader].runs) ||
          (runners[c].runs == runners[leader].runs && runners[c].median < runners[leader].median))
        leader = c;
    }
    double ofAll = std::numeric_limits<double>::infinity();
    for (std::size_t leader : best) ofAll = std::min(ofAll, runners[leader].median);
    for (std::size_t c = 0; c < runners.size(); ++c) {
      Runner &runner = runners[c];
      const Runner &leader = runners[best[groups[c]]];
      if (runner.samples.size() >= rules.most || runner.median > leader.median * (1 + margin) ||
          leader.median > ofAll * rules.hopeless)
        runner.runs = false;
    }
  }

  const std::vector<std::size_t> &groups;
  const RaceRules &rules;
  const TimeOne &time;
  std::vector<Runner> runners;
  std::vector<std::size_t> best; ///< [group]: a candidate; of another group before the first judgement
  unsigned turn = 0;
};

} // namespace

Result<std::vector<RaceResult>> race(const std::vector<std::size_t> &groups, const RaceRules &rules,
                                     const TimeOne &time) {
  if (groups.empty()) return std::vector<RaceResult>();
  return Race(groups, rules, time).run();
}

} // namespace coll::bench
