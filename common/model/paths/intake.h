// How the events of a model whose server sees them come into its log: each as one entry, or as a
// decision whose window closes later.
#pragma once

#include "absl/status/status.h"
#include "common/model/entries/records.h"
#include "common/model/state/event_path.h"
#include "common/model/state/reward_events.h"

namespace bandana {

class SeenPath;

// Immutable. Threads: safe.
class EventIntake {
 public:
  virtual ~EventIntake() = default;
  virtual absl::Status Decision(const SeenPath& path, const DecisionRecord& record,
                                const Applying& to) const;
  virtual absl::Status Outcome(const SeenPath& path, const OutcomeRecord& record,
                               const Applying& to) const;
  virtual absl::Status Close(const SeenPath& path, const CloseRecord& record,
                             const Applying& to) const;
  virtual absl::Status Shown(const ShownRecord& record, const Applying& to) const;
  // As EventPath::ReportsToCopy.
  virtual absl::StatusOr<WindowValues> ReportsToCopy(
      absl::FunctionRef<absl::StatusOr<WindowValues>()> read) const;
};

// An outcome is an event.
const EventIntake& OnceIntake();
// A decision becomes an event when its window closes, with the reward of the entry that closes it.
const EventIntake& WindowIntake();
// As above for models that are not private: a report may say that another arm than the first was
// shown, and a copy may know what came.
const EventIntake& OpenWindowIntake();

// A path of events that the server sees, raw or noised on the device, one by one.
class SeenPath : public EventPath {
 public:
  // One event, with the reward as the log has it.
  virtual absl::Status Use(const SeenEvent& event, double reward, const Applying& to) const = 0;
  absl::StatusOr<WindowValues> ReportsToCopy(
      absl::FunctionRef<absl::StatusOr<WindowValues>()> read) const final {
    return intake_.ReportsToCopy(read);
  }

 protected:
  SeenPath(PathFacts facts, const EventIntake& intake)
      : EventPath(std::move(facts)), intake_(intake) {}

  absl::Status TakeDecision(const DecisionRecord& record, const Applying& to) const final {
    return intake_.Decision(*this, record, to);
  }
  absl::Status TakeOutcome(const OutcomeRecord& record, const Applying& to) const final {
    return intake_.Outcome(*this, record, to);
  }
  absl::Status TakeClose(const CloseRecord& record, const Applying& to) const final {
    return intake_.Close(*this, record, to);
  }
  absl::Status TakeShown(const ShownRecord& record, const Applying& to) const final {
    return intake_.Shown(record, to);
  }

 private:
  const EventIntake& intake_;
};

}  // namespace bandana
