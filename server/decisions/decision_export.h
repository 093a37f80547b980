// The files of a decision log on their way out, while it is written.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/decisions/decision_store.h"
#include "server/decisions/user_pseudonym.h"

namespace bandana::server {

// The files as they are at one moment, and how far they go. Not thread-safe.
class DecisionExport {
 public:
  struct Range {  // of the times of decisions
    absl::Time from = absl::InfinitePast();
    absl::Time to = absl::InfiniteFuture();
  };
  // Files that may have lines in the range, and all rewards that may be theirs.
  static DecisionExport Of(const DecisionStore& store, const Range& range);

  // Takes the next bytes of a file, in order.
  using Sink = std::function<absl::Status(const std::string& file, std::string_view bytes)>;
  // `key`: users get pseudonyms under it; null: none has one. A file that has gone since is left
  // out. Errors: those of the sink; UNAVAILABLE I/O.
  absl::Status Write(const PseudonymKey* key, const Sink& sink) const;

 private:
  struct File {
    SegmentKind kind = SegmentKind::kDecisions;
    std::uint64_t number = 0;
    std::uint64_t bytes = 0;
  };
  std::string folder_;
  std::vector<File> files_;
};

}  // namespace bandana::server
