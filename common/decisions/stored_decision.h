// A decision as a server's log stores it: docs/formats/decisions.md, Decision log of a server.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace bandana {

using StoredId = std::array<std::byte, 16>;  // of a decision, or of one slot

// Where a rank's reward may be randomized, and what an event in it is multiplied by (RewardEvent).
struct StoredWindow {
  double low = 0;  // the least and the greatest value that is released there, reward units
  double high = 0;
  double scale = 1;
  friend bool operator==(const StoredWindow&, const StoredWindow&) = default;
};

// One token: a slot, or the whole of a decision without slots. `chosen`: position of the arm that
// was put there. `law`: n probabilities, kNotOffered for an arm that this slot could not get.
struct StoredSlot {
  StoredId id{};
  std::uint32_t chosen = 0;
  std::vector<double> law;
  friend bool operator==(const StoredSlot&, const StoredSlot&) = default;
};
inline constexpr double kNotOffered = -1;

// A rank whose arm the token carries, so that a report may name it: where this stands among the
// arms, and its mark (ArmMark).
struct StoredRank {
  std::uint32_t position = 0;
  std::uint32_t mark = 0;
  std::optional<StoredWindow> window;
  friend bool operator==(const StoredRank&, const StoredRank&) = default;
};

// Shapes: n arms stand here, named by `ids`, by `names`, or, where both are empty, by their
//         positions. `q` has n entries or none; `features` n x d, row-major, or none.
//         `slots` has 1 to kSlotsMax. `ranks` has one for each slot where there are several, else
//         for each rank that the token carries; none where there is one rank without a window.
struct StoredDecision {
  absl::Time time;  // nanoseconds
  std::uint64_t epoch = 0;
  std::uint64_t version = 0;  // of the posterior
  bool deferred = false;      // it is a line from its activation on
  bool baseline = false;      // the caller's own arms were shown; laws are the model's own
  std::uint32_t offered = 0;  // arms on offer, at least n
  std::uint32_t first_rank =
      0;                    // the rank of ranks[0]: above 0 where a token carries one rank alone
  std::uint32_t shown = 0;  // the rank that Select named
  std::vector<std::uint32_t> ids;
  std::vector<std::string> names;
  std::vector<float> q;
  std::vector<StoredSlot> slots;
  std::vector<StoredRank> ranks;
  std::vector<double> features;
  std::string context;  // JSON object

  std::size_t arms() const { return slots.empty() ? 0 : slots.front().law.size(); }
  friend bool operator==(const StoredDecision&, const StoredDecision&) = default;
};

// 32 bits, never 0, of the arm as an entry of the model's log has it, so that the entry says which
// rank its reward is of. `features`, `keys`: bytes of EventRecord.
std::uint32_t ArmMark(std::string_view features, std::string_view keys);

// Appends the bytes. Cost: 0.1 us for 25 catalogue arms. Requires the shapes above.
void EncodeDecision(const StoredDecision& decision, std::string& out);
// Errors: DATA_LOSS. `decision` keeps its buffers from call to call.
absl::Status DecodeDecision(std::string_view bytes, StoredDecision& decision);

}  // namespace bandana
