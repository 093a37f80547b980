// A decision as a log keeps it for judging policies: who could have been chosen, with which
// probability, who was, and what came of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/mechanisms/reward_range.h"

namespace bandana {

// The law of a reward that was randomized before the server had it. `low` <= `high` are the least
// and the greatest value that the randomizer gives. Values are unbiased for the reward, or, where
// `clipped`, for the reward clipped to a window around the model's own prediction.
struct ReleaseLaw {
  double epsilon = 0;  // > 0
  double low = 0;      // reward units
  double high = 0;
  bool clipped = false;  // CENTRED_RANDOMIZER
  bool operator==(const ReleaseLaw&) const = default;
};

enum class RewardState : std::uint8_t {
  kPending,     // a reward may still come
  kUnreported,  // none came, and none can come any more
  kKnown,
};

// One slot: a draw of one arm, with a reward of its own.
//
// Shapes: n arms stand in the line. They are named by `ids` (catalogue), by `names`, or, where both
//         are empty, by their positions. `p`, `q`, `own_law` have n entries or none; `x` is n x d,
//         row-major, or empty.
// Ranges: `p` in [0, 1]; q reward units, inside the reward range; `chosen` < n where n > 0.
struct LoggedSlot {
  std::uint32_t offered = 0;  // arms on offer; above n where the log cut them
  std::vector<std::uint32_t> ids;
  std::vector<std::string> names;
  std::vector<double> x;  // features as the model saw them
  // The law that the arm was drawn by, given the slots before. Empty: only chosen_p is known.
  std::vector<double> p;
  double chosen_p = 0;  // the chosen arm's
  // Predictions that were made before the draw, of any precision: all readers must see the same
  // doubles, so a log that rounds rounds before it writes.
  std::vector<double> q;
  std::uint32_t chosen = 0;  // position
  RewardState state = RewardState::kPending;
  double reward = 0;  // where kKnown: raw, or released
  std::optional<ReleaseLaw> released;
  // The caller's own arm was shown, so chosen_p is 1. `own_law` is then the model's law, if kept.
  bool baseline = false;
  std::vector<double> own_law;

  std::size_t arms() const {  // n
    return !ids.empty() ? ids.size() : !names.empty() ? names.size() : !p.empty() ? p.size() : 0;
  }
  // Whether the line names some arms on offer and not others. Which ones may depend on the draw:
  // the chosen arm is always among them.
  bool cut() const { return arms() > 0 && arms() < offered; }
  // Whether the law of every arm on offer is known.
  bool whole_law() const { return !p.empty() && p.size() == offered; }
  bool operator==(const LoggedSlot&) const = default;
};

// One unit of judging: the slots that were drawn together, in order.
struct LoggedDecision {
  std::string id;        // 1 to kDecisionTextBytesMax bytes; unique in a log
  absl::Time time;       // of the decision; nanoseconds
  std::string instance;  // of the model, in hex; empty: unknown
  std::uint64_t epoch = 0;
  std::uint64_t version = 0;  // of the posterior that was used
  std::string user;           // a pseudonym; empty: unknown
  std::string context;        // named values as a JSON object; empty: not kept
  RewardRange range;          // of raw rewards
  std::vector<LoggedSlot> slots;
  // Above 0: a ranking whose report named this rank after the reaction. The law of that rank is not
  // in the line, so the line cannot be judged by itself.
  std::uint32_t named_rank = 0;
};

inline constexpr std::size_t kDecisionTextBytesMax = 128;  // id, instance, user, a name
inline constexpr std::size_t kDecisionSlotsMax = 100;      // of one decision
inline constexpr std::size_t kDecisionArmsMax = 100'000;   // that stand in one line
inline constexpr std::size_t kDecisionLineBytesMax = 16 << 20;
// Sums of propensities may be off by so much: a law in 32-bit floats is, one in 3 decimals is not.
inline constexpr double kPropensitySumError = 1e-6;

}  // namespace bandana
