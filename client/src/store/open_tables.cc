#include "client/src/store/open_tables.h"

#include <utility>
#include <vector>

#include "client/core/cells.h"
#include "client/core/secret_bytes.h"
#include "client/src/store/key_sealer.h"
#include "client/src/store/sqlite_rows.h"
#include "common/base/bytes.h"
#include "common/base/status.h"

namespace bandana::device {
namespace {

std::vector<Record> AllOf(SealedRows& rows, Table table) {
  std::vector<Record> all;
  rows.Scan(table, {}, [&all](const Record& row) {
    all.push_back(row);
    return true;
  });
  return all;
}

// Content was token, features and report. Of a decision in its window it told by its presence, or
// by its state, whether there had been a reaction: none of those is drawn or sent any more. Draws
// of windows are dropped by the client that finds them, as their models' policy hash is another
// one.
absl::Status MigrateReports(SealedRows& former, SealedRows& now) {
  ReportRows reports(&now);
  for (Record& row : AllOf(former, Table::kReports)) {
    const SecretBytes content(TakeBytes(row, 7));
    ByteReader reader(content.get());
    ReportRow report = {.number = IntegerAt(row, 0),
                        .policy = IntegerAt(row, 1),
                        .owner = IntegerAt(row, 2),
                        .state = static_cast<ReportState>(IntegerAt(row, 3)),
                        .wake_at = absl::FromUnixMicros(IntegerAt(row, 4)),
                        .due_at = absl::FromUnixMicros(IntegerAt(row, 5)),
                        .user = BytesAt(row, 6)};
    report.token = std::string(reader.Block());
    report.features = std::string(reader.Block());
    report.report = std::string(reader.Block());
    if (!reader.ok()) return DataLoss("device store: a report row is damaged");
    if (report.state == ReportState::kOpen) {
      reports.Delete(report.number);
    } else {
      reports.Put(report);
    }
  }
  return absl::OkStatus();
}

// One transaction: everything sealed anew, in the format of today.
absl::Status Migrate(SqliteRows& rows, const StoreKeys& keys, const MakeSealer& make_sealer) {
  SealedRows now(&rows, nullptr);
  BANDANA_ASSIGN_OR_RETURN(StoreRow store, StoreRow::Read(now));
  BANDANA_ASSIGN_OR_RETURN(const auto sealer, make_sealer(store.identity));
  now.set_sealer(sealer.get());
  if (keys.former_sealed) BANDANA_RETURN_IF_ERROR(store.CheckKey(*sealer));
  BANDANA_ASSIGN_OR_RETURN(
      const auto former_sealer,
      KeySealer::Create(keys.former_sealed ? keys.key.get() : "", store.identity));
  SealedRows former(&rows, former_sealer.get());
  BANDANA_RETURN_IF_ERROR(MigrateReports(former, now));
  for (const Table table : {Table::kStreams, Table::kSteps}) {
    for (Record& row : AllOf(former, table)) now.Put(table, std::move(row));
  }
  BANDANA_RETURN_IF_ERROR(store.SealKeyCheck(*sealer));
  store.Write(now);
  BANDANA_RETURN_IF_ERROR(former.failure());
  BANDANA_RETURN_IF_ERROR(now.failure());
  rows.UpgradeWithNextCommit();
  absl::Status committed;
  rows.Commit([&committed](const absl::Status& status) { committed = status; });
  return committed;
}

}  // namespace

absl::StatusOr<OpenedTables> OpenTables(std::unique_ptr<Database> database, const StoreKeys& keys) {
  Database& opened = *database;
  BANDANA_ASSIGN_OR_RETURN(auto rows, SqliteRows::Create(std::move(database)));
  const MakeSealer make_sealer = [&keys](std::string_view identity) {
    return KeySealer::Create(keys.key.get(), identity);
  };
  if (keys.former) {
    BANDANA_RETURN_IF_ERROR(Migrate(*rows, keys, make_sealer));
    opened.Scrub();
  }
  SqliteRows* const of_file = rows.get();
  BANDANA_ASSIGN_OR_RETURN(auto tables, Tables::Create(std::move(rows), make_sealer));
  return OpenedTables{std::move(tables), of_file};
}

}  // namespace bandana::device
