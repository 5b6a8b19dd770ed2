#include "bench/Plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace coll::bench {
namespace {

constexpr double kWidth = 960, kHeight = 600, kLeft = 70, kRight = 220, kTop = 70, kBottom = 60;
constexpr double kLabelStep = 17; ///< names nearer than this would run into each other

/// Told apart with any kind of colour vision (Okabe and Ito), dark ones first.
constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                 "#e69f00", "#56b4e9", "#000000", "#8a7b00"};

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string escaped(const std::string &text) {
  std::string result;
  for (char c : text) switch (c) {
    case '&': result += "&amp;"; break;
    case '<': result += "&lt;"; break;
    case '>': result += "&gt;"; break;
    case '"': result += "&quot;"; break;
    default: result += c;
    }
  return result;
}

std::string sizeText(double bytes) {
  static const char *const units[] = {" B", " K", " M", " G"};
  unsigned unit = 0;
  while (unit < 3 && bytes >= 1024) bytes /= 1024, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, "%g%s", bytes, units[unit]);
  return text;
}

/// What the axes span.
struct Frame {
  double x0 = 1, x1 = 2, y0 = 1, y1 = 2;

  double x(double bytes) const {
    return kLeft + (std::log2(bytes) - std::log2(x0)) / (std::log2(x1) - std::log2(x0)) * (kWidth - kLeft - kRight);
  }
  double y(double time) const {
    return kHeight - kBottom -
           (std::log2(time) - std::log2(y0)) / (std::log2(y1) - std::log2(y0)) * (kHeight - kTop - kBottom);
  }
};

/// The largest of 1, 2, 5 times a power of ten that is not above `value`, or the smallest not below it.
double roundTo125(double value, bool up) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (double step : {1.0, 2.0, 5.0, 10.0})
    if (up && step * power >= value * 0.999) return step * power;
  for (double step : {5.0, 2.0})
    if (step * power <= value * 1.001) return step * power;
  return power;
}

Frame frameOf(const Plot &plot) {
  Frame frame;
  bool any = false;
  for (const PlotLine &line : plot.lines)
    for (const auto &[x, y] : line.points) {
      frame.x0 = any ? std::min(frame.x0, x) : x, frame.x1 = any ? std::max(frame.x1, x) : x;
      frame.y0 = any ? std::min(frame.y0, y) : y, frame.y1 = any ? std::max(frame.y1, y) : y;
      any = true;
    }
  frame.y0 = roundTo125(frame.y0, false), frame.y1 = roundTo125(frame.y1, true);
  if (frame.x1 <= frame.x0) frame.x1 = frame.x0 * 2;
  if (frame.y1 <= frame.y0) frame.y1 = frame.y0 * 2;
  return frame;
}

std::string text(double x, double y, const char *anchor, const std::string &what, const std::string &more = "") {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + anchor + "\"" + more + ">" +
         escaped(what) + "</text>\n";
}

std::string stroke(double x0, double y0, double x1, double y1, const char *colour) {
  return "<line x1=\"" + number(x0) + "\" y1=\"" + number(y0) + "\" x2=\"" + number(x1) + "\" y2=\"" + number(y1) +
         "\" stroke=\"" + colour + "\"/>\n";
}

std::string axes(const Frame &frame) {
  std::string svg;
  const double right = kWidth - kRight, bottom = kHeight - kBottom;
  // At most some twelve labels along the sizes, whatever they span.
  const double doublings = std::log2(frame.x1 / frame.x0);
  const double step = std::exp2(std::max(1.0, std::ceil(doublings / 12)));
  for (double x = frame.x0; x <= frame.x1 * 1.001; x *= step) {
    svg += stroke(frame.x(x), kTop, frame.x(x), bottom, "#e4e4e4");
    svg += text(frame.x(x), bottom + 20, "middle", sizeText(x));
  }
  for (double power = std::pow(10, std::floor(std::log10(frame.y0))); power <= frame.y1; power *= 10)
    for (double y : {power, 2 * power, 5 * power}) {
      if (y < frame.y0 * 0.999 || y > frame.y1 * 1.001) continue;
      char label[32];
      std::snprintf(label, sizeof label, "%g", y);
      svg += stroke(kLeft, frame.y(y), right, frame.y(y), "#e4e4e4");
      svg += text(kLeft - 8, frame.y(y) + 4, "end", label);
    }
  svg += stroke(kLeft, bottom, right, bottom, "#404040") + stroke(kLeft, kTop, kLeft, bottom, "#404040");
  svg += text((kLeft + right) / 2, kHeight - 14, "middle", "bytes");
  svg += text(18, (kTop + bottom) / 2, "middle", "microseconds an operation",
              " transform=\"rotate(-90 18 " + number((kTop + bottom) / 2) + ")\"");
  return svg;
}

struct Label {
  double from, at; ///< heights: of the line's end, and of the name
  std::size_t line;
};

/// Names as near to the ends of their lines as they can be without touching each other.
std::vector<Label> placeLabels(const Plot &plot, const Frame &frame) {
  std::vector<Label> labels;
  for (std::size_t i = 0; i < plot.lines.size(); ++i)
    if (!plot.lines[i].points.empty()) {
      const double y = frame.y(plot.lines[i].points.back().second);
      labels.push_back({y, y, i});
    }
  std::stable_sort(labels.begin(), labels.end(), [](const Label &a, const Label &b) { return a.from < b.from; });
  for (std::size_t i = 1; i < labels.size(); ++i) labels[i].at = std::max(labels[i].at, labels[i - 1].at + kLabelStep);
  // What was pushed below the frame goes up again, and pushes those above it.
  double lowest = kHeight - kBottom + 4;
  for (std::size_t i = labels.size(); i-- > 0; lowest -= kLabelStep) labels[i].at = std::min(labels[i].at, lowest);
  return labels;
}

/// How a line is told from the others: where colours repeat, its marks are others.
struct Style {
  std::string colour;
  std::size_t mark;
};

std::string markSvg(double x, double y, const Style &style) {
  const std::string paint = "\" stroke=\"" + style.colour + "\" fill=\"" + (style.mark % 2 ? "#ffffff" : style.colour) + "\"/>\n";
  if (style.mark < 2) return "<circle cx=\"" + number(x) + "\" cy=\"" + number(y) + "\" r=\"2.5" + paint;
  return "<rect x=\"" + number(x - 2.5) + "\" y=\"" + number(y - 2.5) + "\" width=\"5\" height=\"5" + paint;
}

std::string lineSvg(const PlotLine &line, const Frame &frame, const Style &style) {
  std::string points;
  for (const auto &[x, y] : line.points)
    points += (points.empty() ? "" : " ") + number(frame.x(x)) + "," + number(frame.y(y));
  std::string svg = "<polyline fill=\"none\" stroke=\"" + style.colour + "\" stroke-width=\"2\"" +
                    (line.dashed ? " stroke-dasharray=\"6 4\"" : "") + " points=\"" + points + "\"/>\n";
  if (!line.dashed)
    for (const auto &[x, y] : line.points) svg += markSvg(frame.x(x), frame.y(y), style);
  return svg;
}

} // namespace

std::string toSvg(const Plot &plot) {
  const Frame frame = frameOf(plot);
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(kWidth) + "\" height=\"" +
                    number(kHeight) + "\" viewBox=\"0 0 " + number(kWidth) + " " + number(kHeight) +
                    "\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\" fill=\"#202020\">\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  svg += text(kLeft, 28, "start", plot.title, " font-size=\"18\" font-weight=\"bold\"");
  svg += text(kLeft, 50, "start", plot.subtitle, " fill=\"#606060\"");
  svg += axes(frame);

  std::vector<Style> styles;
  std::size_t next = 0;
  for (const PlotLine &line : plot.lines) {
    if (line.dashed) styles.push_back({"#707070", 0});
    else styles.push_back({kColours[next % kColours.size()], next / kColours.size()}), ++next;
  }
  for (std::size_t i = 0; i < plot.lines.size(); ++i) svg += lineSvg(plot.lines[i], frame, styles[i]);
  for (const Label &label : placeLabels(plot, frame)) {
    const PlotLine &line = plot.lines[label.line];
    const double end = frame.x(line.points.back().first), at = kWidth - kRight + 22;
    svg += stroke(end + 4, label.from, at - 4, label.at, "#b0b0b0");
    if (!line.dashed) svg += markSvg(at + 2, label.at, styles[label.line]);
    svg += text(at + 8, label.at + 4, "start", line.name, " fill=\"" + styles[label.line].colour + "\"");
  }
  return svg + "</svg>\n";
}

} // namespace coll::bench
