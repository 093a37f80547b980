#include "tools/tune/evidence_picture.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/base/gnuplot.h"

namespace bandana {
namespace {

constexpr int kPanelPixels = 300;
constexpr int kFramePixels = 20;
constexpr double kLeastDepth = 5;  // of the axis: a factor of 150 in likelihood

// How far below the best evidence the axis goes: half of the replays are above that.
double DepthOf(const Tuning& tuning, double best) {
  std::vector<double> below;
  for (const TuneReplay& replay : tuning.replays) {
    if (std::isfinite(replay.evidence)) below.push_back(best - replay.evidence);
  }
  const auto middle = below.begin() + static_cast<std::ptrdiff_t>(below.size() / 2);
  std::nth_element(below.begin(), middle, below.end());
  return std::max(kLeastDepth, *middle);
}

std::string Panel(const Tuning& tuning, std::size_t at, double depth) {
  const TuneCandidate& tuned = tuning.candidates[1];
  std::string data;
  for (const TuneReplay& replay : tuning.replays) {
    if (!std::isfinite(replay.evidence)) continue;
    absl::StrAppend(&data, replay.values[at], " ", replay.evidence - tuned.evidence, "\n");
  }
  const auto marked = [&](const TuneCandidate& candidate) {
    return absl::StrCat(candidate.parameters[at].second, " ",
                        std::max(candidate.evidence - tuned.evidence, -depth), "\n");
  };
  return absl::StrCat("set xlabel ", QuotedForGnuplot(tuned.parameters[at].first),
                      "\n$replays << EOD\n", data, "EOD\n$given << EOD\n",
                      marked(tuning.candidates[0]), "EOD\n$tuned << EOD\n", marked(tuned),
                      "EOD\nplot $replays with points pt 7 ps 0.4 lc rgb '#999999', ",
                      "$given with points pt 6 ps 1 lw 2 lc rgb '#d62728', ",
                      "$tuned with points pt 7 ps 1 lc rgb '#1f77b4'\n");
}

}  // namespace

absl::Status DrawEvidence(const Tuning& tuning, const std::string& path) {
  const std::size_t panels = tuning.candidates[1].parameters.size();
  const double depth = DepthOf(tuning, tuning.candidates[1].evidence);
  std::string script = absl::StrCat(
      "unset key\nset border 3\nset tics nomirror\nset logscale x\nset grid lc rgb '#dddddd'\n",
      "set ylabel 'evidence below the best'\nset yrange [", -1.02 * depth, ":", 0.05 * depth,
      "]\nset multiplot layout 1,", panels, "\n");
  for (std::size_t at = 0; at < panels; ++at) script += Panel(tuning, at, depth);
  absl::StrAppend(&script, "unset multiplot\n");
  return DrawSvg(path, script,
                 {.width = kFramePixels + kPanelPixels * static_cast<int>(panels), .height = 300});
}

}  // namespace bandana
