#include "client/core/store_row.h"

#include "client/core/cells.h"
#include "client/core/handle.h"
#include "common/base/status.h"

namespace bandana::device {
namespace {

constexpr std::int64_t kId = 1;
constexpr std::int64_t kRunsMax = std::int64_t{1} << 31;

}  // namespace

absl::StatusOr<StoreRow> StoreRow::Read(SealedRows& rows) {
  const auto row = rows.Get(Table::kStore, {kId});
  BANDANA_RETURN_IF_ERROR(rows.failure());
  if (!row || BytesAt(*row, 1).size() != kIdentityBytes) {
    return DataLoss("device store: no identity");
  }
  const std::int64_t run = IntegerAt(*row, 2);
  if (run < 0 || run >= kRunsMax) return DataLoss("device store: its number of runs is damaged");
  return StoreRow{.identity = BytesAt(*row, 1),
                  .run = run,
                  .forgotten = IntegerAt(*row, 3),
                  .position = CountAt(*row, 4),
                  .lost_events = CountAt(*row, 5),
                  .lost_streams = CountAt(*row, 6),
                  .ledger_base = IntegerAt(*row, 7),
                  .ledger_base_hash = BytesAt(*row, 8),
                  .key_check = BytesAt(*row, 9)};
}

void StoreRow::Write(SealedRows& rows) const {
  rows.Put(Table::kStore,
           {kId, identity, run, forgotten, CountCell(position), CountCell(lost_events),
            CountCell(lost_streams), ledger_base, ledger_base_hash, key_check});
}

absl::Status StoreRow::SealKeyCheck(Sealer& sealer) {
  BANDANA_ASSIGN_OR_RETURN(key_check, sealer.Seal(kKeyCheck, kKeyCheck));
  return absl::OkStatus();
}

absl::Status StoreRow::CheckKey(Sealer& sealer) const {
  if (sealer.Open(kKeyCheck, key_check).ok()) return absl::OkStatus();
  return FailedPrecondition("device store: the key is not the one it was sealed with");
}

}  // namespace bandana::device
