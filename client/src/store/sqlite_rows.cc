#include "client/src/store/sqlite_rows.h"

#include <string>
#include <utility>

#include "client/src/store/schema.h"
#include "common/base/status.h"

namespace bandana::device {
namespace {

// `name`, 1-based parameters: "a, b", "?1, ?2", "a = ?1 AND b = ?2".
struct Texts {
  std::string columns, parameters, updates, key, order;
};

void Append(std::string& text, const char* separator, const std::string& part) {
  if (!text.empty()) text += separator;
  text += part;
}

Texts TextsOf(const TableForm& form) {
  Texts texts;
  const int columns = static_cast<int>(form.columns.size());
  for (int i = 0; i <= columns; ++i) {
    if (i == columns && form.digested.empty()) break;
    const std::string name(i == columns ? "digest" : form.columns[i].name);
    const std::string parameter = absl::StrCat("?", i + 1);
    Append(texts.columns, ", ", name);
    Append(texts.parameters, ", ", parameter);
    if (i < form.keys) {
      Append(texts.key, " AND ", absl::StrCat(name, " = ", parameter));
      Append(texts.order, ", ", name);
    } else {
      Append(texts.updates, ", ", absl::StrCat(name, " = excluded.", name));
    }
  }
  return texts;
}

void Bind(Statement& statement, const Record& cells) {
  int index = 0;
  for (const Cell& cell : cells) {
    ++index;
    if (const auto* const integer = std::get_if<std::int64_t>(&cell)) {
      statement.Bind(index, *integer);
    } else if (const auto* const real = std::get_if<double>(&cell)) {
      statement.Bind(index, *real);
    } else {
      statement.BindBlob(index, *std::get_if<std::string>(&cell));
    }
  }
}

Record ReadRow(const TableForm& form, const Statement& row) {
  Record record;
  record.reserve(form.columns.size() + 1);
  int index = 0;
  for (const Column& column : form.columns) {
    switch (column.kind) {
      case Column::Kind::kInteger:
        record.emplace_back(row.Int(index));
        break;
      case Column::Kind::kReal:
        record.emplace_back(row.Real(index));
        break;
      case Column::Kind::kBytes:
        record.emplace_back(std::string(row.Blob(index)));
        break;
    }
    ++index;
  }
  if (!form.digested.empty()) record.emplace_back(std::string(row.Blob(index)));
  return record;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteRows>> SqliteRows::Create(std::unique_ptr<Database> database) {
  std::unique_ptr<SqliteRows> rows(new SqliteRows(std::move(database)));
  BANDANA_RETURN_IF_ERROR(rows->database_->Execute(SqlOfKeptTable()));
  for (int table = 0; table < kTables; ++table) {
    // A file with our mark but other tables is not ours.
    if (const absl::Status made = rows->Prepare(static_cast<Table>(table)); !made.ok()) {
      return DataLoss("device store: tables differ from format ", kSchemaVersion, ": ",
                      made.message());
    }
  }
  return rows;
}

SqliteRows::~SqliteRows() { Rollback(); }

absl::Status SqliteRows::Prepare(Table table) {
  const TableForm& form = FormOf(table);
  const std::string name(form.name);
  const Texts texts = TextsOf(form);
  const struct {
    Statement* statement;
    std::string sql;
  } all[] = {
      {&Of(table).get, "SELECT " + texts.columns + " FROM " + name + " WHERE " + texts.key},
      {&Of(table).put, "INSERT INTO " + name + "(" + texts.columns + ") VALUES (" +
                           texts.parameters + ") ON CONFLICT (" + texts.order + ") DO UPDATE SET " +
                           texts.updates},
      {&Of(table).erase, "DELETE FROM " + name + " WHERE " + texts.key},
  };
  for (const auto& entry : all) {
    BANDANA_ASSIGN_OR_RETURN(*entry.statement, database_->Prepare(entry.sql.c_str()));
  }
  return absl::OkStatus();
}

absl::StatusOr<Statement*> SqliteRows::ScanStatement(Table table, const ScanRange& range) {
  Statement& statement = Of(table).scans[{range.prefix.size(), range.after.has_value()}];
  if (statement.made()) return &statement;
  const TableForm& form = FormOf(table);
  const Texts texts = TextsOf(form);
  std::string where;
  std::size_t cells = 0;
  for (; cells < range.prefix.size(); ++cells) {
    Append(where, " AND ", absl::StrCat(ToAbsl(form.columns[cells].name), " = ?", cells + 1));
  }
  if (range.after) {
    Append(where, " AND ", absl::StrCat(ToAbsl(form.columns[cells].name), " > ?", cells + 1));
  }
  const std::string sql = "SELECT " + texts.columns + " FROM " + std::string(form.name) +
                          (where.empty() ? "" : " WHERE " + where) + " ORDER BY " + texts.order;
  BANDANA_ASSIGN_OR_RETURN(statement, database_->Prepare(sql.c_str()));
  return &statement;
}

absl::Status SqliteRows::Outcome() {
  absl::Status outcome = database_->failure();
  database_->ClearFailure();
  return outcome;
}

// After a failed sync nobody knows what is on the disk.
absl::Status SqliteRows::Usable() const {
  return database_->broken() ? Unavailable("device store: I/O failed before; open it anew")
                             : absl::OkStatus();
}

absl::Status SqliteRows::Begin() {
  BANDANA_RETURN_IF_ERROR(Usable());
  if (begun_) return absl::OkStatus();
  BANDANA_RETURN_IF_ERROR(database_->Execute("BEGIN IMMEDIATE"));
  begun_ = true;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Record>> SqliteRows::Get(Table table, const Record& key) {
  BANDANA_RETURN_IF_ERROR(Usable());
  Statement& get = Of(table).get;
  Bind(get, key);
  std::optional<Record> row;
  if (get.Step()) row = ReadRow(FormOf(table), get);
  get.Reset();
  BANDANA_RETURN_IF_ERROR(Outcome());
  return row;
}

absl::Status SqliteRows::Scan(Table table, const ScanRange& range, const Visit& visit) {
  BANDANA_RETURN_IF_ERROR(Usable());
  BANDANA_ASSIGN_OR_RETURN(Statement* const scan, ScanStatement(table, range));
  Record cells = range.prefix;
  if (range.after) cells.emplace_back(*range.after);
  Bind(*scan, cells);
  while (scan->Step()) {
    Record row = ReadRow(FormOf(table), *scan);
    if (!visit(row)) break;
  }
  scan->Reset();
  return Outcome();
}

absl::Status SqliteRows::Put(Table table, const Record& row) { return Write(Of(table).put, row); }

absl::Status SqliteRows::Erase(Table table, const Record& key) {
  return Write(Of(table).erase, key);
}

absl::Status SqliteRows::Write(Statement& statement, const Record& cells) {
  BANDANA_RETURN_IF_ERROR(Begin());
  Bind(statement, cells);
  statement.Run();
  return Outcome();
}

absl::Status SqliteRows::End() {
  BANDANA_RETURN_IF_ERROR(Usable());
  if (!begun_) return absl::OkStatus();
  if (upgrade_) {
    BANDANA_RETURN_IF_ERROR(
        database_->Execute(absl::StrCat("PRAGMA user_version=", kSchemaVersion).c_str()));
  }
  BANDANA_RETURN_IF_ERROR(database_->Execute("COMMIT"));
  begun_ = upgrade_ = false;
  return absl::OkStatus();
}

void SqliteRows::Commit(Committed committed) {
  committed(ended_ ? *std::exchange(ended_, std::nullopt) : End());
}

// Also after a failed COMMIT: SQLite may or may not have rolled back by itself.
void SqliteRows::Rollback() {
  if (begun_) database_->Execute("ROLLBACK").IgnoreError();
  begun_ = false;
  database_->ClearFailure();
}

}  // namespace bandana::device
