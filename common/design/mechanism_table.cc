#include "common/design/mechanism_table.h"

#include <algorithm>

#include "common/design/mechanisms/counter.h"
#include "common/design/mechanisms/joint_counter.h"
#include "common/design/mechanisms/joint_gaussian.h"
#include "common/design/mechanisms/privunit.h"
#include "common/design/mechanisms/reward_randomizer.h"
#include "common/design/mechanisms/shaped_counter.h"
#include "common/design/mechanisms/sparse_release.h"

namespace bandana {

std::span<const MechanismRow> Mechanisms() {
  static const std::vector<MechanismRow> rows = {
      {.id = v1::MECHANISM_UNSPECIFIED, .modes = {v1::NON_PRIVATE}},
      {.id = v1::REWARD_RANDOMIZER,
       .modes = {v1::LOCAL_REWARD, v1::CENTRAL_REWARD},
       .drawn = ReportForm::kOutputs,
       .make = MakeRewardRandomizer},
      {.id = v1::CENTRED_RANDOMIZER,
       .modes = {v1::LOCAL_REWARD},
       .drawn = ReportForm::kOutputs,
       .make = MakeCentredRandomizer},
      {.id = v1::COUNTER,
       .modes = {v1::LOCAL_REWARD, v1::CENTRAL_REWARD},
       .drawn = ReportForm::kStreams,
       .make = MakeCounter},
      {.id = v1::COUNTER, .modes = {v1::JOINT}, .make = MakeJoint},
      {.id = v1::SHAPED_COUNTER, .modes = {v1::CENTRAL_REWARD}, .make_served = MakeShapedCounter},
      {.id = v1::POOLED_COUNTER, .modes = {v1::CENTRAL_REWARD}, .make_served = MakePooledCounter},
      {.id = v1::PRIVUNIT,
       .modes = {v1::LOCAL_CONTEXT},
       .drawn = ReportForm::kContexts,
       .make = MakePrivUnit},
      {.id = v1::JOINT_GAUSSIAN,
       .modes = {v1::LOCAL_CONTEXT},
       .drawn = ReportForm::kContexts,
       .make = MakeJointGaussian},
      {.id = v1::SPARSE_RELEASE, .modes = {v1::JOINT}, .make_served = MakeSparseRelease},
  };
  return rows;
}

const MechanismRow* FindMechanism(v1::Mechanism id, v1::Mode mode) {
  for (const MechanismRow& row : Mechanisms()) {
    if (row.id == id && std::find(row.modes.begin(), row.modes.end(), mode) != row.modes.end()) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace bandana
