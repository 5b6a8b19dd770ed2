// Latency over size as a picture: an SVG, logarithmic on both axes, one line a rival, its name at its end.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace coll::bench {

struct PlotLine {
  std::string name;
  std::vector<std::pair<double, double>> points; ///< (bytes, microseconds), both above 0, bytes ascending
  bool dashed = false;
};

struct Plot {
  std::string title, subtitle;
  std::vector<PlotLine> lines;
};

/// A function of its argument alone. Without a point it is an empty frame.
std::string toSvg(const Plot &plot);

} // namespace coll::bench
