// The newest position at which a central model has published, kept in a file of this machine: a log
// that was put back cannot publish a second history unnoticed.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/accounting/composition.h"
#include "common/model/state/model_state.h"
#include "server/log/update_log.h"

namespace bandana::server {

struct Published {
  bool known = false;  // there is a file
  LogPosition position;
  // The state's values at that position; zeros where the log is in the folder beside the file.
  std::uint64_t epoch = 0;
  PrivacyTotals totals;  // Ledger::largest
};

// The record of a state that is to be published. `apart`: the log is not in the folder, and may be
// put back without it: then epoch and totals are kept as well.
Published PublishedOf(const ModelState& state, bool apart);

// Writes durably; call before what is published becomes visible. Errors: UNAVAILABLE I/O.
absl::Status WritePublished(const std::string& folder, const std::array<std::byte, 16>& instance,
                            const Published& published);
// Sequence 0 when nothing was published. Errors: DATA_LOSS damaged, or of another instance;
// UNAVAILABLE I/O.
absl::StatusOr<Published> ReadPublished(const std::string& folder,
                                        const std::array<std::byte, 16>& instance);

// The model does not open because the store was put back to the past, or because nobody on this
// machine knows what it has published: opening an epoch is the way out (ModelRegistry::OpenEpoch).
absl::Status NeedsEpoch(std::string_view why);
// True also where the status was annotated.
bool IsNeedsEpoch(const absl::Status& status);

// Compares the log with what was published, entry by entry as it is read.
class PublishedCheck {
 public:
  // `start`: where reading starts, with what its checkpoint says had been published by then.
  // `apart`: others may have gone on from what this machine has published, so what it published
  // before the checkpoint is not compared: its owner at that time has answered for it.
  PublishedCheck(const LogPosition& published, const LogPosition& start,
                 const LogPosition& published_at_start, bool apart = false);
  // Errors: DATA_LOSS what was published is not what the checkpoint has seen.
  absl::Status Begin() const { return start_; }
  // Errors: DATA_LOSS the log has another entry where something was published.
  absl::Status See(const LogPosition& position) const;
  // Errors: DATA_LOSS the log ends before what was published.
  absl::Status Finish(const LogPosition& last) const;
  // Errors: DATA_LOSS the state is of an earlier epoch, or has cost less, than what was published.
  static absl::Status Compare(const Published& published, const ModelState& state);

 private:
  const LogPosition published_;
  absl::Status start_;
};

}  // namespace bandana::server
