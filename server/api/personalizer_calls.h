// The messages of Personalizer's clients, and the decisions that they stand for. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bandana/v1/recommender.pb.h"
#include "nlohmann/json.hpp"

namespace bandana::server {

struct RankAction {
  std::string id;
  nlohmann::json features;  // a list of objects
};
struct RankSlot {
  std::string id;
  nlohmann::json features;  // a list of objects, or null
  std::vector<std::string> excluded;
  std::string baseline;  // the caller's own action; empty: none is named
};
struct RankCall {
  std::string event_id;    // empty: none came
  nlohmann::json context;  // a list of objects, or null
  std::vector<RankAction> actions;
  std::vector<std::string> excluded;
  std::vector<RankSlot> slots;  // of calls with several
  bool deferred = false;
  bool any_context = false;  // no value of a feature is refused: what is none is missing
};

inline constexpr std::size_t kEventIdBytesMax = 256;
inline constexpr std::size_t kActionIdBytesMax = 128;
inline constexpr std::size_t kSlotsMax = 16;

// `with_slots`: whether the call has several slots, else none. `any_context`: RankCall's. Errors:
// INVALID_ARGUMENT with the path in the caller's terms, `actions[2].id: ...`.
absl::StatusOr<RankCall> ParseRank(std::string_view body, bool with_slots, bool any_context);

// A reward that came; absent: none, or what is no number.
struct SlotReward {
  std::string slot_id;  // of several slots
  std::optional<double> reward;
};
// Rewards of a body: one, `value`, or with slots those of `reward`. `any_counts`: a body that says
// nothing of use is a reward that is missing. Errors: INVALID_ARGUMENT, otherwise; with slots also
// where no slot is named.
absl::StatusOr<std::vector<SlotReward>> ParseRewards(std::string_view body, bool with_slots,
                                                     bool any_counts);

// The name of a decision: the event's, or of one of its slots; a digest where it does not fit into
// SelectRequest.decision_id.
std::string DecisionIdOf(const std::string& event_id);
std::string DecisionIdOf(const std::string& event_id, const std::string& slot_id);

// The positions among `call.actions` that are to be ranked: all but those in `excluded`.
std::vector<std::uint32_t> Offered(const RankCall& call, const std::vector<std::string>& excluded);

// The part of a rank call that differs between its slots.
struct RankPart {
  std::string decision_id;
  std::vector<std::uint32_t> offered;     // positions in call.actions
  const RankSlot* slot = nullptr;         // null: a call without slots
  std::optional<std::uint32_t> baseline;  // position in `offered`
};

// The decision, but for its model's name. A model with a schema gets the values that its fields
// name; another one hashed vectors. Errors: INVALID_ARGUMENT; FAILED_PRECONDITION the model has too
// few features for hashed ones.
absl::StatusOr<v1::SelectRequest> DecisionOf(const RankCall& call, const RankPart& part,
                                             const v1::GetModelResponse& model);

// The answer to a call without slots: every action with its probability, those that were ranked
// first, those that were excluded last.
nlohmann::ordered_json RankingOf(const RankCall& call, const RankPart& part,
                                 const v1::SelectResponse& selection);

}  // namespace bandana::server
