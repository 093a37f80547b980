#include "client/core/writer.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana::device {

std::shared_ptr<Writer::Group> Writer::Begin(std::vector<Entry> entries,
                                             const ReadTime& read_time) {
  BANDANA_CHECK(!busy_);
  busy_ = true;
  for (const Entry& entry : entries) {
    if (entry.before) entry.before();
  }
  auto group = std::make_shared<Group>();
  // A reaction alone keeps no time: when it came must not be seen.
  const bool seen =
      std::any_of(entries.begin(), entries.end(), [](const Entry& e) { return !e.reaction; });
  if (seen) group->time = read_time();
  group->entries = std::move(entries);
  group->failure = broken_;
  return group;
}

void Writer::Run(Group& group) {
  if (!group.failure.ok()) return;
  const SealedRows& rows = tables_->rows();
  Transaction transaction{*tables_, ledger_, group.after};
  for (Entry& entry : group.entries) {
    entry.status = entry.operation(transaction);
    if (!rows.failure().ok()) break;
  }
  if (rows.failure().ok() && group.time) tables_->KeepTime(*group.time);
  if (rows.failure().ok()) tables_->SavePosition();
  group.failure = rows.failure();
}

void Writer::Commit(const std::shared_ptr<Group>& group, Answered answered) {
  if (!group->failure.ok()) return Finish(*group, answered, group->failure);
  tables_->rows().Commit(
      [this, group, answered = std::move(answered)](const absl::Status& committed) {
        if (!std::exchange(group->is_answered, true)) Finish(*group, answered, committed);
      });
}

void Writer::Finish(Group& group, const Answered& answered, absl::Status failure) {
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
  for (const auto& task : group.after) task();
  for (Entry& entry : group.entries) {
    if (entry.committed) entry.committed(failure.ok() ? std::move(entry.status) : failure);
  }
}

}  // namespace bandana::device
