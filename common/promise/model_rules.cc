#include "common/promise/model_rules.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/promise/privacy_rules.h"
#include "common/promise/window_schedule.h"

namespace bandana {
namespace {

constexpr absl::Duration kRewardWindowMin = absl::Milliseconds(1);
constexpr absl::Duration kRewardWindowMax = absl::Hours(168);
constexpr absl::Duration kTokenLifetimeMin = absl::Seconds(1);
constexpr absl::Duration kTokenLifetimeMax = absl::Hours(720);

bool LowerOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

}  // namespace

void CheckModelName(std::string_view field, std::string_view name, const FieldChecks& checks) {
  const auto legal = [](char c) { return LowerOrDigit(c) || c == '-'; };
  if (name.empty() || name.size() > kModelNameBytesMax || !LowerOrDigit(name[0]) ||
      !std::all_of(name.begin(), name.end(), legal)) {
    checks.Add(field, absl::StrCat("must be 1 to ", kModelNameBytesMax,
                                   " lower-case letters, digits or hyphens and not start with a "
                                   "hyphen, got ",
                                   name.size(), " bytes"));
  }
}

Link CheckLink(v1::Link link, const PublicSpec& spec, const FieldChecks& checks) {
  if (!v1::Link_IsValid(link)) {
    checks.Add("link", absl::StrCat("must be LINEAR or LOGISTIC, got ", static_cast<int>(link)));
  }
  if (link != v1::LOGISTIC) return Link::kLinear;
  if (spec.mode != v1::LOCAL_CONTEXT) {
    checks.Add("link", "LOGISTIC is for mode LOCAL_CONTEXT");
  } else if (spec.reward_range.min < 0 || spec.reward_range.max > 1) {
    checks.Add("link", absl::StrCat("LOGISTIC is for rewards in [0, 1], got [",
                                    spec.reward_range.min, ", ", spec.reward_range.max, "]"));
  }
  return Link::kLogistic;
}

bool CheckOutOfRange(std::string_view field, v1::OutOfRange value, const FieldChecks& checks) {
  if (!v1::OutOfRange_IsValid(value)) {
    checks.Add(field, absl::StrCat("must be CLIP or REJECT, got ", static_cast<int>(value)));
  }
  return value == v1::REJECT;
}

RewardRange CheckRewardRange(double min, double max, const FieldChecks& checks) {
  checks.Closed("reward_min", min, -kRewardAbsMax, kRewardAbsMax);
  checks.Closed("reward_max", max, -kRewardAbsMax, kRewardAbsMax);
  if (std::isfinite(min) && std::isfinite(max) && !(min < max)) {
    checks.Add("reward_max", absl::StrCat("must be above reward_min = ", min, ", got ", max));
  }
  return {.min = min, .max = max};
}

Epsilon CheckEpsilon(double epsilon, bool research, const FieldChecks& checks) {
  const double max = research ? kEpsilonResearchMax : kEpsilonPolicyMax;
  if (!(epsilon > 0 && epsilon <= max)) {
    checks.Add("epsilon",
               absl::StrCat("must be in (0, ", max, "]", research ? "" : " unless research is true",
                            ", got ", epsilon));
  }
  return Epsilon{epsilon};
}

namespace {

void CheckGrace(const v1::RewardWindow& given, v1::Mode mode, RewardWindowSpec& out,
                const FieldChecks& window) {
  if (!IsCentralMode(mode)) {
    if (given.has_grace()) window.Add("grace", "is for modes CENTRAL_REWARD and JOINT");
    return;
  }
  out.grace = given.has_grace()
                  ? window.Span("grace", given.grace(), absl::ZeroDuration(), kGraceMax)
                  : DefaultGrace(out.duration);
}

}  // namespace

void CheckReporting(const v1::Reporting* reporting, PublicSpec& spec, const FieldChecks& checks) {
  if (reporting == nullptr || reporting->rule_case() == v1::Reporting::RULE_NOT_SET) {
    if (IsPrivateMode(spec.mode)) {
      checks.Add("reporting",
                 "is required for a private model: one_per_decision or reward_window, because the "
                 "arrival of a report must not depend on the reward");
    }
    return;
  }
  const FieldChecks inside = checks.Inside("reporting");
  if (reporting->has_one_per_decision()) {
    spec.one_per_decision = reporting->one_per_decision();
    if (!spec.one_per_decision) {
      inside.Add("one_per_decision", "must be true where it is given");
    }
    return;
  }
  const FieldChecks window = inside.Inside("reward_window");
  RewardWindowSpec& out = spec.reward_window.emplace();
  out.default_reward = reporting->reward_window().default_reward();
  if (!reporting->reward_window().has_duration()) {
    window.Add("duration", "is required");
  } else {
    out.duration = window.Span("duration", reporting->reward_window().duration(), kRewardWindowMin,
                               kRewardWindowMax);
  }
  if (spec.reward_range.min < spec.reward_range.max) {
    window.Closed("default_reward", out.default_reward, spec.reward_range.min,
                  spec.reward_range.max);
  }
  CheckGrace(reporting->reward_window(), spec.mode, out, window);
}

void CheckHiddenFeatures(const PublicSpec& spec, const FieldChecks& checks) {
  if (!spec.reject_features || !HidesContexts(spec.mode)) return;
  checks.Add("feature_out_of_range",
             absl::StrCat("must be CLIP for mode ", v1::Mode_Name(spec.mode),
                          ": a rejection would tell about the context"));
}

absl::Duration CheckTokenLifetime(const google::protobuf::Duration& lifetime,
                                  const PublicSpec& spec, const FieldChecks& checks) {
  const absl::Duration value =
      checks.Span("token_lifetime", lifetime, kTokenLifetimeMin, kTokenLifetimeMax);
  if (!spec.reward_window) return value;
  const absl::Duration window = spec.reward_window->duration + spec.reward_window->grace;
  if (value < window) {
    checks.Add("token_lifetime",
               absl::StrCat("must be at least the reward window with its grace, ",
                            absl::FormatDuration(window), ", got ", absl::FormatDuration(value)));
  }
  return value;
}

}  // namespace bandana
