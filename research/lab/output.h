// Results as CSV, JSON and a table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "research/lab/cells.h"
#include "research/lab/experiment.h"

namespace bandana::lab {

// Runs that differ only in their seed.
struct Group {
  Cell cell;  // of the first
  std::vector<const CellResult*> runs;
  double epsilon() const { return cell.epsilon.value_or(0); }
};
// In order of their first run. The groups point into `results`.
std::vector<Group> GroupBySeed(std::span<const CellResult> results);

// Mean and half the width of its 95 % confidence interval (Student's t; 0 for one value).
struct MeanInterval {
  double mean = 0;
  double half_width = 0;
};
MeanInterval MeanOf(std::span<const double> values);

// Mean and interval over the group's runs of the final regret, or of the measure `value` if that
// is not empty.
MeanInterval FinalOf(const Group& group, std::string_view value);

// One row a run, columns of docs/experiments.md, then one a measure of the suite.
std::string ToCsv(const Experiment& experiment, std::span<const CellResult> results);

// Means and intervals of each group with its mean curve.
std::string ToJson(const Experiment& experiment, std::span<const CellResult> results);

// The settings in which the groups differ, as `key=value` texts joined by blanks; of one group.
std::string SettingOf(const Group& group, std::span<const Group> all);

// A table of mean final regrets (rewards, or the experiment's own value, where it is drawn by
// them): a line an algorithm, label, setting and delta, a column an epsilon.
std::string ToTable(const Experiment& experiment, std::span<const CellResult> results);

}  // namespace bandana::lab
