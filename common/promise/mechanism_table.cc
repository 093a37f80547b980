#include "common/promise/mechanism_table.h"

#include <algorithm>

#include "common/promise/mechanisms/counter.h"
#include "common/promise/mechanisms/joint_gaussian.h"
#include "common/promise/mechanisms/none.h"
#include "common/promise/mechanisms/privunit.h"
#include "common/promise/mechanisms/reward_randomizer.h"

namespace bandana {

namespace {

template <typename T>
bool Has(const std::vector<T>& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

template <typename Fits>
const MechanismRow* FirstRow(const Fits& fits) {
  for (const MechanismRow& row : Mechanisms()) {
    if (fits(row)) return &row;
  }
  return nullptr;
}

}  // namespace

std::span<const MechanismRow> Mechanisms() {
  static const std::vector<MechanismRow> rows = {
      {.id = MechanismId::kUnspecified, .modes = {Mode::kNonPrivate}, .make = MakeNone},
      {.id = MechanismId::kRewardRandomizer,
       .modes = {Mode::kLocalReward, Mode::kCentralReward},
       .drawn = ReportForm::kOutputs,
       .make = MakeRewardRandomizer},
      {.id = MechanismId::kCentredRandomizer,
       .modes = {Mode::kLocalReward},
       .drawn = ReportForm::kOutputs,
       .check_policy = CheckCentredPolicy,
       .make = MakeCentredRandomizer},
      {.id = MechanismId::kCounter,
       .modes = {Mode::kLocalReward, Mode::kCentralReward},
       .drawn = ReportForm::kStreams,
       .gaussian = true,
       .has_counter = true,
       .make = MakeCounter},
      {.id = MechanismId::kCounter, .modes = {Mode::kJoint}, .gaussian = true, .has_counter = true},
      {.id = MechanismId::kShapedCounter,
       .modes = {Mode::kCentralReward},
       .gaussian = true,
       .has_counter = true},
      {.id = MechanismId::kPooledCounter,
       .modes = {Mode::kCentralReward},
       .gaussian = true,
       .has_counter = true},
      {.id = MechanismId::kPrivUnit,
       .modes = {Mode::kLocalContext},
       .drawn = ReportForm::kContexts,
       .make = MakePrivUnit},
      {.id = MechanismId::kJointGaussian,
       .modes = {Mode::kLocalContext},
       .drawn = ReportForm::kContexts,
       .gaussian = true,
       .make = MakeJointGaussian},
      {.id = MechanismId::kSparseRelease,
       .modes = {Mode::kJoint},
       .dimension_max = kSparseDimensionMax,
       .gaussian = true},
  };
  return rows;
}

const MechanismRow* FindMechanism(MechanismId id, Mode mode) {
  return FirstRow([&](const MechanismRow& row) { return row.id == id && Has(row.modes, mode); });
}

const MechanismRow* FindMechanism(MechanismId id) {
  return FirstRow(
      [&](const MechanismRow& row) { return row.id == id && !Has(row.modes, Mode::kNonPrivate); });
}

}  // namespace bandana
