#include "tools/fleet/progress.h"

#include <unistd.h>

#include <iostream>

#include "absl/strings/str_format.h"

namespace bandana {

std::string ProgressLine(const Tally& tally, std::uint64_t rounds, double decisions_per_second) {
  const CurvePoint& sums = tally.sums();
  return absl::StrFormat(
      "%d of %d decisions, %.0f per second, regret %.1f (random %.1f), reward %.1f, %d errors",
      sums.decisions, rounds, decisions_per_second, sums.regret, sums.random_regret, sums.reward,
      tally.errors());
}

Progress::Progress(std::uint64_t rounds, bool always)
    : rounds_(rounds), terminal_(isatty(STDERR_FILENO) == 1), enabled_(always || terminal_) {}

void Progress::Show(const Tally& tally, absl::Duration elapsed) {
  const absl::Duration since = elapsed - last_elapsed_;
  if (!enabled_ || since < absl::Seconds(1)) return;
  const std::uint64_t fresh = tally.sums().decisions - last_decisions_;
  const std::string line =
      ProgressLine(tally, rounds_, static_cast<double>(fresh) / absl::ToDoubleSeconds(since));
  if (terminal_) {
    std::cerr << "\r\033[K" << line << std::flush;
    line_open_ = true;
  } else {
    std::cerr << line << std::endl;
  }
  last_elapsed_ = elapsed;
  last_decisions_ = tally.sums().decisions;
}

void Progress::Finish() {
  if (line_open_) std::cerr << std::endl;
  line_open_ = false;
}

}  // namespace bandana
