#include "tools/fleet/plot.h"

#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "tools/base/gnuplot.h"

namespace bandana {

absl::Status WriteRegretPlot(const std::string& path, const std::string& title,
                             const std::string& series, const std::vector<CurvePoint>& curve) {
  if (curve.empty()) return InvalidArgument("no decision was made: there is nothing to plot");
  std::string script = absl::StrCat("set title ", QuotedForGnuplot(title), "\n");
  script +=
      "set xlabel 'decisions'\n"
      "set ylabel 'cumulative regret (reward units)'\n"
      "set key top left reverse Left\n"
      "set grid lc rgb '#dddddd'\n"
      "set xrange [0:*]\n"
      "set yrange [0:*]\n"
      "set format x '%.0f'\n"
      "$curve << END\n0 0 0\n";
  for (const CurvePoint& point : curve) {
    absl::StrAppendFormat(&script, "%d %.9g %.9g\n", point.decisions, point.regret,
                          point.random_regret);
  }
  absl::StrAppend(
      &script, "END\nplot $curve using 1:3 with lines lw 2 dt 2 lc rgb '#888888' title ",
      QuotedForGnuplot("uniformly random arm (expected)"),
      ", $curve using 1:2 with lines lw 3 lc rgb '#0060ad' title ", QuotedForGnuplot(series), "\n");
  return DrawSvg(path, script);
}

}  // namespace bandana
