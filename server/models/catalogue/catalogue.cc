#include "server/models/catalogue/catalogue.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/mechanisms/feature_ball.h"

namespace bandana::server {
namespace {

constexpr std::uint32_t kNoRow = UINT32_MAX;

// Ids up to here are looked up in a table: at most 16 bytes per arm, and no hashing.
std::size_t DenseIdsMax(std::size_t arms) { return 4 * arms + 1024; }

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
    if (tag.find_first_of("\t\r\n,") != std::string::npos || tag == "-") {
      return InvalidArgument("arm ", arm.id,
                             " has a tag with a tab, comma or line break, or the tag '-', which "
                             "arms.tsv could not hold");
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::shared_ptr<const Catalogue> Catalogue::Make(int dimension, std::vector<CatalogueArm> arms) {
  return Make({.dimension = dimension, .has_keys = false, .groups = {}}, std::move(arms));
}

std::shared_ptr<const Catalogue> Catalogue::Make(CatalogueShape shape,
                                                 std::vector<CatalogueArm> arms) {
  const int dimension = shape.dimension;
  const auto parts = static_cast<std::size_t>(shape.parts());
  std::stable_sort(arms.begin(), arms.end(),
                   [](const auto& a, const auto& b) { return a.id < b.id; });
  auto catalogue = std::make_shared<Catalogue>(std::move(shape));
  catalogue->features_.reserve(arms.size() * dimension);
  for (std::size_t i = 0; i < arms.size(); ++i) {
    if (i + 1 < arms.size() && arms[i + 1].id == arms[i].id) continue;
    BANDANA_CHECK(arms[i].features.size() == static_cast<std::size_t>(dimension));
    catalogue->features_.insert(catalogue->features_.end(), arms[i].features.begin(),
                                arms[i].features.end());
    catalogue->AddKeys(arms[i]);
    catalogue->arms_.push_back({.id = arms[i].id,
                                .features = {},
                                .tags = std::move(arms[i].tags),
                                .groups = std::move(arms[i].groups),
                                .keys = {}});
  }
  for (std::size_t i = 0; i < catalogue->arms_.size(); ++i) {
    catalogue->arms_[i].features =
        std::span<const double>(catalogue->features_).subspan(i * dimension, dimension);
    catalogue->arms_[i].keys =
        std::span<const EffectKey>(catalogue->keys_).subspan(i * parts, parts);
  }
  catalogue->MakeIndex();
  return catalogue;
}

void Catalogue::AddKeys(const CatalogueArm& arm) {
  if (!shape_.has_keys) return;
  keys_.push_back(ArmKey(arm.id));
  for (const std::string& name : shape_.groups) {
    const auto group = arm.groups.find(name);
    keys_.push_back(group == arm.groups.end() ? kAbsent : GroupKey(name, group->second));
  }
}

void Catalogue::MakeIndex() {
  if (arms_.empty()) return;
  const std::uint32_t last = arms_.back().id;
  const bool dense = last < DenseIdsMax(arms_.size());
  if (dense) dense_index_.assign(std::size_t{last} + 1, kNoRow);
  for (std::uint32_t row = 0; row < arms_.size(); ++row) {
    if (dense) {
      dense_index_[arms_[row].id] = row;
    } else {
      index_.emplace(arms_[row].id, row);
    }
  }
}

const CatalogueEntry* Catalogue::Find(std::uint32_t id) const {
  if (id < dense_index_.size()) {
    const std::uint32_t row = dense_index_[id];
    return row == kNoRow ? nullptr : &arms_[row];
  }
  const auto it = index_.find(id);
  return it == index_.end() ? nullptr : &arms_[it->second];
}

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
