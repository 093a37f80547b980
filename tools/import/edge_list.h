// A list of friendships as text: SNAP's edge lists (https://snap.stanford.edu/data).
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bandana {

struct EdgeList {
  struct Counts {
    std::uint64_t lines = 0;       // that name two users
    std::uint64_t self_edges = 0;  // left out
    std::uint64_t repeated = 0;    // the same two in the same order again: counted once
    std::uint64_t one_way = 0;     // pairs that stand in one order only: friends all the same
  };
  std::vector<std::string> users;          // in the order in which they are first mentioned
  std::vector<std::pair<int, int>> pairs;  // of friends: first < second, ascending, each once
  Counts counts;
};

// One edge per line: two user ids separated by spaces or tabs. Ids have 1 to kUserIdBytesMax bytes
// of UTF-8. Empty lines and lines that start with # are skipped; lines end in \n or \r\n. Text
// comes in blocks that may end anywhere. Some 80 bytes per user and 16 per line.
class EdgeListReader {
 public:
  static constexpr std::size_t kUsersMax = 10'000'000;

  // Errors: INVALID_ARGUMENT `line N: ...`.
  absl::Status Take(std::string_view block);
  // The end of the text. Errors: as Take; INVALID_ARGUMENT no pair of friends.
  absl::StatusOr<EdgeList> Finish();

 private:
  absl::Status TakeLine(std::string_view line);
  absl::Status AddLine(std::string_view line);
  absl::StatusOr<std::uint32_t> PositionOf(std::string_view id);

  std::uint64_t line_ = 0;
  std::string begun_;              // a line whose end has not come
  std::deque<std::string> users_;  // do not move: positions_ points at them
  absl::flat_hash_map<std::string_view, std::uint32_t> positions_;
  std::vector<std::uint64_t> edges_;  // first user above, second below; as listed
  EdgeList::Counts counts_;
};

}  // namespace bandana
