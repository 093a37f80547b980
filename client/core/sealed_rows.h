// Rows as the device's code sees them: private columns in clear, damage found, one look for
// failures a transaction.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "client/core/rows.h"
#include "client/core/sealer.h"

namespace bandana::device {

// The data that a row's sealed column is bound to beside the store.
std::string SealNameOf(Table table, const Record& row);
// Over the stored bytes, sealed or not: a digest of what a seal hides would give it away.
std::string RowDigestOf(Table table, const Record& row);

// Seals, opens and digests what the tables' forms say. The first failure of a transaction is kept,
// so that a caller looks once per transaction. Threads: not thread-safe.
class SealedRows {
 public:
  // Both outlive it. `sealer` null: no sealed column is read or written yet.
  SealedRows(Rows* rows, Sealer* sealer) : rows_(rows), sealer_(sealer) {}
  void set_sealer(Sealer* sealer) { sealer_ = sealer; }

  // None when there is no such row, or none that is sound: then a failure is kept.
  std::optional<Record> Get(Table table, const Record& key);
  void Scan(Table table, const ScanRange& range, const Rows::Visit& visit);
  // The private cell is erased once it is sealed.
  void Put(Table table, Record row);
  void Erase(Table table, const Record& key);
  void NoteErasure() { rows_->NoteErasure(); }
  void Commit(Rows::Committed committed) { rows_->Commit(std::move(committed)); }
  // Forgets the failure as well.
  void Rollback();

  const absl::Status& failure() const { return failure_; }
  // Keeps a failure: the transaction will be rolled back.
  void Fail(const absl::Status& failure) {
    if (failure_.ok()) failure_ = failure;
  }

 private:
  // From the stored form, in place. Errors: DATA_LOSS.
  absl::Status Open(Table table, Record& row);

  Rows* const rows_;
  Sealer* sealer_;
  absl::Status failure_;
};

}  // namespace bandana::device
