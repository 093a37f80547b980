#include "client/core/selection/arm_effects.h"

#include <algorithm>
#include <cmath>

#include "bandana/client.h"
#include "common/base/status.h"

namespace bandana::device {
namespace {

// `next`: the least id that the page may have.
absl::Status CheckPage(const ArmEffectsPage& page, std::uint64_t next) {
  const std::size_t arms = page.ids.size();
  if (page.means.size() != arms || page.variances.size() != arms) {
    return Internal("the server's effects of arms do not have one mean and variance per arm");
  }
  bool ascending = true;
  for (const std::uint32_t id : page.ids) {
    ascending = ascending && id >= next;
    next = std::uint64_t{id} + 1;
  }
  if (!ascending || (page.next_arm != 0 && (arms == 0 || page.next_arm < next))) {
    return Internal("the server's effects of arms do not ascend");
  }
  const auto is_variance = [](double variance) { return std::isfinite(variance) && variance >= 0; };
  const auto is_finite = [](double mean) { return std::isfinite(mean); };
  if (!is_finite(page.unknown_mean) || !is_variance(page.unknown_variance) ||
      !std::all_of(page.means.begin(), page.means.end(), is_finite) ||
      !std::all_of(page.variances.begin(), page.variances.end(), is_variance)) {
    return Internal("the server's effects of arms are not finite");
  }
  return absl::OkStatus();
}

}  // namespace

ArmShare ArmEffects::ShareOf(std::uint32_t id) const {
  if (id == Arms::kNoId) return {};
  const auto found = std::lower_bound(ids_.begin(), ids_.end(), id);
  if (found == ids_.end() || *found != id) return unknown_;
  const auto at = static_cast<std::size_t>(found - ids_.begin());
  return {.mean = means_[at], .variance = variances_[at]};
}

absl::StatusOr<std::uint64_t> ArmEffectsPages::Add(const ArmEffectsPage& page) {
  const bool first = block_ == nullptr;
  if (first) block_ = std::make_shared<ArmEffects>();
  ArmEffects& block = *block_;
  BANDANA_RETURN_IF_ERROR(
      CheckPage(page, block.ids_.empty() ? 0 : std::uint64_t{block.ids_.back()} + 1));
  if (block.size() + page.ids.size() > ArmEffects::kArmsMax) {
    return Internal("the server tells effects of more than ", ArmEffects::kArmsMax, " arms");
  }
  if (first) block.version_ = page.version;
  block.unknown_ = {.mean = page.unknown_mean, .variance = page.unknown_variance};
  block.ids_.insert(block.ids_.end(), page.ids.begin(), page.ids.end());
  block.means_.insert(block.means_.end(), page.means.begin(), page.means.end());
  block.variances_.insert(block.variances_.end(), page.variances.begin(), page.variances.end());
  return page.next_arm;
}

}  // namespace bandana::device
