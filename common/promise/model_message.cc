#include "common/promise/model_message.h"

#include "common/base/status.h"
#include "common/base/wire_reader.h"

namespace bandana {
namespace wire {
namespace {

bool Merge(std::string_view bytes, RewardWindow& window);

template <typename Part>
void MergeField(WireReader& in, Part& part) {
  const auto bytes = in.Message();
  if (bytes && !Merge(*bytes, part)) in.Fail();
}

template <typename Part>
void MergeField(WireReader& in, std::optional<Part>& part) {
  if (!in.Message()) return;
  if (!part) part.emplace();
  MergeField(in, *part);
}

bool Merge(std::string_view bytes, RewardWindow& window) {
  WireReader in(bytes);
  while (in.Next()) {
    if (in.field() == 1) MergeField(in, window.duration);
    if (in.field() == 2) in.Real(window.default_reward);
    if (in.field() == 3) MergeField(in, window.grace);
  }
  return in.ok();
}

}  // namespace

bool Merge(std::string_view bytes, Duration& duration) {
  WireReader in(bytes);
  while (in.Next()) {
    if (in.field() == 1) in.Number(duration.seconds);
    if (in.field() == 2) in.Number(duration.nanos);
  }
  return in.ok();
}

bool Merge(std::string_view bytes, Reporting& reporting) {
  WireReader in(bytes);
  while (in.Next()) {
    if (in.field() == 1) {
      std::optional<bool> given;
      in.Flag(given);
      if (given) reporting = {.one_per_decision = given, .reward_window = {}};
    } else if (in.field() == 2 && in.Message()) {
      reporting.one_per_decision.reset();
      MergeField(in, reporting.reward_window);
    }
  }
  return in.ok();
}

bool Merge(std::string_view bytes, CounterPolicy& counter) {
  WireReader in(bytes);
  while (in.Next()) {
    if (in.field() == 1) in.Number(counter.kind);
    if (in.field() == 2) in.Number(counter.horizon);
    if (in.field() == 3) in.Number(counter.steps_max);
  }
  return in.ok();
}

namespace {

// The fields of a model's shape; then those of its promise.
void TakeShape(WireReader& in, Model& model) {
  switch (in.field()) {
    case 1:
      return in.Text(model.model);
    case 2:
      return in.Number(model.dimension);
    case 3:
      return in.Real(model.feature_l2_max);
    case 4:
      return in.Number(model.feature_out_of_range);
    case 5:
      return in.Real(model.reward_min);
    case 6:
      return in.Real(model.reward_max);
    case 7:
      return in.Flag(model.reward_binary);
    case 18:
      return in.Number(model.posterior_version);
    case 21:
      return in.Number(model.epoch);
    case 22:
      return in.Number(model.link);
    case 23:
      return MergeField(in, model.features);
    default:
      return;
  }
}

void TakePromise(WireReader& in, Model& model) {
  switch (in.field()) {
    case 8:
      return in.Number(model.mode);
    case 9:
      return in.Number(model.mechanism);
    case 10:
      return in.Real(model.epsilon);
    case 11:
      return in.Real(model.delta);
    case 12:
      return in.Text(model.unit_of_privacy);
    case 13:
      return in.Text(model.guarantee);
    case 14:
      return in.Number(model.events_per_user_max);
    case 15:
      return MergeField(in, model.reporting);
    case 16:
      return MergeField(in, model.token_lifetime);
    case 17:
      return in.Bytes(model.policy_hash);
    case 19:
      return in.Flag(model.research);
    case 20:
      return MergeField(in, model.counter);
    case 24:
      return in.Text(model.policy_text);
    case 25:
      return in.Bytes(model.table_digest);
    default:
      return;
  }
}

}  // namespace

bool Merge(std::string_view bytes, Model& model) {
  WireReader in(bytes);
  while (in.Next()) {
    TakeShape(in, model);
    TakePromise(in, model);
  }
  return in.ok();
}

}  // namespace wire

absl::StatusOr<absl::Duration> DurationOf(const wire::Duration& duration) {
  constexpr std::int64_t kSecondsMax = 315'576'000'000;  // google/protobuf/duration.proto
  const auto [seconds, nanos] = duration;
  if (seconds < -kSecondsMax || seconds > kSecondsMax || nanos <= -1'000'000'000 ||
      nanos >= 1'000'000'000 || (seconds > 0 && nanos < 0) || (seconds < 0 && nanos > 0)) {
    return InvalidArgument("is not a valid duration: ", seconds, " seconds and ", nanos, " nanos");
  }
  return absl::Seconds(seconds) + absl::Nanoseconds(nanos);
}

}  // namespace bandana
