#include "client/abi/src/mirrored_rows.h"

#include <algorithm>
#include <string>

#include "client/core/sealed_rows.h"
#include "client/core/secret_bytes.h"
#include "common/base/status.h"

namespace bandana::abi {
namespace {

using device::Record;
using device::Table;

void EraseCells(Record& row) {
  for (device::Cell& cell : row) {
    if (auto* const bytes = std::get_if<std::string>(&cell)) device::Erase(*bytes);
  }
}

Record KeyOf(Table table, const Record& row) {
  return {row.begin(), row.begin() + device::FormOf(table).keys};
}

}  // namespace

MirroredRows::~MirroredRows() {
  Forget();
  for (Content& content : content_) {
    for (auto& [key, row] : content) EraseCells(row);
  }
}

absl::Status MirroredRows::Load(Table table, Record row) {
  Record key = KeyOf(table, row);
  const device::TableForm& form = device::FormOf(table);
  if (!form.digested.empty()) row.emplace_back(device::RowDigestOf(table, row));
  if (Of(table).try_emplace(std::move(key), std::move(row)).second) return absl::OkStatus();
  EraseCells(row);
  return InvalidArgument("cells: table ", ToAbsl(form.name), " has a row of this key already");
}

bool MirroredRows::empty() const {
  return std::all_of(content_.begin(), content_.end(),
                     [](const Content& content) { return content.empty(); });
}

bool MirroredRows::VisitChanges(std::uint64_t id, const VisitChange& visit) const {
  if (!waiting_ || id != commits_) return false;
  for (const auto& [where, former] : former_) {
    const Content& content = content_[static_cast<std::size_t>(where.first)];
    const auto found = content.find(where.second);
    visit(where.first, where.second, found == content.end() ? nullptr : &found->second);
  }
  return true;
}

bool MirroredRows::Answer(std::uint64_t id, const absl::Status& status) {
  if (!waiting_ || id != commits_) return false;
  if (status.ok()) Forget();  // else Rollback follows
  std::exchange(waiting_, nullptr)(status);
  return true;
}

absl::StatusOr<std::optional<Record>> MirroredRows::Get(Table table, const Record& key) {
  const auto found = Of(table).find(key);
  return found == Of(table).end() ? std::nullopt : std::optional(found->second);
}

absl::Status MirroredRows::Scan(Table table, const device::ScanRange& range, const Visit& visit) {
  const Content& content = Of(table);
  Record from = range.prefix;
  if (range.after) from.emplace_back(*range.after);
  for (auto row = content.lower_bound(from); row != content.end(); ++row) {
    if (!std::equal(range.prefix.begin(), range.prefix.end(), row->first.begin())) break;
    if (range.after && *std::get_if<std::int64_t>(&row->first[range.prefix.size()]) == *range.after)
      continue;
    Record copy = row->second;
    const bool more = visit(copy);
    EraseCells(copy);
    if (!more) break;
  }
  return absl::OkStatus();
}

void MirroredRows::KeepFormer(Table table, const Record& key) {
  const auto [former, is_first] = former_.try_emplace({table, key});
  const auto found = Of(table).find(key);
  if (found == Of(table).end()) return;
  if (is_first) {
    former->second = std::move(found->second);
  } else {
    EraseCells(found->second);
  }
}

absl::Status MirroredRows::Put(Table table, const Record& row) {
  const Record key = KeyOf(table, row);
  KeepFormer(table, key);
  Of(table).insert_or_assign(key, row);
  return absl::OkStatus();
}

absl::Status MirroredRows::Erase(Table table, const Record& key) {
  KeepFormer(table, key);
  Of(table).erase(key);
  return absl::OkStatus();
}

void MirroredRows::Commit(Committed committed) {
  if (former_.empty()) return committed(absl::OkStatus());
  waiting_ = std::move(committed);
  on_commit_(++commits_, std::exchange(erased_private_, false));
}

void MirroredRows::Rollback() {
  for (auto& [where, former] : former_) {
    Content& content = Of(where.first);
    if (const auto found = content.find(where.second); found != content.end()) {
      EraseCells(found->second);
      content.erase(found);
    }
    if (former) content.emplace(where.second, *std::move(former));
  }
  former_.clear();
  erased_private_ = false;
}

void MirroredRows::Forget() {
  for (auto& [where, former] : former_) {
    if (former) EraseCells(*former);
  }
  former_.clear();
}

}  // namespace bandana::abi
