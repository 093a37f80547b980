#include "client/core/sealed_rows.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "client/core/row_digest.h"
#include "client/core/secret_bytes.h"
#include "common/base/bytes.h"
#include "common/base/status.h"

namespace bandana::device {
namespace {

std::size_t StoredCells(const TableForm& form) {
  return form.columns.size() + (form.digested.empty() ? 0 : 1);
}

absl::Status Damaged(const TableForm& form) {
  return DataLoss("device store: a row is damaged (", ToAbsl(form.name), ")");
}

bool StaysInClear(const TableForm& form, const std::string& cell) {
  return cell.empty() && form.empty_in_clear;
}

}  // namespace

std::string SealNameOf(Table table, const Record& row) {
  const TableForm& form = FormOf(table);
  std::string name(form.name);
  ByteWriter writer(name);
  for (const int column : form.bound) {
    if (const auto* const integer = std::get_if<std::int64_t>(&row[column])) {
      writer.I64(*integer);
    } else if (const auto* const bytes = std::get_if<std::string>(&row[column])) {
      writer.Block(*bytes);
    }
  }
  return name;
}

std::string RowDigestOf(Table table, const Record& row) {
  RowDigest digest;
  for (const int column : FormOf(table).digested) {
    if (const auto* const integer = std::get_if<std::int64_t>(&row[column])) {
      digest.Add(*integer);
    } else if (const auto* const bytes = std::get_if<std::string>(&row[column])) {
      digest.Add(*bytes);
    }
  }
  return digest.Finish();
}

absl::Status SealedRows::Open(Table table, Record& row) {
  const TableForm& form = FormOf(table);
  if (row.size() != StoredCells(form)) return Damaged(form);
  for (std::size_t i = 0; i < form.columns.size(); ++i) {
    if (row[i].index() != static_cast<std::size_t>(form.columns[i].kind)) return Damaged(form);
  }
  if (!form.digested.empty()) {
    const auto* const digest = std::get_if<std::string>(&row.back());
    if (digest == nullptr || *digest != RowDigestOf(table, row)) return Damaged(form);
    row.pop_back();
  }
  if (form.sealed < 0) return absl::OkStatus();
  std::string& cell = *std::get_if<std::string>(&row[form.sealed]);
  if (StaysInClear(form, cell)) return absl::OkStatus();
  BANDANA_ASSIGN_OR_RETURN(std::string plain, sealer_->Open(SealNameOf(table, row), cell));
  bandana::device::Erase(cell);
  cell = std::move(plain);
  return absl::OkStatus();
}

std::optional<Record> SealedRows::Get(Table table, const Record& key) {
  auto row = rows_->Get(table, key);
  absl::Status read = row.status();
  if (read.ok() && *row) read = Open(table, **row);
  if (read.ok()) return *std::move(row);
  Fail(read);
  return std::nullopt;
}

void SealedRows::Scan(Table table, const ScanRange& range, const Rows::Visit& visit) {
  absl::Status opened;
  const int sealed = FormOf(table).sealed;
  const absl::Status read = rows_->Scan(table, range, [&](Record& row) {
    opened = Open(table, row);
    if (!opened.ok()) return false;
    const bool more = visit(row);
    if (sealed >= 0) bandana::device::Erase(*std::get_if<std::string>(&row[sealed]));
    return more;
  });
  Fail(opened);
  Fail(read);
}

void SealedRows::Put(Table table, Record row) {
  const TableForm& form = FormOf(table);
  if (form.sealed >= 0) {
    std::string& cell = *std::get_if<std::string>(&row[form.sealed]);
    if (!StaysInClear(form, cell)) {
      auto sealed = sealer_->Seal(SealNameOf(table, row), cell);
      bandana::device::Erase(cell);
      if (!sealed.ok()) return Fail(sealed.status());
      cell = *std::move(sealed);
    }
  }
  if (!form.digested.empty()) row.emplace_back(RowDigestOf(table, row));
  Fail(rows_->Put(table, row));
  // A host that seals in its commit has it in clear.
  if (form.sealed >= 0) bandana::device::Erase(*std::get_if<std::string>(&row[form.sealed]));
}

void SealedRows::Erase(Table table, const Record& key) { Fail(rows_->Erase(table, key)); }

void SealedRows::Rollback() {
  rows_->Rollback();
  failure_ = absl::OkStatus();
}

}  // namespace bandana::device
