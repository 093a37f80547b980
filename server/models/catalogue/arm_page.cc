#include "server/models/catalogue/arm_page.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "common/base/check.h"

namespace bandana::server {

CatalogueNames::CatalogueNames(const CatalogueShape& shape) {
  for (const std::string& group : shape.groups) groups.push_back(std::make_unique<ArmNames>(group));
}

std::uint64_t CatalogueNames::size() const {
  std::uint64_t sum = tags.size() + arms.size() + fields.size();
  for (const auto& group : groups) sum += group->size();
  return sum;
}

ArmPage::ArmPage(const CatalogueShape& shape, CatalogueNames& names,
                 std::span<const ArmSource> arms)
    : dimension_(static_cast<std::size_t>(shape.dimension)),
      parts_(static_cast<std::size_t>(shape.parts())) {
  BANDANA_CHECK(arms.size() <= kArmsMax);
  ids_.reserve(arms.size());
  features_.reserve(arms.size() * dimension_);
  keys_.reserve(arms.size() * parts_);
  if (parts_ > 1) groups_.reserve(arms.size() * (parts_ - 1));
  tag_end_.reserve(arms.size());
  if (shape.has_keys) means_ = std::make_unique<std::atomic<float>[]>(arms.size());
  for (const ArmSource& arm : arms) {
    if (arm.page != nullptr) {
      AddFromPage(*arm.page, arm.row);
    } else {
      AddFromOutside(shape, names, *arm.arm);
    }
    BANDANA_CHECK(features_.size() == ids_.size() * dimension_);
    tag_end_.push_back(static_cast<std::uint16_t>(tags_.size()));
  }
  tags_.shrink_to_fit();
  PostTags();
  if (!groups_.empty()) {
    group_values_ = absl::flat_hash_set<std::uint32_t>(groups_.begin(), groups_.end()).size();
  }
  sketch_ = ArmSketch(features_, shape.dimension);
}

void ArmPage::AddFromPage(const ArmPage& page, std::uint32_t row) {
  const std::span<const double> x = page.features(row);
  features_.insert(features_.end(), x.begin(), x.end());
  const std::span<const EffectKey> keys = page.keys(row);
  keys_.insert(keys_.end(), keys.begin(), keys.end());
  const std::span<const std::uint32_t> groups = page.groups(row);
  groups_.insert(groups_.end(), groups.begin(), groups.end());
  const std::span<const std::uint32_t> tags = page.tags(row);
  tags_.insert(tags_.end(), tags.begin(), tags.end());
  if (has_beliefs()) SetBelief(size(), page.mean(row), page.variance_max());
  SetName(page.name(row));
  for (const ArmColumns::Column& column : page.columns_.columns()) {
    const double value = page.columns_.Get(column.field, row);
    if (!std::isnan(value)) columns_.Set(column.field, size(), value);
  }
  ids_.push_back(page.ids_[row]);
}

void ArmPage::AddFromOutside(const CatalogueShape& shape, CatalogueNames& names,
                             const CatalogueArm& arm) {
  features_.insert(features_.end(), arm.features.begin(), arm.features.end());
  if (shape.has_keys) keys_.push_back(ArmKey(arm.id));
  for (std::size_t g = 0; g < shape.groups.size(); ++g) {
    const auto value = arm.groups.find(shape.groups[g]);
    const bool in = value != arm.groups.end();
    groups_.push_back(in ? names.groups[g]->Add(value->second) : ArmNames::kNone);
    keys_.push_back(in ? names.groups[g]->key(groups_.back()) : kAbsent);
  }
  for (const std::string& tag : arm.tags) tags_.push_back(names.tags.Add(tag));
  SetName(arm.name.empty() ? ArmNames::kNone : names.arms.Add(arm.name));
  if (!arm.name.empty()) names.arms.SetHolder(names_.back(), arm.id);
  SetFacts(arm.facts, names);
  ids_.push_back(arm.id);
}

void ArmPage::SetFacts(const ArmFacts& facts, CatalogueNames& names) {
  const auto set = [&](std::string_view field, double value) {
    columns_.Set(names.fields.Add(field), size(), value);
  };
  for (const auto& [name, value] : facts.fields) set(name, value);
  const auto time = [&](std::string_view field, absl::Time at) {
    set(field, static_cast<double>(absl::ToUnixMillis(at)));
  };
  if (facts.available_from != absl::InfinitePast()) {
    time(CatalogueNames::kAvailableFrom, facts.available_from);
  }
  if (facts.available_to != absl::InfiniteFuture()) {
    time(CatalogueNames::kAvailableTo, facts.available_to);
  }
}

void ArmPage::ReadFacts(std::uint32_t row, const CatalogueNames& names, ArmFacts& facts) const {
  for (const ArmColumns::Column& column : columns_.columns()) {
    const double value = columns_.Get(column.field, row);
    if (std::isnan(value)) continue;
    const std::string& field = names.fields.text(column.field);
    const auto time = [&] { return absl::FromUnixMillis(static_cast<std::int64_t>(value)); };
    if (field == CatalogueNames::kAvailableFrom) {
      facts.available_from = time();
    } else if (field == CatalogueNames::kAvailableTo) {
      facts.available_to = time();
    } else {
      facts.fields.emplace(field, value);
    }
  }
}

void ArmPage::SetName(std::uint32_t name) {
  if (names_.empty()) {
    if (name == ArmNames::kNone) return;
    names_.assign(ids_.size(), ArmNames::kNone);
  }
  names_.push_back(name);
}

void ArmPage::PostTags() {
  std::vector<std::pair<std::uint32_t, std::uint8_t>> found;
  found.reserve(tags_.size());
  for (std::uint32_t row = 0; row < size(); ++row) {
    for (const std::uint32_t tag : tags(row)) {
      found.emplace_back(tag, static_cast<std::uint8_t>(row));
      tag_bits_ |= TagBit(tag);
    }
  }
  std::sort(found.begin(), found.end());
  posted_rows_.reserve(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    posted_rows_.push_back(found[i].second);
    if (i + 1 < found.size() && found[i + 1].first == found[i].first) continue;
    posted_.push_back(found[i].first);
    posted_end_.push_back(static_cast<std::uint16_t>(posted_rows_.size()));
  }
  posted_.shrink_to_fit();
  posted_end_.shrink_to_fit();
}

std::uint32_t ArmPage::Find(std::uint32_t id) const {
  // Ids without gaps, as most are, need no search.
  const std::uint32_t guess = id - ids_.front();
  if (id >= ids_.front() && guess < size() && ids_[guess] == id) return guess;
  const auto found = std::lower_bound(ids_.begin(), ids_.end(), id);
  if (found == ids_.end() || *found != id) return size();
  return static_cast<std::uint32_t>(found - ids_.begin());
}

std::span<const std::uint32_t> ArmPage::tags(std::uint32_t row) const {
  const std::size_t begin = row == 0 ? 0 : tag_end_[row - 1];
  return std::span(tags_).subspan(begin, tag_end_[row] - begin);
}

std::bitset<ArmPage::kArmsMax> ArmPage::Tagged(std::span<const std::uint32_t> tags) const {
  std::bitset<kArmsMax> tagged;
  for (const std::uint32_t tag : tags) {
    const auto found = std::lower_bound(posted_.begin(), posted_.end(), tag);
    if (found == posted_.end() || *found != tag) continue;
    const auto list = static_cast<std::size_t>(found - posted_.begin());
    for (std::size_t i = list == 0 ? 0 : posted_end_[list - 1]; i < posted_end_[list]; ++i) {
      tagged.set(posted_rows_[i]);
    }
  }
  return tagged;
}

void ArmPage::SetBelief(std::uint32_t row, float mean, float variance) const {
  means_[row].store(mean, std::memory_order_relaxed);
  float known = variance_max();
  while (variance > known && !variance_max_.compare_exchange_weak(known, variance)) {
  }
}

void ArmPage::ReadMeans(std::span<float> means) const {
  for (std::uint32_t row = 0; row < size(); ++row) means[row] = mean(row);
}

void ArmPage::Prefetch() const {
  __builtin_prefetch(means_.get());
  sketch_.Prefetch();
}

std::size_t ArmPage::bytes() const {
  return sizeof *this + ids_.capacity() * sizeof ids_[0] + features_.capacity() * sizeof(double) +
         keys_.capacity() * sizeof(EffectKey) + groups_.capacity() * sizeof groups_[0] +
         names_.capacity() * sizeof names_[0] +
         (tags_.capacity() + posted_.capacity()) * sizeof tags_[0] +
         (tag_end_.capacity() + posted_end_.capacity()) * sizeof tag_end_[0] +
         posted_rows_.capacity() + columns_.bytes() + sketch_.bytes() +
         (has_beliefs() ? size() * sizeof(float) : 0);
}

}  // namespace bandana::server
