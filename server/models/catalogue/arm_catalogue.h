// A model's catalogue in memory and on disk, changed together.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "bandana/v1/admin.pb.h"
#include "common/base/clock.h"
#include "common/base/shared_cell.h"
#include "common/design/model_spec.h"
#include "common/model/entries/counters.h"
#include "common/ranking/effect_key.h"
#include "server/models/catalogue/arm_beliefs.h"
#include "server/models/catalogue/arm_store.h"
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

// Threads: safe; catalogue() waits for nobody's work.
class ArmCatalogue {
 public:
  // Loads the stored arms, then spec.arms_file where it is due. `spec`, `counters` and `clock`, of
  // which only the times of removals come, must outlive it. Errors: DATA_LOSS; UNAVAILABLE I/O;
  // INVALID_ARGUMENT or NOT_FOUND the arms file.
  static absl::StatusOr<std::unique_ptr<ArmCatalogue>> Open(const ModelSpec& spec,
                                                            const TablePlace& place,
                                                            Counters& counters,
                                                            const Clock& clock = SystemClock());

  std::shared_ptr<const Catalogue> catalogue() const { return catalogue_.load(); }
  // Pages say what is believed of their arms from now on. While no event is applied. Null for
  // models without effects: nothing.
  void Follow(std::shared_ptr<EffectsPosterior> effects);
  // Where another server changes the store: takes over what it has changed since. Errors:
  // DATA_LOSS; UNAVAILABLE I/O.
  absl::Status TakeOver();
  // As HostedModel's methods of these names.
  absl::Status Put(std::span<const CatalogueArm> arms, v1::PutArmsResponse* response);
  absl::StatusOr<v1::RemoveArmsResponse> Remove(std::span<const std::uint32_t> ids);
  // Models with effects: keys of arms that were removed, and of values of groups that no arm has
  // any more.
  LeavingKeys& leaving() { return leaving_; }

 private:
  ArmCatalogue(const ModelSpec& spec, ArmStore store, Counters& counters, const Clock& clock);
  absl::Status LoadFile();
  // The next catalogue, for all who read it.
  std::shared_ptr<const Catalogue> Change(std::span<const CatalogueArm> arms,
                                          std::span<const std::uint32_t> removed);
  // Arms that may enter, checked and clipped.
  absl::StatusOr<std::vector<CatalogueArm>> Check(std::span<const CatalogueArm> arms) const;
  absl::Status CheckSize(std::span<const CatalogueArm> arms, int& added) const;
  // A name is of one arm.
  absl::Status CheckNames(std::span<const CatalogueArm> arms) const;
  // The change of keys, before a change of arms; and after it was stored.
  ArmKeyUse::Change KeysOf(std::span<const CatalogueArm> arms,
                           std::span<const std::uint32_t> removed) const;
  absl::Status TakeKeys(const ArmKeyUse::Change& change);

  const ModelSpec& spec_;
  Counters& counters_;
  std::mutex mutex_;  // for the store and the order of changes
  ArmStore store_;
  const Clock& clock_;
  ArmKeyUse key_use_;
  LeavingKeys leaving_;
  SharedCell<const Catalogue> catalogue_;
  std::shared_ptr<EffectsPosterior> effects_;
  ArmBeliefs beliefs_;  // of effects_
};

}  // namespace bandana::server
