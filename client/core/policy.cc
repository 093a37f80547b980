#include "client/core/policy.h"

#include <algorithm>
#include <limits>

#include "client/core/features.h"
#include "common/base/limits.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/promise/event_rule.h"
#include "common/promise/mode.h"

namespace bandana {

PrivacyPolicy PrivacyPolicy::AcceptAnything() {
  return {.require_local = false,
          .epsilon_max = std::numeric_limits<double>::infinity(),
          .delta_max = 1,
          .require_proven = false,
          .events_per_user_max = 0,
          .allow_research = true};
}

namespace device {
namespace {

absl::Status CheckDuration(const char* name, absl::Duration value, absl::Duration max) {
  if (value > absl::ZeroDuration() && value <= max) return absl::OkStatus();
  return InvalidArgument("options.", name, " must be in (0, ", absl::FormatDuration(max), "], got ",
                         absl::FormatDuration(value));
}

absl::Status CheckCount(const char* name, int value, int max) {
  if (value >= 1 && value <= max) return absl::OkStatus();
  return InvalidArgument("options.", name, " must be in [1, ", max, "], got ", value);
}

absl::Status Weaker(const PublicSpec& spec, const std::string& point) {
  return FailedPrecondition("model ", spec.name,
                            " is weaker than the application's policy: ", point);
}

}  // namespace

absl::Status CheckOptions(const ClientOptions& options) {
  if (options.target.empty()) return InvalidArgument("options.target must not be empty");
  if (options.model.empty() || options.model.size() > kModelNameBytesMax) {
    return InvalidArgument("options.model must have 1 to ", kModelNameBytesMax, " bytes, got ",
                           options.model.size());
  }
  if (!(options.policy.epsilon_max >= 0)) {
    return InvalidArgument("options.policy.epsilon_max must be >= 0, got ",
                           options.policy.epsilon_max);
  }
  if (!(options.policy.delta_max >= 0 && options.policy.delta_max <= 1)) {
    return InvalidArgument("options.policy.delta_max must be in [0, 1], got ",
                           options.policy.delta_max);
  }
  BANDANA_RETURN_IF_ERROR(CheckCount("queue_reports_max", options.queue_reports_max, 1'000'000));
  BANDANA_RETURN_IF_ERROR(
      CheckCount("deliveries_in_flight_max", options.deliveries_in_flight_max, 64));
  BANDANA_RETURN_IF_ERROR(
      CheckCount("reports_per_delivery_max", options.reports_per_delivery_max, kBatchDecisionsMax));
  BANDANA_RETURN_IF_ERROR(
      CheckDuration("select_deadline", options.select_deadline, absl::Seconds(60)));
  BANDANA_RETURN_IF_ERROR(
      CheckDuration("report_deadline", options.report_deadline, absl::Seconds(60)));
  BANDANA_RETURN_IF_ERROR(
      CheckDuration("connect_timeout", options.connect_timeout, absl::Hours(1)));
  BANDANA_RETURN_IF_ERROR(CheckDuration("backoff_max", options.backoff_max, absl::Hours(1)));
  BANDANA_RETURN_IF_ERROR(
      CheckDuration("posterior_interval", options.posterior_interval, absl::Hours(24)));
  if (options.arm_effects_tag.size() > std::size_t{kTagBytesMax}) {
    return InvalidArgument("options.arm_effects_tag must have at most ", kTagBytesMax,
                           " bytes, got ", options.arm_effects_tag.size());
  }
  return CheckDuration("backoff_min", options.backoff_min, options.backoff_max);
}

absl::Status CheckPolicy(const PublicSpec& spec, const PrivacyPolicy& policy) {
  const ModeRow& mode = ModeOf(spec.mode);
  if (policy.require_local && !mode.device_draws) {
    return Weaker(spec, "require_local, but its rewards are not randomized on the device");
  }
  if (spec.research && !policy.allow_research) {
    return Weaker(spec, "it is configured with research: true, and allow_research is false");
  }
  // A model without privacy has no finite epsilon.
  const double epsilon =
      mode.is_private ? spec.epsilon.value : std::numeric_limits<double>::infinity();
  if (!(epsilon <= policy.epsilon_max)) {
    return Weaker(spec, absl::StrCat("epsilon_max is ", policy.epsilon_max, ", its epsilon is ",
                                     epsilon, " per event"));
  }
  if (!(spec.delta.value <= policy.delta_max)) {
    return Weaker(spec, absl::StrCat("delta_max is ", policy.delta_max, ", its delta is ",
                                     spec.delta.value, " per event"));
  }
  if (policy.require_proven && spec.guarantee != "proven") {
    return Weaker(
        spec, absl::StrCat("require_proven, but its guarantee label is \"", spec.guarantee, "\""));
  }
  return absl::OkStatus();
}

absl::Status CheckStore(const PublicSpec& spec, bool durable) {
  if (durable || !ModeOf(spec.mode).device_draws) return absl::OkStatus();
  return FailedPrecondition("model ", spec.name,
                            " is local: its ledger needs a durable store (DeviceStore::Open)");
}

absl::Status CheckLeave(const PublicSpec& spec, ClientOptions::Leave leave) {
  if (leave == ClientOptions::Leave::kWhenDue || DeviceClosesWindows(spec)) return absl::OkStatus();
  return FailedPrecondition(
      "options.leave is kAtStart, which needs a reward window that this device closes: model ",
      spec.name, " is not local, or has none");
}

std::optional<absl::Duration> WindowHere(const PublicSpec& spec) {
  if (!spec.reward_window || !ModeOf(spec.mode).is_private) return std::nullopt;
  return spec.reward_window->duration;
}

std::optional<absl::Duration> ActivatedWithin(const PublicSpec& spec) {
  const EventRule rule = EventRuleOf(spec);
  return rule.window < absl::InfiniteDuration() ? std::optional(rule.activated_within)
                                                : std::nullopt;
}

Arms ArmsToRank(const PublicSpec& spec, const Arms& arms, std::vector<double>& finite) {
  if (!ModeOf(spec.mode).hides_contexts || arms.form != Arms::Form::kInline) return arms;
  finite = ZerosForNonFinite(arms.features, spec.dimension);
  return Arms::Inline(finite);
}

std::string PolicyHashOf(const PublicSpec& spec) {
  const Sha256Digest hash = spec.PolicyHash();
  return std::string(AsChars(hash));
}

std::uint64_t EventsMax(const PublicSpec& spec, const PrivacyPolicy& policy) {
  if (spec.events_per_user_max == 0) return policy.events_per_user_max;
  if (policy.events_per_user_max == 0) return spec.events_per_user_max;
  return std::min(spec.events_per_user_max, policy.events_per_user_max);
}

}  // namespace device
}  // namespace bandana
