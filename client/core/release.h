// From a decision to its one durable report: what a step of it may come to.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/core/tables.h"
#include "client/core/writer.h"
#include "common/accounting/composition.h"

namespace bandana::device {

enum class Release {
  kDone,          // written: row.report may leave once the transaction is durable
  kAfterCommit,   // a ledger block was debited: nothing drawn, ask again after the commit
  kAlreadyDrawn,  // the decision has its report; the first stands
  kTooLate,       // its window is closed, or it is older than the store's memory
};

// How the event of a draw is paid.
enum class Payment {
  kBlock,    // from the user's durable block; debits the next block when it is empty
  kDebited,  // it was debited when the decision was taken
};

// One release's part of the ledger (Account::event_cost): epsilon where it is pure, else rho, in
// units of PrivacyTotals::kUnit. Errors: INVALID_ARGUMENT it cannot be accounted for.
absl::StatusOr<std::uint64_t> LedgerCost(const PrivacyCost& cost);

// Every report is made behind this check: what a further one of the same decision comes to, or
// nothing when the decision has none yet.
std::optional<Release> ReleasedBefore(Tables& tables, DecisionNumber number);

// Sets the rank that the row's report names and cuts `row.features`, the packed arms of all
// `ranks`, down to the arm shown. A decision made on the device gets a token for that arm alone, in
// which it is the first. Requires that the rank is there.
void ShowArm(int shown, int ranks, int dimension, ReportRow& row);

// Writes the row whose report is drawn: what the draw was made from is erased, and until
// `forget_at` the decision counts as reported.
void FinishRow(Tables& tables, ReportRow& row, absl::Time forget_at);

}  // namespace bandana::device
