// The public part of a model: from its message, and its hash.
#include "common/promise/public_spec.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/promise/features_policy.h"
#include "common/promise/field_checks.h"
#include "common/promise/mechanism.h"
#include "common/promise/model_message.h"
#include "common/promise/model_rules.h"
#include "common/promise/policy_text.h"
#include "common/promise/privacy_rules.h"

namespace bandana {
namespace {

void CheckPrivacy(const wire::Model& model, PublicSpec& spec, const FieldChecks& checks) {
  spec.mode = Mode{model.mode};
  spec.mechanism = MechanismId{model.mechanism};
  spec.unit_of_privacy = model.unit_of_privacy;
  spec.guarantee = model.guarantee;
  spec.events_per_user_max = model.events_per_user_max;
  spec.research = model.research;
  CheckPolicyOfMode(model, spec, checks);
}

// The device's own design: where the server's differs, the hash does.
void MakeHere(PublicSpec& spec, const FieldChecks& checks) {
  auto made = MakeMechanism(spec);
  if (!made.ok()) return checks.Add("mechanism", std::string(made.status().message()));
  spec.made = *std::move(made);
  spec.context = spec.made->agreed();
}

// Ranges and consistency of fields, from a message or from a text.
absl::StatusOr<PublicSpec> CheckFields(const wire::Model& model) {
  std::vector<ConfigError> errors;
  const FieldChecks checks(errors);
  PublicSpec spec;
  spec.name = model.model;
  CheckModelName("model", spec.name, checks);
  spec.dimension = static_cast<int>(
      checks.Count("dimension", model.dimension, 1, DimensionMax(MechanismId{model.mechanism})));
  spec.feature_l2_max = checks.Positive("feature_l2_max", model.feature_l2_max, kScaleMax);
  spec.reject_features =
      CheckOutOfRange("feature_out_of_range", model.feature_out_of_range, checks);
  spec.reward_range = CheckRewardRange(model.reward_min, model.reward_max, checks);
  spec.reward_binary = model.reward_binary;
  CheckPrivacy(model, spec, checks);
  CheckHiddenFeatures(spec, checks);
  CheckFeatures(model, spec, checks);
  spec.link = CheckLink(model.link, spec, checks);
  CheckReporting(model.reporting, spec, checks);
  spec.token_lifetime = CheckTokenLifetime(model.token_lifetime, spec, checks);
  if (errors.empty()) MakeHere(spec, checks);
  BANDANA_RETURN_IF_ERROR(ToStatus(errors));
  return spec;
}

absl::Status Refused(std::string_view field, const PublicSpec& spec, std::string_view why) {
  return FailedPrecondition(ToAbsl(field), " of model ", spec.name, " ", ToAbsl(why));
}

absl::StatusOr<PublicSpec> FromText(const wire::Model& message) {
  const Sha256Digest hash = Sha256Of(message.policy_text);
  if (AsChars(hash) != message.policy_hash) {
    return FailedPrecondition("policy_hash is not the SHA-256 of policy_text");
  }
  BANDANA_ASSIGN_OR_RETURN(const PolicyLines lines, ReadPolicyText(message.policy_text));
  BANDANA_ASSIGN_OR_RETURN(PublicSpec spec, CheckFields(lines.model));
  const std::string unlike = FieldUnlikeText(message, lines.model);
  if (!unlike.empty()) return Refused(unlike, spec, "is not what policy_text says");
  if (spec.context != lines.context) {
    return Refused("context_parameters", spec, "are not those that this device derives");
  }
  if (message.table_digest != spec.made->TableDigest()) {
    return Refused("table_digest", spec, "is not of the table that this device draws by");
  }
  spec.agreed_hash = hash;
  return spec;
}

// A server from before policy_text.
absl::StatusOr<PublicSpec> FromFields(const wire::Model& message) {
  BANDANA_ASSIGN_OR_RETURN(PublicSpec spec, CheckFields(message));
  const std::string text = PolicyText(spec);
  if (text.empty())
    return Refused("policy_text", spec, "is missing: this device prints no numbers");
  const Sha256Digest hash = Sha256Of(text);
  if (AsChars(hash) != message.policy_hash) {
    return Refused("policy_hash", spec, "does not match the configuration it came with");
  }
  return spec;
}

}  // namespace

Sha256Digest PublicSpec::PolicyHash() const {
  return agreed_hash ? *agreed_hash : Sha256Of(PolicyText(*this));
}

absl::StatusOr<PublicSpec> ParsePublicSpec(const wire::Model& model) {
  auto spec = model.policy_text.empty() ? FromFields(model) : FromText(model);
  if (spec.ok()) return spec;
  return Annotate(spec.status(), "model configuration from the server");
}

absl::StatusOr<PublicSpec> ParsePublicSpec(std::string_view message) {
  wire::Model model;
  if (wire::Merge(message, model)) return ParsePublicSpec(model);
  return InvalidArgument("model configuration from the server: not a message");
}

}  // namespace bandana
