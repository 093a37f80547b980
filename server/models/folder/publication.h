// The newest position at which a central model has published, kept beside its log: a log that was
// put back cannot publish a second history unnoticed.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "server/log/update_log.h"

namespace bandana::server {

// Writes durably; call before what is published becomes visible. Errors: UNAVAILABLE I/O.
absl::Status WritePublished(const std::string& folder, const std::array<std::byte, 16>& instance,
                            const LogPosition& position);
// Sequence 0 when nothing was published. Errors: DATA_LOSS damaged, or of another instance;
// UNAVAILABLE I/O.
absl::StatusOr<LogPosition> ReadPublished(const std::string& folder,
                                          const std::array<std::byte, 16>& instance);

// Compares the log with what was published, entry by entry as it is read.
class PublishedCheck {
 public:
  // `start`: where reading starts, with what its checkpoint says had been published by then.
  PublishedCheck(const LogPosition& published, const LogPosition& start,
                 const LogPosition& published_at_start);
  // Errors: DATA_LOSS what was published is not what the checkpoint has seen.
  absl::Status Begin() const { return start_; }
  // Errors: DATA_LOSS the log has another entry where something was published.
  absl::Status See(const LogPosition& position) const;
  // Errors: DATA_LOSS the log ends before what was published.
  absl::Status Finish(const LogPosition& last) const;

 private:
  const LogPosition published_;
  absl::Status start_;
};

}  // namespace bandana::server
