// The parts of an export of one user, out of what a model keeps.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "bandana/v1/admin.pb.h"
#include "common/bandits/effects/effects_posterior.h"
#include "common/model/entries/log_entry.h"
#include "common/model/entries/records.h"
#include "common/model/state/seen_arms.h"

namespace bandana::server {

// Entries of a log that are of one user, seen in their order. Not thread-safe.
class UserEntries {
 public:
  // `dimension`: of the model.
  UserEntries(std::string id, int dimension);
  // Adds the entry where it is the user's. Of the windows that close together only those of the
  // user: the entry then has another form than it is stored in. Errors: DATA_LOSS.
  absl::Status Look(const LogEntry& entry, v1::ExportUserResponse& out);

 private:
  struct Found;
  class Reader;
  template <std::size_t... kKinds>
  std::optional<Found> ReadAny(const Record& record, std::index_sequence<kKinds...>);

  const std::string id_;
  const EffectKey key_;
  const int dimension_;
  absl::flat_hash_set<DecisionId> decisions_;  // of windows that an entry opened
};

// The arms that the user was shown, then those that the user was rewarded for.
void FillSeen(const SeenArms& seen, EffectKey user, v1::ExportUserResponse& out);
void FillUserEffects(const std::vector<EffectsPosterior::UserBlock>& blocks,
                     v1::ExportUserResponse& out);

}  // namespace bandana::server
