// The lines of decision logs, joined with what came of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/decisions/logged_decision.h"
#include "common/decisions/segment.h"

namespace bandana::server {

// Reads folders that nobody writes meanwhile: of a server that has stopped, or copies. Several are
// the halves of servers that share one model: a decision is in one of them, its reward perhaps in
// another. Not thread-safe.
class DecisionReader {
 public:
  struct Options {
    std::vector<std::string> folders;
    absl::Time from = absl::InfinitePast();
    absl::Time to = absl::InfiniteFuture();
    absl::Time now = absl::InfinitePast();   // what no reward can come to any more is unreported
    bool users = false;                      // their pseudonyms, as the folders have them
    std::optional<UserPseudonym> only = {};  // nothing: everybody's lines
  };
  // Errors: UNAVAILABLE I/O.
  static absl::StatusOr<std::unique_ptr<DecisionReader>> Open(Options options);
  ~DecisionReader();

  // The next line, in the order of their times but for moments; false: there is none. Memory: some
  // 100 MB, however long the log is. Errors: DATA_LOSS; UNAVAILABLE I/O.
  absl::StatusOr<bool> Next(LoggedDecision& decision);
  // Frames that were damaged, and were passed over.
  std::uint64_t damaged() const;

 private:
  class Body;
  explicit DecisionReader(std::unique_ptr<Body> body);
  const std::unique_ptr<Body> body_;
};

}  // namespace bandana::server
