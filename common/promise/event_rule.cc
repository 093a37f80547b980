#include "common/promise/event_rule.h"

#include <algorithm>

#include "common/promise/mode.h"

namespace bandana {
namespace {

constexpr absl::Duration kLogWait = absl::Minutes(10);  // of a decision for its place in the log

constexpr std::string_view kClosedOnDevice =
    "the model's reward windows close on the device: its decisions are deferred there, by the SDK";
constexpr std::string_view kNoWindow =
    "the model has no reporting.reward_window: a decision counts when its report comes, and one "
    "that is not shown is not reported";

}  // namespace

EventRule EventRuleOf(const PublicSpec& spec) {
  if (!ClosesWindows(spec)) {
    return {.decided_after = spec.token_lifetime,
            .no_deferral = spec.reward_window ? kClosedOnDevice : kNoWindow};
  }
  const absl::Duration window = spec.reward_window->duration;
  const absl::Duration open = window + spec.reward_window->grace;
  return {.name = "window",
          .window_text = absl::FormatDuration(window),
          .window = window,
          .hides_reports = IsPrivateMode(spec.mode),
          .decided_after = open + kLogWait,
          .activated_within = std::min(open + kLogWait / 2, spec.token_lifetime - open),
          .unreported = spec.default_reward()};
}

bool ClosesWindows(const PublicSpec& spec) {
  return spec.reward_window.has_value() && !IsLocalMode(spec.mode);
}

bool DeviceClosesWindows(const PublicSpec& spec) {
  return spec.reward_window.has_value() && IsLocalMode(spec.mode);
}

bool CountsUnreported(const PublicSpec& spec) {
  const ModeRow& mode = ModeOf(spec.mode);
  return mode.device_draws && mode.numbers_decisions;
}

bool HidesReports(const PublicSpec& spec) { return EventRuleOf(spec).hides_reports; }

}  // namespace bandana
