// Experiments as lists of independent runs, spread over threads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace bandana::lab {

// One run: an algorithm in a world.
struct Cell {
  std::string algorithm;
  std::string label;
  std::optional<double> epsilon;
  std::optional<double> delta;
  std::string environment;
  std::map<std::string, std::string> settings;  // of the suite: one value a key
  std::uint64_t horizon = 0;                    // rounds, all users together
  std::uint64_t seed = 0;
};

// Sums over the rounds so far, reward units.
struct Point {
  std::uint64_t round = 0;
  double regret = 0;  // pseudo-regret: best expected - expected of the arm shown
  double reward = 0;  // realised
};

struct CellResult {
  Cell cell;
  std::string mechanism;
  int dimension = 0;
  int users = 0;
  int arms = 0;  // on offer in a round
  double regret = 0;
  double reward = 0;
  double random_regret = 0;  // what a uniformly random policy expects
  double random_reward = 0;
  double seconds = 0;
  std::map<std::string, double> measures;  // what only this suite measures: further CSV columns
  std::vector<Point> curve;                // about kCurvePoints, the last at the horizon
};
inline constexpr int kCurvePoints = 200;

// Whether `round` (0-based) of a run ends a point of its curve: evenly spaced, and the last.
constexpr bool EndsPoint(std::uint64_t round, std::uint64_t horizon) {
  const std::uint64_t stride = horizon < kCurvePoints ? 1 : horizon / kCurvePoints;
  return (round + 1) % stride == 0 || round + 1 == horizon;
}

// A pure function of the cell, but for `seconds`, which RunCells fills in. Errors: those of the
// world, the learner and its mechanism.
using RunFunction = absl::StatusOr<CellResult> (*)(const Cell& cell);

// Runs all cells, `threads` at a time; results in the cells' order. `done` is told after each cell
// how many are done, from any thread, one call at a time; may be empty. Errors: the first one,
// annotated with its cell; cells not begun then stay so.
absl::StatusOr<std::vector<CellResult>> RunCells(RunFunction run, const std::vector<Cell>& cells,
                                                 int threads,
                                                 const std::function<void(std::size_t)>& done);

}  // namespace bandana::lab
