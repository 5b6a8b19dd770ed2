// What many timings of one thing say.
#pragma once

#include <vector>

namespace coll::bench {

struct Statistics {
  double median = 0, minimum = 0, p99 = 0;
};

/// The smallest sample that at least `fraction` of all samples do not exceed; 0 if there are none.
double quantile(std::vector<double> samples, double fraction);

/// The middle sample, or the mean of the two in the middle.
double median(std::vector<double> samples);

Statistics summarise(const std::vector<double> &samples);

} // namespace coll::bench
