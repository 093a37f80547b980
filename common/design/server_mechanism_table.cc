#include "common/design/server_mechanism_table.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/design/mechanisms/contexts.h"
#include "common/design/mechanisms/counter.h"
#include "common/design/mechanisms/joint_counter.h"
#include "common/design/mechanisms/none.h"
#include "common/design/mechanisms/reward_randomizer.h"
#include "common/design/mechanisms/shaped_counter.h"
#include "common/design/mechanisms/sparse_release.h"
#include "common/design/theta_bound.h"

namespace bandana {

std::span<const ServerMechanismRow> ServerMechanisms() {
  static const std::vector<ServerMechanismRow> rows = {
      {.policy = FindMechanism(MechanismId::kUnspecified, Mode::kNonPrivate),
       .families = {"linear", "arms", "points", "sparse", "effects"},
       .keeps = "",
       .make = MakeServerNone},
      {.policy = FindMechanism(MechanismId::kRewardRandomizer, Mode::kLocalReward),
       .families = {"linear", "arms", "points", "effects"},
       .keeps = "",
       .make = MakeServerRandomizer},
      {.policy = FindMechanism(MechanismId::kCentredRandomizer, Mode::kLocalReward),
       .families = {"linear", "effects"},
       .check = CheckCentredModel,
       .keeps = "",
       .windows_of_widths = true,
       .make = MakeServerCentred},
      {.policy = FindMechanism(MechanismId::kCounter, Mode::kLocalReward),
       .field = "privacy.counter",
       .make = MakeServerCounter},
      {.policy = FindMechanism(MechanismId::kCounter, Mode::kJoint),
       .check = CheckThetaBound,
       .field = "privacy.counter",
       .make = MakeJoint},
      {.policy = FindMechanism(MechanismId::kShapedCounter, Mode::kCentralReward),
       .check = CheckShapedModel,
       .field = "privacy.counter",
       .remark = kShapedRemark,
       .make = MakeShapedCounter},
      {.policy = FindMechanism(MechanismId::kPooledCounter, Mode::kCentralReward),
       .check = CheckShapedModel,
       .field = "privacy.counter",
       .remark = kShapedRemark,
       .make = MakePooledCounter},
      {.policy = FindMechanism(MechanismId::kPrivUnit, Mode::kLocalContext),
       .check = CheckThetaBound,
       .keeps = "",
       .make = MakeServerContexts},
      {.policy = FindMechanism(MechanismId::kJointGaussian, Mode::kLocalContext),
       .check = CheckThetaBound,
       .keeps = "",
       .make = MakeServerContexts},
      {.policy = FindMechanism(MechanismId::kSparseRelease, Mode::kJoint),
       .families = {"sparse"},
       .check = CheckSparseModel,
       .field = "sparse",
       .make = MakeSparseRelease},
  };
  return rows;
}

const ServerMechanismRow& ServerRowOf(const PublicSpec& spec) {
  return ServerRowOf(spec.mechanism, spec.mode);
}

const ServerMechanismRow& ServerRowOf(MechanismId id, Mode mode) {
  const auto rows = ServerMechanisms();
  const auto found = std::ranges::find(rows, FindMechanism(id, mode), &ServerMechanismRow::policy);
  BANDANA_CHECK(found != rows.end());
  return *found;
}

bool Serves(const ServerMechanismRow& row, std::string_view family) {
  return std::ranges::find(row.families, family) != row.families.end();
}

const MechanismRow& DefaultMechanism(Mode mode, std::string_view family) {
  const MechanismRow* first = nullptr;  // for the mode
  for (const ServerMechanismRow& row : ServerMechanisms()) {
    if (std::ranges::find(row.policy->modes, mode) == row.policy->modes.end()) continue;
    if (Serves(row, family)) return *row.policy;
    if (first == nullptr) first = row.policy;
  }
  return *first;
}

}  // namespace bandana
