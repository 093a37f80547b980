#include "common/model/paths/intake.h"

#include <cmath>

#include "common/base/status.h"
#include "common/model/state/model_state.h"

namespace bandana {

absl::Status EventIntake::Decision(const SeenPath&, const DecisionRecord&, const Applying&) const {
  return NoSuchEntry("a decision");
}
absl::Status EventIntake::Outcome(const SeenPath&, const OutcomeRecord&, const Applying&) const {
  return NoSuchEntry("an outcome");
}
absl::Status EventIntake::Close(const SeenPath&, const CloseRecord&, const Applying&) const {
  return NoSuchEntry("a window's end");
}
absl::Status EventIntake::Shown(const ShownRecord&, const Applying&) const {
  return NoSuchEntry("a shown arm");
}
absl::StatusOr<WindowValues> EventIntake::ReportsToCopy(
    absl::FunctionRef<absl::StatusOr<WindowValues>()>) const {
  return WindowValues();
}

namespace {

class Once final : public EventIntake {
 public:
  absl::Status Outcome(const SeenPath& path, const OutcomeRecord& record,
                       const Applying& to) const override {
    BANDANA_ASSIGN_OR_RETURN(const int node, path.NodeOf(record.event.node, record.event.user, to));
    return path.Use({.node = node,
                     .features = record.event.features.bytes(),
                     .keys = record.event.keys.bytes(),
                     .variance = record.variance},
                    record.reward, to);
  }
};

class Windows : public EventIntake {
 public:
  absl::Status Decision(const SeenPath& path, const DecisionRecord& record,
                        const Applying& to) const override {
    const EventRecord& event = record.event;
    OpenWindows& windows = to.state.windows;
    if (windows.Find(event.id) != nullptr) return DataLoss("a decision is open twice");
    BANDANA_ASSIGN_OR_RETURN(const int node, path.NodeOf(event.node, event.user, to));
    windows.Open({record.close, to.position.sequence},
                 {.id = event.id,
                  .node = node,
                  .features = std::string(event.features.bytes()),
                  .keys = std::string(event.keys.bytes())});
    return absl::OkStatus();
  }

  absl::Status Outcome(const SeenPath&, const OutcomeRecord&, const Applying&) const override {
    return FormerWindows();
  }

  absl::Status Close(const SeenPath& path, const CloseRecord& record,
                     const Applying& to) const override {
    OpenWindows& windows = to.state.windows;
    const absl::Time through = record.early ? absl::InfiniteFuture() : record.now;
    for (const ClosedWindow& closed : record.windows) {
      const auto due = windows.TakeDue(through);
      if (!due || due->second.id != closed.id || !std::isfinite(closed.reward)) {
        return DataLoss("windows close that are not the next ones");
      }
      const OpenWindow& window = due->second;
      if (window.node < 0) continue;  // its user was deleted
      BANDANA_RETURN_IF_ERROR(
          path.Use({.node = window.node, .features = window.features, .keys = window.keys},
                   closed.reward, to));
    }
    const bool all = record.windows.size() < kClosedWindowsMax;
    if (all && windows.next_close() <= through && !windows.empty()) {
      return DataLoss("a window does not close with the others");
    }
    return absl::OkStatus();
  }
};

class OpenlyWindows final : public Windows {
 public:
  absl::Status Shown(const ShownRecord& record, const Applying& to) const override {
    OpenWindow* const window = to.state.windows.Find(record.id);
    if (window == nullptr) return DataLoss("an arm was shown in no decision that is open");
    window->features = record.features.bytes();
    window->keys = record.keys.bytes();
    return absl::OkStatus();
  }
  absl::StatusOr<WindowValues> ReportsToCopy(
      absl::FunctionRef<absl::StatusOr<WindowValues>()> read) const override {
    return read();
  }
};

}  // namespace

const EventIntake& OnceIntake() {
  static const Once intake;
  return intake;
}
const EventIntake& WindowIntake() {
  static const Windows intake;
  return intake;
}
const EventIntake& OpenWindowIntake() {
  static const OpenlyWindows intake;
  return intake;
}

}  // namespace bandana
