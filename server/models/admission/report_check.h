// From a report to the record that asks for entry into the log, or the reason why there is none.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "absl/time/time.h"
#include "bandana/v1/recommender.pb.h"
#include "common/design/model_spec.h"
#include "common/model/entries/report.h"
#include "server/models/admission/report_totals.h"

namespace bandana::server {

// A report that may ask for entry into the log.
struct CheckedReport {
  std::string request;  // the record that asks
  CountedReport counted;
};

// The check of one kind of report: all of it that does not depend on the log. Threads: safe.
template <typename Reported>
class ReportCheck {
 public:
  virtual ~ReportCheck() = default;
  virtual std::variant<CheckedReport, v1::RejectReason> Check(const Reported& report,
                                                              absl::Time now) const = 0;
  // The record that asks for the event of a decision whose window the server closes, with the
  // default reward, its window open from `shown` on; nothing where it closes none. Requires arms.
  virtual std::optional<std::string> OpeningOf(const Decision&, absl::Time /*shown*/) const {
    return std::nullopt;
  }
};

// The check of the one kind of report that a model takes.
template <typename Reported>
using CheckOf = std::unique_ptr<const ReportCheck<Reported>>;
using Intake =
    std::variant<CheckOf<ReportedOutcome>, CheckOf<ReportedCounter>, CheckOf<ReportedContext>>;

// Asks for the events of all slots of a decision, at least one, or of none. `shown`: when its
// window opens; absent: at the decision.
std::optional<std::string> OpeningOf(const Intake& intake, std::span<const Decision> slots,
                                     std::optional<absl::Time> shown = std::nullopt);

// `spec` must outlive it.
Intake MakeIntake(const ModelSpec& spec);

// Checks rewards, and the outputs that devices drew for them.
CheckOf<ReportedOutcome> MakeOutcomeCheck(const ModelSpec& spec);
CheckOf<ReportedCounter> MakeCounterCheck(const ModelSpec& spec);
CheckOf<ReportedContext> MakeContextCheck(const ModelSpec& spec);

}  // namespace bandana::server
