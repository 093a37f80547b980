// The checkpoint files of one model: written whole, the newest two kept, so that one damaged file
// loses nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/models/checkpoint.h"

namespace bandana::server {

using WarningSink = std::function<void(const std::string&)>;

// Not thread-safe.
class CheckpointStore {
 public:
  CheckpointStore(std::string folder, WarningSink warn)
      : folder_(std::move(folder)), warn_(std::move(warn)) {}

  // The newest valid checkpoint, nullopt when there is no file. A damaged file is set aside as
  // `damaged-...` with a warning. Errors: DATA_LOSS files but no valid one; UNAVAILABLE I/O.
  absl::StatusOr<std::optional<Checkpoint>> LoadNewest();

  // Writes durably and removes all but the newest two. Returns the sequence of the older one: the
  // log up to it is not needed any more; 0 when there is only one. Errors: UNAVAILABLE I/O.
  absl::StatusOr<std::uint64_t> Write(std::uint64_t sequence, std::string_view bytes);

 private:
  std::string Path(std::uint64_t sequence) const;
  // Ascending.
  absl::StatusOr<std::vector<std::uint64_t>> Sequences() const;

  const std::string folder_;
  const WarningSink warn_;
};

}  // namespace bandana::server
