// Which keys the arms of a catalogue have, and which of them a change gives up or takes up again.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/ranking/effect_key.h"
#include "server/models/catalogue/catalogue.h"
#include "server/models/freeing/leaving_keys.h"

namespace bandana::server {

// Counts the arms of each value of a group; the arms themselves are the catalogue's. Not
// thread-safe.
class ArmKeyUse {
 public:
  // Without effects the arms have no keys, and nothing ever changes.
  explicit ArmKeyUse(const CatalogueShape& shape) : shape_(shape) {}

  // Those of an arm that is in `catalogue`, or of a value that one of its arms has.
  bool Has(const Catalogue& catalogue, EffectKey key) const;
  void Begin(const Catalogue& catalogue);

  // The change of keys when these arms are put, and those removed, from `now`. Ids that are not
  // there, or twice in `removed`, do nothing.
  struct Change {
    KeyChange keys;
    absl::flat_hash_map<EffectKey, std::int64_t> arms;  // more than before, by value of a group
  };
  Change Of(const Catalogue& now, std::span<const CatalogueArm> arms,
            std::span<const std::uint32_t> removed, absl::Time time) const;
  // The change has taken place.
  void Take(const Change& change);

 private:
  std::int64_t ArmsOf(EffectKey key) const;

  const CatalogueShape shape_;
  absl::flat_hash_map<EffectKey, std::int64_t> arms_;  // by value of a group, where there are any
};

}  // namespace bandana::server
