#include "research/lab/tally.h"

#include "common/base/status.h"

namespace bandana::lab {

absl::StatusOr<Settings> SettingsOf(const Cell& cell) {
  Settings settings;
  for (const auto& [key, value] : cell.settings) BANDANA_RETURN_IF_ERROR(settings.Add(key, value));
  return settings;
}

void AddRound(std::uint64_t round, const RoundValues& values, CellResult& result) {
  result.regret += values.best - values.shown;
  result.reward += values.reward;
  result.random_regret += values.best - values.mean;
  result.random_reward += values.mean;
  if (EndsPoint(round, result.cell.horizon))
    result.curve.push_back({round + 1, result.regret, result.reward});
}

}  // namespace bandana::lab
