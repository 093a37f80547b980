// The rule by which something becomes an event on the server: each report, or each decision when
// its window closes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "common/promise/public_spec.h"

namespace bandana {

struct EventRule {
  std::string_view name = "report";  // in identities
  std::string window_text = "none";  // in identities
  // How long a decision waits for its reaction; infinite where no window is closed here.
  absl::Duration window = absl::InfiniteDuration();
  // That a report came, when, and what it said is shown nowhere before its decision is an event.
  bool hides_reports = false;
  // From a decision on: then it has become an event, also where it waited for the log, or nobody
  // can report it any more.
  absl::Duration decided_after;
  // How long a deferred decision can be activated: its window must still close within the token's
  // life, and its id is remembered so long. Zero: not at all, as no window is closed here.
  absl::Duration activated_within;
  // The message where a Select is to be deferred and cannot be; empty where it can.
  std::string_view no_deferral;
  // The reward of a decision that nobody reports; nothing where it is no event then.
  std::optional<double> unreported;
};

// Windows of local models close on the device, and their reports are events here.
EventRule EventRuleOf(const PublicSpec& spec);

// Decisions become events when their reward window closes, on this server.
bool ClosesWindows(const PublicSpec& spec);
// Devices close the reward windows: local models that have one.
bool DeviceClosesWindows(const PublicSpec& spec);
// The server can count decisions that no device has reported yet: local models whose decisions it
// numbers.
bool CountsUnreported(const PublicSpec& spec);
// EventRule::hides_reports
bool HidesReports(const PublicSpec& spec);

}  // namespace bandana
