#include "common/design/event_rule.h"

#include "common/design/mode.h"

namespace bandana {

EventRule EventRuleOf(const PublicSpec& spec) {
  if (!ClosesWindows(spec)) return {};
  const absl::Duration window = spec.reward_window->duration;
  return {.name = "window",
          .window_text = absl::FormatDuration(window),
          .window = window,
          .hides_reports = IsPrivateMode(spec.mode)};
}

bool ClosesWindows(const PublicSpec& spec) {
  return spec.reward_window.has_value() && !IsLocalMode(spec.mode);
}

bool HidesReports(const PublicSpec& spec) { return EventRuleOf(spec).hides_reports; }

}  // namespace bandana
