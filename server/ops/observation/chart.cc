#include "server/ops/observation/chart.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/ops/observation/html.h"

namespace bandana::server {
namespace {

constexpr double kWidth = 360;
constexpr double kHeight = 150;
constexpr double kLeft = 52;
constexpr double kRight = 8;
constexpr double kTop = 30;
constexpr double kBottom = 20;
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7"};

struct Extent {
  double low = 0;
  double high = 0;
};

Extent ExtentOf(const Chart& chart) {
  Extent extent;
  for (const ChartLine& line : chart.lines) {
    for (const auto& value : line.values) {
      if (!value || !std::isfinite(*value)) continue;
      extent.low = std::min(extent.low, *value);
      extent.high = std::max(extent.high, *value);
    }
  }
  if (extent.high == extent.low) extent.high = extent.low + 1;
  return extent;
}

// Three significant digits with a prefix of thousands.
std::string Short(double value) {
  const double size = std::abs(value);
  if (size >= 1e9) return absl::StrFormat("%.3gG", value / 1e9);
  if (size >= 1e6) return absl::StrFormat("%.3gM", value / 1e6);
  if (size >= 1e4) return absl::StrFormat("%.3gk", value / 1e3);
  return absl::StrFormat("%.3g", value);
}

std::string Before(absl::Duration span) {
  const double minutes = absl::ToDoubleMinutes(span);
  return minutes < 2 ? absl::StrFormat("-%.0f s", 60 * minutes)
                     : absl::StrFormat("-%.0f min", minutes);
}

std::string TextAt(double x, double y, const char* anchor, std::string_view text) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>", x, y, anchor,
                         Escape(text));
}

// Unbroken stretches of values, each as one polyline; single values as dots.
std::string PathsOf(const Chart& chart, const ChartLine& line, const Extent& extent,
                    const char* colour) {
  const absl::Duration span = chart.times.back() - chart.times.front();
  const auto x_of = [&](std::size_t i) {
    return kLeft + (kWidth - kLeft - kRight) *
                       absl::FDivDuration(chart.times[i] - chart.times.front(), span);
  };
  const auto y_of = [&](double value) {
    return kHeight - kBottom -
           (kHeight - kTop - kBottom) * (value - extent.low) / (extent.high - extent.low);
  };
  std::string out;
  std::string points;
  int count = 0;
  const auto end = [&] {
    if (count == 1) {
      absl::StrAppend(&out, "<circle r=\"1.5\" fill=\"", colour, "\" ", points, "/>");
    } else if (count > 1) {
      absl::StrAppend(&out, "<polyline fill=\"none\" stroke=\"", colour,
                      "\" stroke-width=\"1.5\" points=\"", points, "\"/>");
    }
    points.clear();
    count = 0;
  };
  for (std::size_t i = 0; i < line.values.size(); ++i) {
    const auto& value = line.values[i];
    if (!value || !std::isfinite(*value)) {
      end();
      continue;
    }
    const bool alone = count == 0 && (i + 1 == line.values.size() || !line.values[i + 1]);
    if (alone) {
      points = absl::StrFormat("cx=\"%.1f\" cy=\"%.1f\"", x_of(i), y_of(*value));
    } else {
      absl::StrAppendFormat(&points, "%.1f,%.1f ", x_of(i), y_of(*value));
    }
    ++count;
  }
  end();
  return out;
}

}  // namespace

std::string ToSvg(const Chart& chart) {
  std::string svg =
      absl::StrFormat("<svg class=\"chart\" viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"%s\">",
                      kWidth, kHeight, Escape(chart.title));
  absl::StrAppend(&svg, "<text class=\"title\" x=\"0\" y=\"11\">", Escape(chart.title), " <tspan>",
                  Escape(chart.unit), "</tspan></text>");
  if (chart.times.size() < 2) {
    absl::StrAppend(&svg, TextAt(kWidth / 2, kHeight / 2, "middle", "no samples yet"), "</svg>\n");
    return svg;
  }
  const Extent extent = ExtentOf(chart);
  double x = 0;
  for (std::size_t i = 0; i < chart.lines.size() && chart.lines.size() > 1; ++i) {
    absl::StrAppendFormat(&svg, "<rect x=\"%.1f\" y=\"18\" width=\"8\" height=\"3\" fill=\"%s\"/>",
                          x, kColours[i % std::size(kColours)]);
    svg += TextAt(x + 11, 23, "start", chart.lines[i].name);
    x += 22 + 6.2 * static_cast<double>(chart.lines[i].name.size());
  }
  const double bottom = kHeight - kBottom;
  absl::StrAppendFormat(&svg, "<path class=\"axis\" d=\"M%g %g V%g H%g\"/>", kLeft, kTop, bottom,
                        kWidth - kRight);
  svg += TextAt(kLeft - 5, kTop + 5, "end", Short(extent.high));
  svg += TextAt(kLeft - 5, bottom, "end", Short(extent.low));
  svg += TextAt(kLeft, kHeight - 6, "start", Before(chart.times.back() - chart.times.front()));
  svg += TextAt(kWidth - kRight, kHeight - 6, "end", "now");
  for (std::size_t i = 0; i < chart.lines.size(); ++i)
    svg += PathsOf(chart, chart.lines[i], extent, kColours[i % std::size(kColours)]);
  return svg + "</svg>\n";
}

std::string BarSvg(double share, const std::string& text) {
  const double full = std::clamp(std::isfinite(share) ? share : 1.0, 0.0, 1.0);
  const char* colour = share >= 1 ? "#b3402e" : share >= 0.8 ? "#a06a00" : "#2a7f4f";
  return absl::StrFormat(
      "<svg class=\"bar\" viewBox=\"0 0 120 10\" role=\"img\" aria-label=\"%s\"><rect "
      "class=\"rail\" "
      "width=\"120\" height=\"10\" rx=\"2\"/><rect width=\"%.1f\" height=\"10\" rx=\"2\" "
      "fill=\"%s\"/></svg><small>%s</small>",
      Escape(text), 120 * full, colour, Escape(text));
}

}  // namespace bandana::server
