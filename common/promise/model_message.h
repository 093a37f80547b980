// A model's public configuration as a server sent it: GetModelResponse of
// proto/bandana/v1/recommender.proto, unchecked and without protobuf.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/features/schema_message.h"

namespace bandana {
namespace wire {

struct Duration {
  std::int64_t seconds = 0;
  std::int32_t nanos = 0;
  friend bool operator==(const Duration&, const Duration&) = default;
};

struct RewardWindow {
  std::optional<Duration> duration;
  double default_reward = 0;
  std::optional<Duration> grace;
  friend bool operator==(const RewardWindow&, const RewardWindow&) = default;
};

// One of the two, or none.
struct Reporting {
  std::optional<bool> one_per_decision;
  std::optional<RewardWindow> reward_window;
  friend bool operator==(const Reporting&, const Reporting&) = default;
};

struct CounterPolicy {
  std::int32_t kind = 0;
  std::uint64_t horizon = 0;
  std::uint64_t steps_max = 0;
  friend bool operator==(const CounterPolicy&, const CounterPolicy&) = default;
};

struct Model {
  std::string model;
  std::uint32_t dimension = 0;
  double feature_l2_max = 0;
  std::int32_t feature_out_of_range = 0;
  double reward_min = 0;
  double reward_max = 0;
  bool reward_binary = false;
  std::int32_t mode = 0;
  std::int32_t mechanism = 0;
  double epsilon = 0;
  double delta = 0;
  std::string unit_of_privacy;
  std::string guarantee;
  std::uint64_t events_per_user_max = 0;
  std::optional<Reporting> reporting;
  Duration token_lifetime;
  std::string policy_hash;
  std::uint64_t posterior_version = 0;
  bool research = false;
  std::optional<CounterPolicy> counter;
  std::uint64_t epoch = 0;
  std::int32_t link = 0;
  std::optional<FeatureSchema> features;
  std::string policy_text;
  std::string table_digest;
};

// Merge the bytes of a message, as protobuf does. False: they are none.
bool Merge(std::string_view bytes, Duration& duration);
bool Merge(std::string_view bytes, Reporting& reporting);
bool Merge(std::string_view bytes, CounterPolicy& counter);
bool Merge(std::string_view bytes, Model& model);

}  // namespace wire

// Errors: INVALID_ARGUMENT when it is not a valid duration (nanos out of range, signs that differ).
absl::StatusOr<absl::Duration> DurationOf(const wire::Duration& duration);

}  // namespace bandana
