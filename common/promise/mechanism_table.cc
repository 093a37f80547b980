#include "common/promise/mechanism_table.h"

#include <algorithm>

#include "absl/functional/function_ref.h"
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

const MechanismRow* FirstRow(absl::FunctionRef<bool(const MechanismRow&)> fits) {
  for (const MechanismRow& row : Mechanisms()) {
    if (fits(row)) return &row;
  }
  return nullptr;
}

}  // namespace

std::span<const MechanismRow> Mechanisms() {
  static const std::vector<MechanismRow> rows = {
      {.id = v1::MECHANISM_UNSPECIFIED, .modes = {v1::NON_PRIVATE}, .make = MakeNone},
      {.id = v1::REWARD_RANDOMIZER,
       .modes = {v1::LOCAL_REWARD, v1::CENTRAL_REWARD},
       .drawn = ReportForm::kOutputs,
       .make = MakeRewardRandomizer},
      {.id = v1::CENTRED_RANDOMIZER,
       .modes = {v1::LOCAL_REWARD},
       .drawn = ReportForm::kOutputs,
       .check_policy = CheckCentredPolicy,
       .make = MakeCentredRandomizer},
      {.id = v1::COUNTER,
       .modes = {v1::LOCAL_REWARD, v1::CENTRAL_REWARD},
       .drawn = ReportForm::kStreams,
       .delta = &GaussianDelta(),
       .counter = &OwnCounter(),
       .make = MakeCounter},
      {.id = v1::COUNTER,
       .modes = {v1::JOINT},
       .delta = &GaussianDelta(),
       .counter = &OwnCounter()},
      {.id = v1::SHAPED_COUNTER,
       .modes = {v1::CENTRAL_REWARD},
       .delta = &GaussianDelta(),
       .counter = &OwnCounter()},
      {.id = v1::POOLED_COUNTER,
       .modes = {v1::CENTRAL_REWARD},
       .delta = &GaussianDelta(),
       .counter = &OwnCounter()},
      {.id = v1::PRIVUNIT,
       .modes = {v1::LOCAL_CONTEXT},
       .drawn = ReportForm::kContexts,
       .make = MakePrivUnit},
      {.id = v1::JOINT_GAUSSIAN,
       .modes = {v1::LOCAL_CONTEXT},
       .drawn = ReportForm::kContexts,
       .delta = &GaussianDelta(),
       .make = MakeJointGaussian},
      {.id = v1::SPARSE_RELEASE,
       .modes = {v1::JOINT},
       .dimension_max = kSparseDimensionMax,
       .delta = &GaussianDelta()},
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

}  // namespace bandana
