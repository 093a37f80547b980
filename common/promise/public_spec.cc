// The public part of a model: between PublicSpec and GetModelResponse, and its hash.
#include "common/promise/public_spec.h"

#include <string>

#include "absl/strings/str_format.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/promise/features_policy.h"
#include "common/promise/field_checks.h"
#include "common/promise/mechanism.h"
#include "common/promise/model_rules.h"
#include "common/promise/privacy_rules.h"

namespace bandana {
namespace {

// 17 significant digits read back to the same double in every language; adding 0 turns -0 into 0.
std::string Number(double value) { return absl::StrFormat("%.17g", value + 0.0); }

std::string_view ReportingName(const PublicSpec& spec) {
  if (spec.reward_window) return "reward_window";
  return spec.one_per_decision ? "one_per_decision" : "immediate";
}

// Lines of a policy beyond the fields that every one has, and the format that has them.
struct Section {
  int format = 1;
  std::string text;  // "": not of this policy
};

template <typename T>
Section SectionOf(int format, const std::optional<T>& part, std::string (*text)(const T&)) {
  return {format, part ? text(*part) : ""};
}

std::string CounterText(const CounterSpec& counter) {
  return absl::StrCat("counter_kind=", v1::CounterKind_Name(counter.kind), "\n",
                      "counter_horizon=", counter.horizon, "\n",
                      "counter_steps_max=", counter.steps_max, "\n");
}

std::string ContextText(const ContextSpec& context) {
  return absl::StrCat("context_grid_bits=", context.grid_bits, "\n",
                      "context_parameters=", ToHex(context.parameters), "\n");
}

std::string LinkText(const PublicSpec& spec) {
  return spec.link == Link::kLogistic ? "link=LOGISTIC\n" : "";
}

// An SDK whose windows told of reactions refuses private models with one.
std::string GraceText(const PublicSpec& spec) {
  if (!spec.reward_window || !IsPrivateMode(spec.mode)) return "";
  return absl::StrCat("reward_grace_ns=", absl::ToInt64Nanoseconds(spec.reward_window->grace),
                      "\n");
}

// The policy's format is the largest of theirs.
std::vector<Section> SectionsOf(const PublicSpec& spec) {
  return {SectionOf(2, spec.counter, CounterText), SectionOf(3, spec.context, ContextText),
          Section{4, LinkText(spec)}, Section{5, GraceText(spec)}, Section{6, FeaturesText(spec)}};
}

// docs/formats.md, section "policy hash", describes this text; a change of it is a change of the
// format's number. Models without a counter keep format 1, so that what devices have agreed to and
// spent under it stands.
std::string PolicyText(const PublicSpec& spec) {
  const auto window = spec.reward_window.value_or(RewardWindowSpec{});
  int format = 1;
  std::string sections;
  for (const Section& section : SectionsOf(spec)) {
    if (section.text.empty()) continue;
    format = section.format;
    sections += section.text;
  }
  const std::string text =
      absl::StrCat("bandana-policy-", format, "\n",                                          //
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
  return text + sections;
}

void CheckPrivacy(const v1::GetModelResponse& response, PublicSpec& spec,
                  const FieldChecks& checks) {
  spec.mode = response.mode();
  spec.mechanism = response.mechanism();
  spec.unit_of_privacy = response.unit_of_privacy();
  spec.guarantee = response.guarantee();
  spec.events_per_user_max = response.events_per_user_max();
  spec.research = response.research();
  CheckPolicyOfMode(response, spec, checks);
}

// The device's own design: where the server's differs, the hash does.
void MakeHere(PublicSpec& spec, const FieldChecks& checks) {
  auto made = MakeMechanism(spec);
  if (!made.ok()) return checks.Add("mechanism", std::string(made.status().message()));
  spec.made = *std::move(made);
  spec.context = spec.made->agreed();
}

}  // namespace

Sha256Digest PublicSpec::PolicyHash() const { return Sha256Of(PolicyText(*this)); }

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
  CheckFeatures(response, spec, checks);
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
  if (spec.features != nullptr) *response.mutable_features() = spec.features->ToProto();
  const Sha256Digest hash = spec.PolicyHash();
  response.set_policy_hash(std::string(AsChars(hash)));
  return response;
}

}  // namespace bandana
