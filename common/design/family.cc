#include "common/design/family.h"

#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/design/coupling_table.h"

namespace bandana {

bool Family::FitsToken(std::size_t, double, std::span<const double>) const { return true; }
double Family::EventReward(const ModelSpec&, double reward, double) const { return reward; }
absl::Status Family::CheckArm(std::span<const double>) const { return absl::OkStatus(); }
absl::Status Family::CheckCatalogue(const ModelSpec&) const { return absl::OkStatus(); }
absl::Status Family::CheckRankedByDevices(const ModelSpec&) const { return absl::OkStatus(); }

absl::Status Family::CheckArmEffects(const ModelSpec&) const {
  return FailedPrecondition("the model is not of effects: arms have none");
}

std::string Family::Features(const ModelSpec& spec) const {
  const PublicSpec& p = spec.public_spec;
  return absl::StrFormat("dimension %d, |x| at most %g (%s)", p.dimension, p.feature_l2_max,
                         p.reject_features ? "reject" : "clip");
}

const Family& FamilyOf(const ModelSpec& spec) { return CouplingOf(spec.config).family(); }

}  // namespace bandana
