#include "bench/Statistics.h"

#include <algorithm>
#include <cmath>

namespace coll::bench {

double quantile(std::vector<double> samples, double fraction) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  const auto rank = std::size_t(std::ceil(fraction * double(samples.size())));
  return samples[std::clamp<std::size_t>(rank, 1, samples.size()) - 1];
}

double median(std::vector<double> samples) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  const std::size_t middle = samples.size() / 2;
  return samples.size() % 2 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
}

Statistics summarise(const std::vector<double> &samples) {
  return {median(samples), quantile(samples, 0), quantile(samples, 0.99)};
}

} // namespace coll::bench
