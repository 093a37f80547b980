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
      {.policy = FindMechanism(v1::MECHANISM_UNSPECIFIED, v1::NON_PRIVATE),
       .families = {"linear", "arms", "points", "sparse", "effects"},
       .keeps = "",
       .make = MakeServerNone},
      {.policy = FindMechanism(v1::REWARD_RANDOMIZER, v1::LOCAL_REWARD),
       .families = {"linear", "arms", "points", "effects"},
       .keeps = "",
       .make = MakeServerRandomizer},
      {.policy = FindMechanism(v1::CENTRED_RANDOMIZER, v1::LOCAL_REWARD),
       .families = {"linear", "effects"},
       .check = CheckCentredModel,
       .keeps = "",
       .make = MakeServerCentred},
      {.policy = FindMechanism(v1::COUNTER, v1::LOCAL_REWARD),
       .field = "privacy.counter",
       .make = MakeServerCounter},
      {.policy = FindMechanism(v1::COUNTER, v1::JOINT),
       .check = CheckThetaBound,
       .field = "privacy.counter",
       .make = MakeJoint},
      {.policy = FindMechanism(v1::SHAPED_COUNTER, v1::CENTRAL_REWARD),
       .check = CheckShapedModel,
       .field = "privacy.counter",
       .remark = kShapedRemark,
       .make = MakeShapedCounter},
      {.policy = FindMechanism(v1::POOLED_COUNTER, v1::CENTRAL_REWARD),
       .check = CheckShapedModel,
       .field = "privacy.counter",
       .remark = kShapedRemark,
       .make = MakePooledCounter},
      {.policy = FindMechanism(v1::PRIVUNIT, v1::LOCAL_CONTEXT),
       .check = CheckThetaBound,
       .keeps = "",
       .make = MakeServerContexts},
      {.policy = FindMechanism(v1::JOINT_GAUSSIAN, v1::LOCAL_CONTEXT),
       .check = CheckThetaBound,
       .keeps = "",
       .make = MakeServerContexts},
      {.policy = FindMechanism(v1::SPARSE_RELEASE, v1::JOINT),
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

const ServerMechanismRow& ServerRowOf(v1::Mechanism id, v1::Mode mode) {
  const auto rows = ServerMechanisms();
  const auto found = std::ranges::find(rows, FindMechanism(id, mode), &ServerMechanismRow::policy);
  BANDANA_CHECK(found != rows.end());
  return *found;
}

bool Serves(const ServerMechanismRow& row, std::string_view family) {
  return std::ranges::find(row.families, family) != row.families.end();
}

const MechanismRow& DefaultMechanism(v1::Mode mode, std::string_view family) {
  const MechanismRow* first = nullptr;  // for the mode
  for (const ServerMechanismRow& row : ServerMechanisms()) {
    if (std::ranges::find(row.policy->modes, mode) == row.policy->modes.end()) continue;
    if (Serves(row, family)) return *row.policy;
    if (first == nullptr) first = row.policy;
  }
  return *first;
}

}  // namespace bandana
