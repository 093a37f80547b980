// The folder that bandana-import writes, as an environment needs it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace bandana {

struct HetrecData {
  struct User {
    std::string id;
    // Ascending positions in `arms`: of items.tsv, and of events.tsv.
    std::vector<std::uint32_t> items;
    std::vector<std::uint32_t> tagged;
  };
  struct Event {
    std::uint32_t user = 0;  // position in `users`
    std::uint32_t arm = 0;   // position in `arms`
  };
  int dimension = 0;
  std::vector<std::uint32_t> arms;  // catalogue ids, in the file's order
  std::vector<User> users;  // those with at least one catalogue arm, in order of first mention
  std::vector<Event>
      events;  // in the file's (time) order; those on arms without features are left out
};

// Reads DIR/arms.tsv (id, tab, comma-separated tags or `-`, tab, d numbers separated by spaces),
// DIR/users.tsv (docs/formats.md, either form), DIR/items.tsv (user id, tab, arm id: what a user
// listened to) and DIR/events.tsv (user id, tab, arm id, tab, time: what a user tagged). Without
// items.tsv the tagged arms stand for the items. Lines that begin with `#` are comments. Errors:
// NOT_FOUND a file is missing; INVALID_ARGUMENT with file and line.
absl::StatusOr<HetrecData> ReadHetrec(const std::string& folder);

}  // namespace bandana
