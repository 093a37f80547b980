#include "common/design/wire_messages.h"

#include <string>

#include "common/base/sha256.h"
#include "common/features/schema.h"
#include "common/promise/mechanism.h"
#include "common/promise/model_rules.h"
#include "common/promise/policy_text.h"

namespace bandana {
namespace {

constexpr bool IsNumber(Mode own, v1::Mode wire) { return ToProto(own) == wire; }
static_assert(IsNumber(Mode::kUnspecified, v1::MODE_UNSPECIFIED));
static_assert(IsNumber(Mode::kNonPrivate, v1::NON_PRIVATE));
static_assert(IsNumber(Mode::kLocalReward, v1::LOCAL_REWARD));
static_assert(IsNumber(Mode::kCentralReward, v1::CENTRAL_REWARD));
static_assert(IsNumber(Mode::kJoint, v1::JOINT));
static_assert(IsNumber(Mode::kLocalContext, v1::LOCAL_CONTEXT));
constexpr bool IsNumber(MechanismId own, v1::Mechanism wire) { return ToProto(own) == wire; }
static_assert(IsNumber(MechanismId::kUnspecified, v1::MECHANISM_UNSPECIFIED));
static_assert(IsNumber(MechanismId::kAuto, v1::AUTO));
static_assert(IsNumber(MechanismId::kRewardRandomizer, v1::REWARD_RANDOMIZER));
static_assert(IsNumber(MechanismId::kCounter, v1::COUNTER));
static_assert(IsNumber(MechanismId::kCentredRandomizer, v1::CENTRED_RANDOMIZER));
static_assert(IsNumber(MechanismId::kShapedCounter, v1::SHAPED_COUNTER));
static_assert(IsNumber(MechanismId::kPooledCounter, v1::POOLED_COUNTER));
static_assert(IsNumber(MechanismId::kPrivUnit, v1::PRIVUNIT));
static_assert(IsNumber(MechanismId::kJointGaussian, v1::JOINT_GAUSSIAN));
static_assert(IsNumber(MechanismId::kSparseRelease, v1::SPARSE_RELEASE));
static_assert(ToProto(RejectReason::kTokenInvalid) == v1::TOKEN_INVALID);
static_assert(ToProto(RejectReason::kTokenForeign) == v1::TOKEN_FOREIGN);
static_assert(ToProto(RejectReason::kShownOutOfRange) == v1::SHOWN_OUT_OF_RANGE);
static_assert(ToProto(RejectReason::kOutputOutOfRange) == v1::OUTPUT_OUT_OF_RANGE);
static_assert(ToProto(RejectReason::kUserLimit) == v1::USER_LIMIT);
static_assert(ToProto(RejectReason::kPolicyMismatch) == v1::POLICY_MISMATCH);
static_assert(ToProto(RejectReason::kStreamGap) == v1::STREAM_GAP);
static_assert(ToProto(RejectReason::kStreamForked) == v1::STREAM_FORKED);
static_assert(ToProto(RejectReason::kStreamExhausted) == v1::STREAM_EXHAUSTED);

void SetCounter(const std::optional<CounterSpec>& counter, v1::GetModelResponse& response) {
  if (!counter) return;
  response.mutable_counter()->set_kind(ToProto(counter->kind));
  response.mutable_counter()->set_horizon(counter->horizon);
  response.mutable_counter()->set_steps_max(counter->steps_max);
}

}  // namespace

v1::CounterKind ToProto(CounterKind kind) { return static_cast<v1::CounterKind>(NumberOf(kind)); }

wire::Duration FromProto(const google::protobuf::Duration& duration) {
  return {.seconds = duration.seconds(), .nanos = duration.nanos()};
}

google::protobuf::Duration ToProto(absl::Duration duration) {
  absl::Duration rest;
  google::protobuf::Duration proto;
  proto.set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &rest));
  proto.set_nanos(static_cast<std::int32_t>(absl::ToInt64Nanoseconds(rest)));
  return proto;
}

wire::CounterPolicy FromProto(const v1::CounterPolicy& counter) {
  return {.kind = counter.kind(), .horizon = counter.horizon(), .steps_max = counter.steps_max()};
}

wire::Reporting FromProto(const v1::Reporting& reporting) {
  wire::Reporting read;
  if (reporting.has_one_per_decision()) read.one_per_decision = reporting.one_per_decision();
  if (!reporting.has_reward_window()) return read;
  const v1::RewardWindow& from = reporting.reward_window();
  wire::RewardWindow& window = read.reward_window.emplace();
  if (from.has_duration()) window.duration = FromProto(from.duration());
  window.default_reward = from.default_reward();
  if (from.has_grace()) window.grace = FromProto(from.grace());
  return read;
}

wire::FeatureSchema FromProto(const v1::FeatureSchema& schema) {
  wire::FeatureSchema read;
  return wire::Merge(schema.SerializeAsString(), read) ? read : wire::FeatureSchema();
}

v1::FeatureSchema ToProto(const wire::FeatureSchema& schema) {
  v1::FeatureSchema message;
  message.ParseFromString(wire::BytesOf(schema));
  return message;
}

NamedValue FromProto(const google::protobuf::Value& value) {
  using google::protobuf::Value;
  switch (value.kind_case()) {
    case Value::kNumberValue:
      return NamedValue::Number(value.number_value());
    case Value::kStringValue:
      return NamedValue::Text(value.string_value());
    case Value::kBoolValue:
      return NamedValue::Flag(value.bool_value());
    case Value::kStructValue:
      return {.kind = NamedValue::Kind::kObject};
    case Value::kListValue: {
      std::vector<NamedValue> list;
      list.reserve(static_cast<std::size_t>(value.list_value().values_size()));
      for (const Value& one : value.list_value().values()) list.push_back(FromProto(one));
      return NamedValue::List(std::move(list));
    }
    case Value::kNullValue:
    case Value::KIND_NOT_SET:
      break;
  }
  return {};
}

NamedValues FromProto(const google::protobuf::Struct& values) {
  NamedValues named;
  named.reserve(values.fields().size());
  for (const auto& [name, value] : values.fields()) named.emplace_back(name, FromProto(value));
  return named;
}

v1::GetModelResponse ToProto(const PublicSpec& spec) {
  v1::GetModelResponse response;
  response.set_model(spec.name);
  response.set_dimension(static_cast<std::uint32_t>(spec.dimension));
  response.set_feature_l2_max(spec.feature_l2_max);
  response.set_feature_out_of_range(spec.reject_features ? v1::REJECT : v1::CLIP);
  response.set_reward_min(spec.reward_range.min);
  response.set_reward_max(spec.reward_range.max);
  response.set_reward_binary(spec.reward_binary);
  response.set_mode(ToProto(spec.mode));
  response.set_mechanism(ToProto(spec.mechanism));
  response.set_epsilon(spec.epsilon.value);
  response.set_delta(spec.delta.value);
  SetCounter(spec.counter, response);
  response.set_unit_of_privacy(spec.unit_of_privacy);
  response.set_guarantee(spec.guarantee);
  response.set_events_per_user_max(spec.events_per_user_max);
  response.set_research(spec.research);
  if (spec.one_per_decision) response.mutable_reporting()->set_one_per_decision(true);
  if (spec.reward_window) {
    auto& window = *response.mutable_reporting()->mutable_reward_window();
    *window.mutable_duration() = ToProto(spec.reward_window->duration);
    window.set_default_reward(spec.reward_window->default_reward);
    if (const auto grace = GraceOf(spec)) *window.mutable_grace() = ToProto(*grace);
  }
  *response.mutable_token_lifetime() = ToProto(spec.token_lifetime);
  response.set_link(spec.link == Link::kLogistic ? v1::LOGISTIC : v1::LINEAR);
  if (spec.features != nullptr) *response.mutable_features() = ToProto(spec.features->message());
  const std::string text = PolicyText(spec);
  const Sha256Digest hash = Sha256Of(text);
  response.set_policy_hash(std::string(AsChars(hash)));
  response.set_policy_text(text);
  response.set_table_digest(spec.made->TableDigest());
  return response;
}

}  // namespace bandana
