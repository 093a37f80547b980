#include "common/design/mechanism_table.h"

#include <algorithm>

#include "absl/functional/function_ref.h"
#include "common/design/mechanisms/counter.h"
#include "common/design/mechanisms/joint_counter.h"
#include "common/design/mechanisms/joint_gaussian.h"
#include "common/design/mechanisms/none.h"
#include "common/design/mechanisms/privunit.h"
#include "common/design/mechanisms/reward_randomizer.h"
#include "common/design/mechanisms/shaped_counter.h"
#include "common/design/mechanisms/sparse_release.h"
#include "common/design/privacy_rules.h"

namespace bandana {

namespace {

template <typename T>
bool Has(const std::vector<T>& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

const MechanismRow* FirstRow(absl::FunctionRef<bool(const MechanismRow&)> fits) {
  for (const MechanismRow& row : Mechanisms()) {
    if (fits(row)) return &row;
  }
  return nullptr;
}

}  // namespace

std::span<const MechanismRow> Mechanisms() {
  static const std::vector<MechanismRow> rows = {
      {.id = v1::MECHANISM_UNSPECIFIED,
       .modes = {v1::NON_PRIVATE},
       .families = {"linear", "arms", "points", "sparse", "effects"},
       .keeps = "",
       .make = MakeNone},
      {.id = v1::REWARD_RANDOMIZER,
       .modes = {v1::LOCAL_REWARD, v1::CENTRAL_REWARD},
       .families = {"linear", "arms", "points", "effects"},
       .drawn = ReportForm::kOutputs,
       .keeps = "",
       .make = MakeRewardRandomizer},
      {.id = v1::CENTRED_RANDOMIZER,
       .modes = {v1::LOCAL_REWARD},
       .families = {"linear", "effects"},
       .drawn = ReportForm::kOutputs,
       .check_policy = CheckCentredPolicy,
       .check = CheckCentredModel,
       .keeps = "",
       .make = MakeCentredRandomizer},
      {.id = v1::COUNTER,
       .modes = {v1::LOCAL_REWARD, v1::CENTRAL_REWARD},
       .drawn = ReportForm::kStreams,
       .delta = &GaussianDelta(),
       .counter = &OwnCounter(),
       .field = "privacy.counter",
       .make = MakeCounter},
      {.id = v1::COUNTER,
       .modes = {v1::JOINT},
       .delta = &GaussianDelta(),
       .counter = &OwnCounter(),
       .check = CheckThetaBound,
       .field = "privacy.counter",
       .make = MakeJoint},
      {.id = v1::SHAPED_COUNTER,
       .modes = {v1::CENTRAL_REWARD},
       .delta = &GaussianDelta(),
       .counter = &OwnCounter(),
       .check = CheckShapedModel,
       .field = "privacy.counter",
       .remark = kShapedRemark,
       .make_served = MakeShapedCounter},
      {.id = v1::POOLED_COUNTER,
       .modes = {v1::CENTRAL_REWARD},
       .delta = &GaussianDelta(),
       .counter = &OwnCounter(),
       .check = CheckShapedModel,
       .field = "privacy.counter",
       .remark = kShapedRemark,
       .make_served = MakePooledCounter},
      {.id = v1::PRIVUNIT,
       .modes = {v1::LOCAL_CONTEXT},
       .drawn = ReportForm::kContexts,
       .check = CheckThetaBound,
       .keeps = "",
       .make = MakePrivUnit},
      {.id = v1::JOINT_GAUSSIAN,
       .modes = {v1::LOCAL_CONTEXT},
       .drawn = ReportForm::kContexts,
       .delta = &GaussianDelta(),
       .check = CheckThetaBound,
       .keeps = "",
       .make = MakeJointGaussian},
      {.id = v1::SPARSE_RELEASE,
       .modes = {v1::JOINT},
       .families = {"sparse"},
       .dimension_max = kSparseDimensionMax,
       .delta = &GaussianDelta(),
       .check = CheckSparseModel,
       .field = "sparse",
       .make_served = MakeSparseRelease},
  };
  return rows;
}

const MechanismRow* FindMechanism(v1::Mechanism id, v1::Mode mode) {
  return FirstRow([&](const MechanismRow& row) { return row.id == id && Has(row.modes, mode); });
}

const MechanismRow* FindMechanism(v1::Mechanism id) {
  return FirstRow(
      [&](const MechanismRow& row) { return row.id == id && !Has(row.modes, v1::NON_PRIVATE); });
}

bool Serves(const MechanismRow& row, std::string_view family) { return Has(row.families, family); }

const MechanismRow& DefaultMechanism(v1::Mode mode, std::string_view family) {
  const MechanismRow* const both = FirstRow(
      [&](const MechanismRow& row) { return Has(row.modes, mode) && Has(row.families, family); });
  if (both != nullptr) return *both;
  return *FirstRow([&](const MechanismRow& row) { return Has(row.modes, mode); });
}

}  // namespace bandana
