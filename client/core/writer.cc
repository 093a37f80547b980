#include "client/core/writer.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana::device {

void Writer::Write(std::vector<Entry> entries, const ReadTime& read_time, Answered answered) {
  BANDANA_CHECK(!busy_);
  busy_ = true;
  SealedRows& rows = tables_->rows();
  Transaction transaction{*tables_, ledger_};
  absl::Status failure = broken_;
  for (auto entry = entries.begin(); failure.ok() && entry != entries.end(); ++entry) {
    entry->status = entry->operation(transaction);
    failure = rows.failure();
  }
  // A reaction alone keeps no time: when it came must not be seen.
  const bool seen =
      std::any_of(entries.begin(), entries.end(), [](const Entry& e) { return !e.reaction; });
  if (const auto time = read_time(); failure.ok() && seen && time) tables_->KeepTime(*time);
  if (failure.ok()) {
    tables_->SavePosition();
    failure = rows.failure();
  }
  if (!failure.ok()) return Finish(entries, answered, std::move(failure));
  struct Open {
    std::vector<Entry> entries;
    Answered answered;
    bool is_answered = false;
  };
  const auto open = std::make_shared<Open>(Open{std::move(entries), std::move(answered)});
  rows.Commit([this, open](const absl::Status& committed) {
    if (!std::exchange(open->is_answered, true)) Finish(open->entries, open->answered, committed);
  });
}

void Writer::Finish(std::vector<Entry>& entries, const Answered& answered, absl::Status failure) {
  if (failure.ok()) {
    ledger_.Committed();
  } else {
    ledger_.RolledBack();
    tables_->rows().Rollback();
    if (broken_.ok() && !tables_->Reload().ok()) {
      broken_ = Unavailable("device store: I/O failed before; open it anew");
    }
  }
  busy_ = false;
  answered(failure.ok());
  for (Entry& entry : entries) {
    if (entry.committed) entry.committed(failure.ok() ? std::move(entry.status) : failure);
  }
}

}  // namespace bandana::device
