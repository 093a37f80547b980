// The public part of a model: between PublicSpec and GetModelResponse, and its hash.
#include <string>

#include "absl/strings/str_format.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/field_checks.h"
#include "common/design/mechanism.h"
#include "common/design/model_rules.h"
#include "common/design/model_spec.h"
#include "common/design/privacy_rules.h"

namespace bandana {
namespace {

// 17 significant digits read back to the same double in every language; adding 0 turns -0 into 0.
std::string Number(double value) { return absl::StrFormat("%.17g", value + 0.0); }

std::string_view ReportingName(const PublicSpec& spec) {
  if (spec.reward_window) return "reward_window";
  return spec.one_per_decision ? "one_per_decision" : "immediate";
}

// The format of the canonical text: 1, with a counter 2, with private contexts 3, with a curved
// link 4; private models with a reward window 5, so that an SDK whose windows told of reactions
// refuses them.
int FormatOf(const PublicSpec& spec) {
  if (spec.reward_window && IsPrivateMode(spec.mode)) return 5;
  if (spec.link != Link::kLinear) return 4;
  if (spec.context) return 3;
  return spec.counter ? 2 : 1;
}

// docs/formats.md, section "policy hash", describes this text; a change of it is a change of the
// format's number. Models without a counter keep format 1, so that what devices have agreed to and
// spent under it stands.
std::string CanonicalText(const PublicSpec& spec) {
  const auto window = spec.reward_window.value_or(RewardWindowSpec{});
  std::string text =
      absl::StrCat("bandana-policy-", FormatOf(spec), "\n",                                  //
                   "model=", spec.name, "\n",                                                //
                   "dimension=", spec.dimension, "\n",                                       //
                   "feature_l2_max=", Number(spec.feature_l2_max), "\n",                     //
                   "feature_out_of_range=", spec.reject_features ? "REJECT" : "CLIP", "\n",  //
                   "reward_min=", Number(spec.reward_range.min), "\n",                       //
                   "reward_max=", Number(spec.reward_range.max), "\n",                       //
                   "reward_binary=", spec.reward_binary ? 1 : 0, "\n",                       //
                   "mode=", v1::Mode_Name(spec.mode), "\n",                                  //
                   "mechanism=", v1::Mechanism_Name(spec.mechanism), "\n",                   //
                   "epsilon=", Number(spec.epsilon.value), "\n",                             //
                   "delta=", Number(spec.delta.value), "\n",                                 //
                   "unit_of_privacy=", spec.unit_of_privacy, "\n",                           //
                   "guarantee=", spec.guarantee, "\n",                                       //
                   "events_per_user_max=", spec.events_per_user_max, "\n",                   //
                   "research=", spec.research ? 1 : 0, "\n",                                 //
                   "reporting=", ToAbsl(ReportingName(spec)), "\n",                          //
                   "reward_window_ns=", absl::ToInt64Nanoseconds(window.duration), "\n",     //
                   "default_reward=", Number(window.default_reward), "\n",                   //
                   "token_lifetime_ns=", absl::ToInt64Nanoseconds(spec.token_lifetime), "\n");
  if (spec.counter) {
    absl::StrAppend(&text, "counter_kind=", v1::CounterKind_Name(spec.counter->kind), "\n",
                    "counter_horizon=", spec.counter->horizon, "\n",
                    "counter_steps_max=", spec.counter->steps_max, "\n");
  }
  if (spec.context) {
    absl::StrAppend(&text, "context_grid_bits=", spec.context->grid_bits, "\n",
                    "context_parameters=", ToHex(spec.context->parameters), "\n");
  }
  if (spec.link == Link::kLogistic) absl::StrAppend(&text, "link=LOGISTIC\n");
  if (FormatOf(spec) == 5) {
    absl::StrAppend(&text, "reward_grace_ns=", absl::ToInt64Nanoseconds(window.grace), "\n");
  }
  return text;
}

void CheckPrivacy(const v1::GetModelResponse& response, PublicSpec& spec,
                  const FieldChecks& checks) {
  spec.mode = response.mode();
  spec.mechanism = response.mechanism();
  spec.unit_of_privacy = response.unit_of_privacy();
  spec.guarantee = response.guarantee();
  spec.events_per_user_max = response.events_per_user_max();
  spec.research = response.research();
  if (IsPrivateMode(response.mode())) {
    const MechanismRule* rule = FindMechanism(response.mechanism());
    if (rule == nullptr) {
      checks.Add("mechanism", "is not one that this version knows");
    } else {
      CheckMode(*rule, response.mode(), checks);
    }
    spec.epsilon = CheckEpsilon(response.epsilon(), response.research(), checks);
    spec.delta = CheckDelta(response.delta(), response.mechanism(), response.research(), checks);
    if (response.mechanism() == v1::CENTRED_RANDOMIZER && response.reward_binary()) {
      checks.Add("mechanism", "CENTRED_RANDOMIZER is for rewards that are not binary");
    }
    if (response.has_counter() != (rule != nullptr && rule->counter)) {
      checks.Add("counter", "must be there exactly with a counter");
    } else if (response.has_counter()) {
      spec.counter = CheckCounter("counter", response.counter(), checks);
    }
    if (response.unit_of_privacy() != "event") checks.Add("unit_of_privacy", "must be event");
    if (response.guarantee() != "proven") checks.Add("guarantee", "must be proven");
    return;
  }
  if (response.mode() != v1::NON_PRIVATE) checks.Add("mode", "is not one that this version knows");
  if (response.mechanism() != v1::MECHANISM_UNSPECIFIED || !(response.epsilon() == 0) ||
      !(response.delta() == 0) || !response.unit_of_privacy().empty() ||
      !response.guarantee().empty() || response.has_counter()) {
    checks.Add("mode", "contradicts a mechanism, epsilon, delta, counter, unit or guarantee");
  }
}

// The device's own design: where the server's differs, the hash does.
void MakeHere(PublicSpec& spec, const FieldChecks& checks) {
  auto made = MakeMechanism(spec);
  if (!made.ok()) return checks.Add("mechanism", std::string(made.status().message()));
  spec.made = *std::move(made);
  if (const ContextReports* const contexts = spec.made->contexts()) spec.context = contexts->spec();
}

}  // namespace

Sha256Digest PublicSpec::PolicyHash() const { return Sha256Of(CanonicalText(*this)); }

absl::StatusOr<PublicSpec> ParsePublicSpec(const v1::GetModelResponse& response) {
  std::vector<ConfigError> errors;
  const FieldChecks checks(errors);
  PublicSpec spec;
  spec.name = response.model();
  CheckModelName("model", spec.name, checks);
  spec.dimension = static_cast<int>(
      checks.Count("dimension", response.dimension(), 1, DimensionMax(response.mechanism())));
  spec.feature_l2_max = checks.Positive("feature_l2_max", response.feature_l2_max(), kScaleMax);
  spec.reject_features =
      CheckOutOfRange("feature_out_of_range", response.feature_out_of_range(), checks);
  spec.reward_range = CheckRewardRange(response.reward_min(), response.reward_max(), checks);
  spec.reward_binary = response.reward_binary();
  CheckPrivacy(response, spec, checks);
  CheckHiddenFeatures(spec, checks);
  spec.link = CheckLink(response.link(), spec, checks);
  CheckReporting(response.has_reporting() ? &response.reporting() : nullptr, spec, checks);
  spec.token_lifetime = CheckTokenLifetime(response.token_lifetime(), spec, checks);
  if (errors.empty()) MakeHere(spec, checks);
  BANDANA_RETURN_IF_ERROR(Annotate(ToStatus(errors), "model configuration from the server"));
  const Sha256Digest hash = spec.PolicyHash();
  if (AsChars(hash) != response.policy_hash()) {
    return FailedPrecondition("policy_hash of model ", spec.name,
                              " does not match the configuration it came with");
  }
  return spec;
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
  response.set_mode(spec.mode);
  response.set_mechanism(spec.mechanism);
  response.set_epsilon(spec.epsilon.value);
  response.set_delta(spec.delta.value);
  if (spec.counter) *response.mutable_counter() = CounterToProto(*spec.counter);
  response.set_unit_of_privacy(spec.unit_of_privacy);
  response.set_guarantee(spec.guarantee);
  response.set_events_per_user_max(spec.events_per_user_max);
  response.set_research(spec.research);
  if (spec.one_per_decision) response.mutable_reporting()->set_one_per_decision(true);
  if (spec.reward_window) {
    auto& window = *response.mutable_reporting()->mutable_reward_window();
    *window.mutable_duration() = DurationToProto(spec.reward_window->duration);
    window.set_default_reward(spec.reward_window->default_reward);
    if (IsCentralMode(spec.mode)) {
      *window.mutable_grace() = DurationToProto(spec.reward_window->grace);
    }
  }
  *response.mutable_token_lifetime() = DurationToProto(spec.token_lifetime);
  response.set_link(spec.link == Link::kLogistic ? v1::LOGISTIC : v1::LINEAR);
  const Sha256Digest hash = spec.PolicyHash();
  response.set_policy_hash(std::string(AsChars(hash)));
  return response;
}

bool HasRandomizer(const PublicSpec& spec) {
  return IsPrivateMode(spec.mode) &&
         (spec.mechanism == v1::REWARD_RANDOMIZER || spec.mechanism == v1::CENTRED_RANDOMIZER);
}

absl::StatusOr<RewardRandomizer> MakeRandomizer(const PublicSpec& spec) {
  if (!HasRandomizer(spec)) {
    return InvalidArgument("model ", spec.name, " has no randomizer: its mode is ",
                           v1::Mode_Name(spec.mode), ", its mechanism ",
                           v1::Mechanism_Name(spec.mechanism));
  }
  return RewardRandomizer::Create(
      {.epsilon = spec.epsilon, .range = spec.reward_range, .binary = spec.reward_binary});
}

}  // namespace bandana
