// Some arms of a catalogue, in ascending order of id: what catalogues that follow one another
// share.
#pragma once

#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/design/files/arm_facts.h"
#include "common/ranking/arm_sketch.h"
#include "common/ranking/effect_key.h"
#include "server/models/catalogue/arm_columns.h"
#include "server/models/catalogue/arm_names.h"

namespace bandana::server {

// An arm as it is put in.
struct CatalogueArm {
  std::uint32_t id = 0;
  std::vector<double> features;  // d, finite
  std::vector<std::string> tags;
  std::map<std::string, std::string> groups = {};  // value by name
  std::string name = {};                           // unique in the catalogue; "": none
  ArmFacts facts = {};
};

// The shape that all arms of a catalogue have.
struct CatalogueShape {
  int dimension = 0;
  bool has_keys = false;            // models with effects
  std::vector<std::string> groups;  // that an arm may be in

  int parts() const { return has_keys ? 1 + static_cast<int>(groups.size()) : 0; }
};

// Texts of the arms of catalogues that follow one another.
struct CatalogueNames {
  explicit CatalogueNames(const CatalogueShape& shape);
  std::uint64_t size() const;

  ArmNames tags{""};
  ArmNames arms{""};
  // Fields of facts; the ends of availability, in milliseconds since 1970, are two of them, by
  // names that no field has.
  static constexpr std::string_view kAvailableFrom = "available from";
  static constexpr std::string_view kAvailableTo = "available to";
  ArmNames fields{""};
  std::vector<std::unique_ptr<ArmNames>> groups;  // values, by group of the shape
};

class ArmPage;
// Where the arm of a new page comes from: another page, or outside.
struct ArmSource {
  const ArmPage* page = nullptr;
  std::uint32_t row = 0;
  const CatalogueArm* arm = nullptr;  // where there is no page
};

// Threads: immutable but for beliefs, which may be read and set at any time.
class ArmPage {
 public:
  static constexpr std::size_t kArmsMax = 128;
  using Rows = std::vector<std::uint8_t>;  // ascending

  // At most kArmsMax arms, ascending by id, each of the shape's dimension.
  ArmPage(const CatalogueShape& shape, CatalogueNames& names, std::span<const ArmSource> arms);
  ArmPage(const ArmPage&) = delete;
  ArmPage& operator=(const ArmPage&) = delete;

  std::uint32_t size() const { return static_cast<std::uint32_t>(ids_.size()); }
  std::span<const std::uint32_t> ids() const { return ids_; }
  // Row of an arm; size() when it is not here.
  std::uint32_t Find(std::uint32_t id) const;
  // size() x d, row-major.
  std::span<const double> features() const { return features_; }
  std::span<const double> features(std::uint32_t row) const {
    return std::span(features_).subspan(row * dimension_, dimension_);
  }
  // The key parts of an arm; none without effects.
  std::span<const EffectKey> keys(std::uint32_t row) const {
    return std::span(keys_).subspan(row * parts_, parts_);
  }
  // Numbers of its tags, in the order in which they were put.
  std::span<const std::uint32_t> tags(std::uint32_t row) const;
  // The number of its value of each group of the shape, or ArmNames::kNone.
  std::span<const std::uint32_t> groups(std::uint32_t row) const {
    const std::size_t groups = parts_ == 0 ? 0 : parts_ - 1;
    return std::span(groups_).subspan(row * groups, groups);
  }
  // The number of its name, or ArmNames::kNone.
  std::uint32_t name(std::uint32_t row) const {
    return names_.empty() ? ArmNames::kNone : names_[row];
  }
  bool has_names() const { return !names_.empty(); }
  // The facts of its arms, by the numbers of CatalogueNames::fields.
  const ArmColumns& columns() const { return columns_; }
  bool has_facts() const { return !columns_.columns().empty(); }
  void ReadFacts(std::uint32_t row, const CatalogueNames& names, ArmFacts& facts) const;
  // Distinct tags, names of arms, values of groups, and fields.
  std::size_t names() const {
    return posted_.size() + names_.size() + group_values_ + columns_.columns().size();
  }
  // A bit for each of its tags (TagBit).
  std::uint64_t tag_bits() const { return tag_bits_; }
  static std::uint64_t TagBit(std::uint32_t tag) {
    return std::uint64_t{1} << (tag * 2654435761u >> 26);
  }
  // The arms with at least one of the tags.
  std::bitset<kArmsMax> Tagged(std::span<const std::uint32_t> tags) const;

  const ArmSketch& sketch() const { return sketch_; }
  // The belief about the arm itself: set after each event of it, and only a hint for bounds.
  bool has_beliefs() const { return means_ != nullptr; }
  void SetBelief(std::uint32_t row, float mean, float variance) const;
  void ReadMeans(std::span<float> means) const;
  float mean(std::uint32_t row) const { return means_[row].load(std::memory_order_relaxed); }
  // At least the variance of each arm.
  float variance_max() const { return variance_max_.load(std::memory_order_relaxed); }
  // Starts reading what a search reads first into the cache.
  void Prefetch() const;

  std::size_t bytes() const;

 private:
  void AddFromPage(const ArmPage& page, std::uint32_t row);
  void AddFromOutside(const CatalogueShape& shape, CatalogueNames& names, const CatalogueArm& arm);
  void PostTags();
  void SetName(std::uint32_t name);  // of the arm that comes next
  void SetFacts(const ArmFacts& facts, CatalogueNames& names);

  std::size_t dimension_;
  std::size_t parts_;
  std::vector<std::uint32_t> ids_;
  std::vector<double> features_;
  std::vector<EffectKey> keys_;
  std::vector<std::uint32_t> groups_;
  std::vector<std::uint32_t> names_;    // empty where no arm has a name
  std::vector<std::uint32_t> tags_;     // of all arms, one after the other
  std::vector<std::uint16_t> tag_end_;  // by arm: where its tags end
  // Posting lists: each tag of the page, ascending, and the rows with it.
  std::vector<std::uint32_t> posted_;
  std::vector<std::uint16_t> posted_end_;
  Rows posted_rows_;
  std::uint64_t tag_bits_ = 0;
  std::size_t group_values_ = 0;
  ArmColumns columns_;
  ArmSketch sketch_;
  std::unique_ptr<std::atomic<float>[]> means_;
  mutable std::atomic<float> variance_max_ = 0;
};

}  // namespace bandana::server
