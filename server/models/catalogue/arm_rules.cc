#include "server/models/catalogue/arm_rules.h"

#include <algorithm>

#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/design/files/group_names.h"
#include "common/features/encoder.h"
#include "common/mechanisms/feature_ball.h"

namespace bandana::server {
namespace {

absl::Status CheckTags(const CatalogueArm& arm) {
  if (arm.tags.size() > kTagsPerArmMax) {
    return InvalidArgument("arm ", arm.id, " has ", arm.tags.size(), " tags, at most ",
                           kTagsPerArmMax, " are allowed");
  }
  for (const std::string& tag : arm.tags) {
    if (tag.empty() || tag.size() > kTagBytesMax) {
      return InvalidArgument("arm ", arm.id, " has a tag of ", tag.size(),
                             " bytes, it must have 1 to ", kTagBytesMax);
    }
    if (tag.find(',') != std::string::npos || tag == "-" ||
        std::any_of(tag.begin(), tag.end(), IsControl)) {
      return InvalidArgument(
          "arm ", arm.id,
          " has a tag with a comma or a control character, or the tag '-', which "
          "arms.tsv could not hold");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckGroups(const ArmRules& rules, const CatalogueArm& arm) {
  for (const auto& [name, value] : arm.groups) {
    if (std::find(rules.groups.begin(), rules.groups.end(), name) == rules.groups.end()) {
      return InvalidArgument("arm ", arm.id, " is in the group ", name,
                             ", which is not among the model's arm_groups");
    }
    absl::Status fits = CheckGroupValue(value);
    if (fits.ok() && value.find(',') != std::string::npos) {
      fits = InvalidArgument("the value has a comma, which arms.tsv could not hold");
    }
    if (!fits.ok()) return Annotate(fits, absl::StrCat("arm ", arm.id, ", group ", name));
  }
  return absl::OkStatus();
}

absl::Status CheckName(const CatalogueArm& arm) {
  if (arm.name.size() > kArmNameBytesMax) {
    return InvalidArgument("arm ", arm.id, " has a name of ", arm.name.size(),
                           " bytes, it may have at most ", kArmNameBytesMax);
  }
  const bool control = std::any_of(arm.name.begin(), arm.name.end(), IsControl);
  if (arm.name == "-") {
    return InvalidArgument("arm ", arm.id, " has the name '-', which arms.tsv could not hold");
  }
  if (control) return InvalidArgument("arm ", arm.id, " has a name with a control character");
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckArm(const ArmRules& rules, CatalogueArm& arm, std::uint64_t& clipped) {
  if (arm.features.size() != static_cast<std::size_t>(rules.dimension)) {
    return InvalidArgument("arm ", arm.id, " has ", arm.features.size(),
                           " features, the model's dimension is ", rules.dimension);
  }
  const BallFit fit = ClipToBall(arm.features, rules.feature_l2_max);
  if (fit == BallFit::kNotFinite) {
    return InvalidArgument("arm ", arm.id, " has a feature that is not finite");
  }
  BANDANA_RETURN_IF_ERROR(CheckTags(arm));
  BANDANA_RETURN_IF_ERROR(CheckGroups(rules, arm));
  BANDANA_RETURN_IF_ERROR(CheckName(arm));
  BANDANA_RETURN_IF_ERROR(Annotate(CheckFacts(arm.facts), absl::StrCat("arm ", arm.id)));
  if (rules.schema != nullptr) {
    const absl::Status fits = CheckArmRow(*rules.schema, arm.features);
    if (!fits.ok()) return Annotate(fits, absl::StrCat("arm ", arm.id, ", features"));
  }
  if (fit != BallFit::kOutside) return absl::OkStatus();
  if (rules.reject_features) {
    return InvalidArgument("arm ", arm.id,
                           " has |x|_2 above feature_l2_max = ", rules.feature_l2_max,
                           " and the model rejects such arms");
  }
  ++clipped;
  return absl::OkStatus();
}

}  // namespace bandana::server
