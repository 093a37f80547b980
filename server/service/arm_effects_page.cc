#include "server/service/arm_effects_page.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/family.h"

namespace bandana::server {
namespace {

constexpr std::uint64_t kArmIdMax = std::numeric_limits<std::uint32_t>::max();

// Adds the arm, or names it as the first one of the next page: then false.
bool AddArm(const ServedPosterior& posterior, const ArmPage& page, std::uint32_t row,
            v1::GetArmEffectsResponse& response) {
  const std::uint32_t id = page.ids()[row];
  if (response.ids_size() == kArmEffectsPageArms) {
    response.set_next_arm(id);
    return false;
  }
  const ArmShare share = posterior.ShareOf(page.keys(row));
  response.add_ids(id);
  response.add_means(static_cast<float>(share.mean));
  response.add_variances(static_cast<float>(std::max(0.0, share.variance)));
  return true;
}

}  // namespace

absl::Status FillArmEffects(const SelectingModel& model, const v1::GetArmEffectsRequest& request,
                            v1::GetArmEffectsResponse& response) {
  BANDANA_RETURN_IF_ERROR(FamilyOf(model.spec()).CheckArmEffects(model.spec()));
  if (request.first_arm() > kArmIdMax) {
    return InvalidArgument("first_arm: must be in [0, ", kArmIdMax, "], got ", request.first_arm());
  }
  if (request.tag().size() > std::size_t{kTagBytesMax}) {
    return InvalidArgument("tag: must have at most ", kTagBytesMax, " bytes, got ",
                           request.tag().size());
  }
  const std::shared_ptr<const ServedPosterior> posterior = model.posterior();
  response.set_version(posterior->version());
  if (request.if_newer_than() != 0 && posterior->version() <= request.if_newer_than()) {
    response.set_not_modified(true);
    return absl::OkStatus();
  }
  const EffectKey unseen[] = {kEverybody};  // no arm's key
  const ArmShare unknown = posterior->ShareOf(unseen);
  response.set_unknown_mean(unknown.mean);
  response.set_unknown_variance(unknown.variance);
  const std::shared_ptr<const Catalogue> catalogue = model.catalogue();
  ArmFilter filter;
  if (!request.tag().empty()) filter.tags_any.push_back(request.tag());
  catalogue->ForEachMatching(filter, [&](std::size_t number, std::span<const std::uint8_t> rows) {
    const ArmPage& page = *catalogue->pages()[number];
    if (page.ids().back() < request.first_arm()) return true;
    const std::size_t count = rows.empty() ? page.size() : rows.size();
    for (std::size_t i = 0; i < count; ++i) {
      const auto row = static_cast<std::uint32_t>(rows.empty() ? i : rows[i]);
      if (page.ids()[row] < request.first_arm()) continue;
      if (!AddArm(*posterior, page, row, response)) return false;
    }
    return true;
  });
  return absl::OkStatus();
}

}  // namespace bandana::server
