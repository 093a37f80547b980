// From a report to the record that asks for entry into the log, or the reason why there is none.
#pragma once

#include <memory>
#include <optional>
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
  // default reward; nothing where it closes none. Requires arms.
  virtual std::optional<std::string> OpeningOf(const Decision&) const { return std::nullopt; }
};

// What a model takes: one kind of report.
template <typename Reported>
using CheckOf = std::unique_ptr<const ReportCheck<Reported>>;
using Intake =
    std::variant<CheckOf<ReportedOutcome>, CheckOf<ReportedCounter>, CheckOf<ReportedContext>>;

std::optional<std::string> OpeningOf(const Intake& intake, const Decision& decision);

// `spec` must outlive it.
Intake MakeIntake(const ModelSpec& spec);

// One per ReportForm.
CheckOf<ReportedOutcome> MakeRewardCheck(const ModelSpec& spec);
CheckOf<ReportedOutcome> MakeOutputCheck(const ModelSpec& spec);
CheckOf<ReportedCounter> MakeCounterCheck(const ModelSpec& spec);
CheckOf<ReportedContext> MakeContextCheck(const ModelSpec& spec);

}  // namespace bandana::server
