// The arms a model knows by id. Immutable; a change makes a new catalogue.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "common/bandits/effects/effect_key.h"

namespace bandana::server {

// An arm as it is put in.
struct CatalogueArm {
  std::uint32_t id = 0;
  std::vector<double> features;  // d, finite
  std::vector<std::string> tags;
  std::map<std::string, std::string> groups = {};  // value by name
};

// An arm as the catalogue holds it; valid as long as the catalogue.
struct CatalogueEntry {
  std::uint32_t id = 0;
  std::span<const double> features;  // d, finite, |x|_2 <= feature_l2_max
  std::vector<std::string> tags;
  std::map<std::string, std::string> groups;
  // Models with effects: ArmKey(id), then the key of the value of each declared group, kAbsent
  // where the arm is in none. Else empty.
  std::span<const EffectKey> keys;
};

// What all arms of a catalogue have.
struct CatalogueShape {
  int dimension = 0;
  bool has_keys = false;            // models with effects
  std::vector<std::string> groups;  // that an arm may be in

  int parts() const { return has_keys ? 1 + static_cast<int>(groups.size()) : 0; }
};

// Threads: immutable.
class Catalogue {
 public:
  explicit Catalogue(CatalogueShape shape) : shape_(std::move(shape)) {}
  Catalogue(const Catalogue&) = delete;
  Catalogue& operator=(const Catalogue&) = delete;
  // Features become one row-major block in ascending order of id, so that a query for every arm is
  // scored in place. Of arms with equal ids the last one stays. Requires features of `dimension`
  // entries each.
  static std::shared_ptr<const Catalogue> Make(CatalogueShape shape,
                                               std::vector<CatalogueArm> arms);
  static std::shared_ptr<const Catalogue> Make(int dimension, std::vector<CatalogueArm> arms);

  int dimension() const { return shape_.dimension; }
  int parts() const { return shape_.parts(); }
  int size() const { return static_cast<int>(arms_.size()); }
  // In ascending order of id; the position in it is the row in features().
  std::span<const CatalogueEntry> arms() const { return arms_; }
  // size() x d, row-major.
  std::span<const double> features() const { return features_; }
  // nullptr when unknown.
  const CatalogueEntry* Find(std::uint32_t id) const;

 private:
  void AddKeys(const CatalogueArm& arm);
  void MakeIndex();

  CatalogueShape shape_;
  std::vector<double> features_;
  std::vector<EffectKey> keys_;  // size() x parts()
  std::vector<CatalogueEntry> arms_;
  std::vector<std::uint32_t> dense_index_;  // row of each id, where ids are dense enough
  absl::flat_hash_map<std::uint32_t, std::uint32_t> index_;  // else
};

// What an arm must satisfy to enter a catalogue.
struct ArmRules {
  int dimension = 0;
  double feature_l2_max = 1;
  bool reject_features = false;  // a norm above feature_l2_max: refuse, else scale to it
};

// Checks shape, finiteness, tags (at most 16, each 1 to 64 bytes without tab, comma or line break)
// and clips or refuses the norm. `clipped` counts scaled arms. Errors: INVALID_ARGUMENT naming the
// arm's id; then `arm` may be partly changed.
absl::Status CheckArm(const ArmRules& rules, CatalogueArm& arm, std::uint64_t& clipped);

}  // namespace bandana::server
