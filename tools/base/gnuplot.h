// Pictures, by gnuplot.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace bandana {

// Errors: UNAVAILABLE gnuplot is not installed (Debian package gnuplot-nox).
absl::Status CheckGnuplot();

// Runs gnuplot with `script` as its standard input, and writes its plots to `path` as SVG of that
// size, compact (tools/base/compact_svg.h). Errors: UNAVAILABLE gnuplot is missing or failed, or
// the file cannot be written.
struct PlotSize {
  int width = 800;  // pixels
  int height = 500;
};
absl::Status DrawSvg(const std::string& path, const std::string& script, PlotSize size = {});

// A single-quoted gnuplot string, in which only the quote is special. Line ends become blanks.
std::string QuotedForGnuplot(const std::string& text);

}  // namespace bandana
