// A live line on stderr.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "tools/fleet/tally.h"

namespace bandana {

// One line: decisions of rounds, rate since the last line, regret against random, errors.
std::string ProgressLine(const Tally& tally, std::uint64_t rounds, double decisions_per_second);

// Writes a line at most once per second: over the last one on a terminal, below it otherwise.
// Threads: not thread-safe.
class Progress {
 public:
  // Silent unless stderr is a terminal or `always`.
  Progress(std::uint64_t rounds, bool always);

  void Show(const Tally& tally, absl::Duration elapsed);
  // Leaves the line.
  void Finish();

 private:
  std::uint64_t rounds_;
  bool terminal_;
  bool enabled_;
  bool line_open_ = false;
  absl::Duration last_elapsed_;
  std::uint64_t last_decisions_ = 0;
};

}  // namespace bandana
