#include "client/abi/src/to_c.h"

#include <limits>
#include <utility>

namespace bandana::abi {
namespace {

double OrNan(std::optional<double> value) {
  return value.value_or(std::numeric_limits<double>::quiet_NaN());
}

std::int32_t Flag(bool value) { return value ? 1 : 0; }

}  // namespace

bandana_bytes ToBytes(std::string_view text) { return {text.data(), text.size()}; }

SelectionStructs::SelectionStructs(std::span<const Selection> selections) {
  for (const Selection& selection : selections) {
    std::vector<bandana_ranked_arm> arms;
    for (const RankedArm& arm : selection.arms) {
      arms.push_back({arm.position, arm.arm_id, arm.score, arm.mean, arm.width, arm.propensity,
                      ToBytes(arm.name)});
    }
    std::vector<bandana_bytes> notes;
    for (const std::string& note : selection.notes) notes.push_back(ToBytes(note));
    all_.push_back({ToBytes(selection.handle), selection.posterior_version, arms.data(),
                    arms.size(), selection.point.data(), selection.point.size(), notes.data(),
                    notes.size()});
    arms_.push_back(std::move(arms));  // its elements stay where they are
    notes_.push_back(std::move(notes));
  }
}

bandana_model_info ToStruct(const ModelInfo& info) {
  bandana_model_info to = {};
  to.size = sizeof to;
  to.name = ToBytes(info.name);
  to.link = ToBytes(info.link);
  to.guarantee = ToBytes(info.guarantee);
  to.mechanism = ToBytes(info.mechanism);
  to.dimension = info.dimension;
  to.reward_binary = Flag(info.reward_binary);
  to.local = Flag(info.local);
  to.local_context = Flag(info.local_context);
  to.feature_l2_max = info.feature_l2_max;
  to.reward_min = info.reward_min;
  to.reward_max = info.reward_max;
  to.epsilon = info.epsilon;
  to.delta = info.delta;
  to.default_reward = info.default_reward;
  to.events_per_user_max = info.events_per_user_max;
  to.reward_window_ms = info.reward_window ? absl::ToInt64Milliseconds(*info.reward_window) : -1;
  to.token_lifetime_ms = absl::ToInt64Milliseconds(info.token_lifetime);
  return to;
}

bandana_stats ToStruct(const ClientStats& stats) {
  return {sizeof(bandana_stats),   stats.selections,        stats.reports_queued,
          stats.reports_defaulted, stats.reports_applied,   stats.reports_duplicate,
          stats.reports_expired,   stats.reports_overtaken, stats.reports_rejected,
          stats.reports_dropped,   stats.reports_pending,   stats.delivery_attempts,
          stats.rewards_clipped,   stats.streams_ended,     stats.values_encoded,
          stats.values_missing,    stats.values_unknown,    stats.values_out_of_bounds};
}

bandana_spent ToStruct(const PrivacySpent& spent) {
  return {spent.epsilon_event, spent.delta_event, spent.events, spent.streams, spent.epsilon_user};
}

bandana_readings ToStruct(const LedgerReadings& readings) {
  return {OrNan(readings.epsilon_pure), OrNan(readings.epsilon_gaussian),
          OrNan(readings.epsilon_zcdp), readings.delta};
}

bandana_stream ToStruct(const StreamInfo& stream) {
  return {stream.epoch, stream.steps, stream.acknowledged, ToBytes(stream.ended)};
}

bandana_options DefaultOptions() {
  const ClientOptions options;
  bandana_options to = {};
  to.size = sizeof to;
  to.require_local = Flag(options.policy.require_local);
  to.require_proven = Flag(options.policy.require_proven);
  to.allow_research = Flag(options.policy.allow_research);
  to.leave = BANDANA_WHEN_DUE;
  to.epsilon_max = options.policy.epsilon_max;
  to.delta_max = options.policy.delta_max;
  to.events_per_user_max = options.policy.events_per_user_max;
  to.when_full = BANDANA_BLOCK;
  to.queue_reports_max = options.queue_reports_max;
  to.deliveries_in_flight_max = options.deliveries_in_flight_max;
  to.reports_per_delivery_max = options.reports_per_delivery_max;
  to.select_deadline_ms = absl::ToInt64Milliseconds(options.select_deadline);
  to.report_deadline_ms = absl::ToInt64Milliseconds(options.report_deadline);
  to.connect_timeout_ms = absl::ToInt64Milliseconds(options.connect_timeout);
  to.backoff_min_ms = absl::ToInt64Milliseconds(options.backoff_min);
  to.backoff_max_ms = absl::ToInt64Milliseconds(options.backoff_max);
  to.posterior_interval_ms = absl::ToInt64Milliseconds(options.posterior_interval);
  return to;
}

}  // namespace bandana::abi
