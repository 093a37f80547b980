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

Link CheckLink(std::int32_t link, const PublicSpec& spec, const FieldChecks& checks) {
  constexpr std::int32_t kLogistic = 2;
  if (link < 0 || link > kLogistic) {
    checks.Add("link", absl::StrCat("must be LINEAR or LOGISTIC, got ", link));
  }
  if (link != kLogistic) return Link::kLinear;
  if (spec.mode != Mode::kLocalContext) {
    checks.Add("link", "LOGISTIC is for mode LOCAL_CONTEXT");
  } else if (spec.reward_range.min < 0 || spec.reward_range.max > 1) {
    checks.Add("link", absl::StrCat("LOGISTIC is for rewards in [0, 1], got [",
                                    spec.reward_range.min, ", ", spec.reward_range.max, "]"));
  }
  return Link::kLogistic;
}

bool CheckOutOfRange(std::string_view field, std::int32_t value, const FieldChecks& checks) {
  constexpr std::int32_t kReject = 2;
  if (value < 0 || value > kReject) {
    checks.Add(field, absl::StrCat("must be CLIP or REJECT, got ", value));
  }
  return value == kReject;
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

void CheckGrace(const wire::RewardWindow& given, Mode mode, RewardWindowSpec& out,
                const FieldChecks& window) {
  if (!IsCentralMode(mode)) {
    if (given.grace) window.Add("grace", "is for modes CENTRAL_REWARD and JOINT");
    return;
  }
  out.grace = given.grace ? window.Span("grace", *given.grace, absl::ZeroDuration(), kGraceMax)
                          : DefaultGrace(out.duration);
}

}  // namespace

void CheckReporting(const std::optional<wire::Reporting>& reporting, PublicSpec& spec,
                    const FieldChecks& checks) {
  if (!reporting || (!reporting->one_per_decision && !reporting->reward_window)) {
    if (IsPrivateMode(spec.mode)) {
      checks.Add("reporting",
                 "is required for a private model: one_per_decision or reward_window, because the "
                 "arrival of a report must not depend on the reward");
    }
    return;
  }
  const FieldChecks inside = checks.Inside("reporting");
  if (reporting->one_per_decision) {
    spec.one_per_decision = *reporting->one_per_decision;
    if (!spec.one_per_decision) {
      inside.Add("one_per_decision", "must be true where it is given");
    }
    return;
  }
  const wire::RewardWindow& given = *reporting->reward_window;
  const FieldChecks window = inside.Inside("reward_window");
  RewardWindowSpec& out = spec.reward_window.emplace();
  out.default_reward = given.default_reward;
  if (!given.duration) {
    window.Add("duration", "is required");
  } else {
    out.duration = window.Span("duration", *given.duration, kRewardWindowMin, kRewardWindowMax);
  }
  if (spec.reward_range.min < spec.reward_range.max) {
    window.Closed("default_reward", out.default_reward, spec.reward_range.min,
                  spec.reward_range.max);
  }
  CheckGrace(given, spec.mode, out, window);
}

std::optional<absl::Duration> GraceOf(const PublicSpec& spec) {
  if (!spec.reward_window || !IsCentralMode(spec.mode)) return std::nullopt;
  return spec.reward_window->grace;
}

void CheckHiddenFeatures(const PublicSpec& spec, const FieldChecks& checks) {
  if (!spec.reject_features || !HidesContexts(spec.mode)) return;
  checks.Add("feature_out_of_range", absl::StrCat("must be CLIP for mode ", ModeName(spec.mode),
                                                  ": a rejection would tell about the context"));
}

absl::Duration CheckTokenLifetime(const wire::Duration& lifetime, const PublicSpec& spec,
                                  const FieldChecks& checks) {
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
