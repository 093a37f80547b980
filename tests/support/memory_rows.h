// A device's rows in memory, with a host's faults.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/core/rows.h"
#include "client/core/store_row.h"
#include "common/base/status.h"

namespace bandana::testing {

class MemoryRows final : public device::Rows {
 public:
  using Content = std::array<std::map<device::Record, device::Record>, device::kTables>;

  // The fate of the next commits.
  enum class Commits {
    kStand,
    kFail,
    kFailButStand,  // the host does not know
    kUnanswered,    // Answer answers them
  };

  // Rows of a new store.
  static Content NewStore(char identity) {
    MemoryRows rows;
    device::SealedRows sealed(&rows, nullptr);
    device::StoreRow{.identity = std::string(16, identity),
                     .ledger_base_hash = std::string(32, 'h')}
        .Write(sealed);
    rows.Commit([](const absl::Status&) {});
    return rows.durable;
  }

  MemoryRows() = default;
  explicit MemoryRows(Content content) : durable(content), open_(std::move(content)) {}

  absl::StatusOr<std::optional<device::Record>> Get(device::Table table,
                                                    const device::Record& key) override {
    BANDANA_RETURN_IF_ERROR(read_error);
    const auto found = Of(table).find(key);
    return found == Of(table).end() ? std::nullopt : std::optional(found->second);
  }
  absl::Status Scan(device::Table table, const device::ScanRange& range,
                    const Visit& visit) override {
    BANDANA_RETURN_IF_ERROR(read_error);
    const std::size_t prefix = range.prefix.size();
    for (const auto& [key, row] : Of(table)) {
      if (!std::equal(range.prefix.begin(), range.prefix.end(), key.begin())) continue;
      if (range.after && *std::get_if<std::int64_t>(&key[prefix]) <= *range.after) continue;
      device::Record copy = row;
      if (!visit(copy)) break;
    }
    return absl::OkStatus();
  }
  absl::Status Put(device::Table table, const device::Record& row) override {
    const int keys = device::FormOf(table).keys;
    Of(table)[device::Record(row.begin(), row.begin() + keys)] = row;
    return absl::OkStatus();
  }
  absl::Status Erase(device::Table table, const device::Record& key) override {
    Of(table).erase(key);
    return absl::OkStatus();
  }
  void Commit(Committed committed) override {
    answer = std::move(committed);
    if (commits != Commits::kFail) durable = open_;
    if (commits == Commits::kUnanswered) return;
    answer(commits == Commits::kStand ? absl::OkStatus() : Unavailable("the host failed"));
  }
  void Rollback() override { open_ = durable; }

  Content durable;  // may be edited
  Commits commits = Commits::kStand;
  absl::Status read_error;  // of every read from now on
  Committed answer;         // of the last commit

 private:
  std::map<device::Record, device::Record>& Of(device::Table table) {
    return open_[static_cast<std::size_t>(table)];
  }

  Content open_;
};

}  // namespace bandana::testing
