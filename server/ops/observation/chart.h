// Small charts of figures over time, as SVG inside a page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace bandana::server {

struct ChartLine {
  std::string name;
  std::vector<std::optional<double>> values;  // one a time; nothing is a gap
};

struct Chart {
  std::string title;
  std::string unit;               // of the values
  std::vector<absl::Time> times;  // ascending
  std::vector<ChartLine> lines;   // at most four, drawn in colours that the colour-blind tell apart
};

// Axes from 0 (or the least value, where some are negative) to the largest, with the ends named;
// times as seconds or minutes before the last one. Text is escaped. A chart without two times says
// so.
std::string ToSvg(const Chart& chart);

// A bar of [0, 1] with a text in front; beyond 1 it is full and marked.
std::string BarSvg(double share, const std::string& text);

}  // namespace bandana::server
