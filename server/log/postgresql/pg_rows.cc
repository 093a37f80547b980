#include "server/log/postgresql/pg_rows.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "common/base/status.h"
#include "server/log/postgresql/pg_batch.h"

namespace bandana::server {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;  // of rows in one statement
constexpr int kRowsRead = 4096;                            // at a time
constexpr std::size_t kKeysRead = 4096;

constexpr char kTable[] =
    "SELECT version, removed, size, file, format FROM bandana.state_tables"
    " WHERE log = $1 AND kind = $2";
constexpr char kPutTable[] =
    "INSERT INTO bandana.state_tables VALUES ($1, $2, $3, $4, $5, $6, $7)"
    " ON CONFLICT (log, kind) DO UPDATE SET version = excluded.version, removed = excluded.removed,"
    " size = excluded.size, file = excluded.file, format = excluded.format";
constexpr char kAfter[] =
    "SELECT key, value FROM bandana.state_rows WHERE log = $1 AND kind = $2 AND key > $3"
    " AND version > $4 ORDER BY key LIMIT $5";
constexpr char kOne[] =
    "SELECT key, value FROM bandana.state_rows WHERE log = $1 AND kind = $2 AND key = $3";
// Says how many of them there were.
constexpr char kPut[] =
    "WITH known AS (SELECT count(*) AS rows FROM bandana.state_rows"
    "   WHERE log = $1 AND kind = $2 AND key = ANY($4)),"
    " put AS (INSERT INTO bandana.state_rows SELECT $1, $2, t.key, $3, t.value"
    "   FROM unnest($4, $5) AS t(key, value)"
    "   ON CONFLICT (log, kind, key) DO UPDATE SET version = excluded.version,"
    "   value = excluded.value)"
    " SELECT rows FROM known";
constexpr char kRemoveRows[] =
    "WITH gone AS (DELETE FROM bandana.state_rows WHERE log = $1 AND kind = $2 AND key = ANY($3)"
    " RETURNING 1) SELECT count(*) FROM gone";
constexpr char kPutLeft[] =
    "INSERT INTO bandana.left_keys SELECT $1, $2, t.key, $4 FROM unnest($3) AS t(key)"
    " ON CONFLICT (log, kind, key) DO UPDATE SET since = excluded.since";
constexpr char kRemoveLeft[] =
    "DELETE FROM bandana.left_keys WHERE log = $1 AND kind = $2 AND key = ANY($3) AND since <= $4";
constexpr char kLeft[] =
    "SELECT key, since FROM bandana.left_keys WHERE log = $1 AND kind = $2 AND since <= $3"
    " ORDER BY since, key LIMIT $4";

// The properties of a table beside its rows.
struct Head {
  std::int64_t version = 0;
  std::int64_t removed = 0;  // the version of the last change that removed a row
  std::uint64_t size = 0;
  Sha256Digest file{};
  int format = 1;
};

class PgTable final : public RowTable {
 public:
  PgTable(PgState& state, TableKind kind) : state_(state), kind_(kind) {}

  absl::Status Load() {
    return state_.Look([&](PgConnection& connection) -> absl::Status {
      BANDANA_ASSIGN_OR_RETURN(head_, ReadHead(connection));
      return absl::OkStatus();
    });
  }
  absl::StatusOr<bool> Exists() {
    bool exists = false;
    BANDANA_RETURN_IF_ERROR(state_.Look([&](PgConnection& connection) -> absl::Status {
      BANDANA_ASSIGN_OR_RETURN(const PgResult row, connection.Run(kTable, Place()));
      exists = row.rows() > 0;
      return absl::OkStatus();
    }));
    return exists;
  }

  absl::Status ForEach(RowVisit visit) override {
    return state_.Look([&](PgConnection& connection) -> absl::Status {
      BANDANA_ASSIGN_OR_RETURN(const Head head, ReadHead(connection));
      return VisitAll(connection, head, visit);
    });
  }
  absl::Status ForEachAfter(std::string_view after, std::size_t limit, RowVisit visit) override {
    return state_.Look([&](PgConnection& connection) -> absl::Status {
      return Visit(connection, after, 0, limit, visit).status();
    });
  }
  absl::Status ForOne(std::string_view key, RowVisit visit) override {
    return state_.Look([&](PgConnection& connection) -> absl::Status {
      PgValues values = Place();
      values.push_back(PgValue::Bytes(key));
      BANDANA_ASSIGN_OR_RETURN(const PgResult row, connection.Run(kOne, values));
      return row.rows() > 0 ? visit(row.Bytes(0, 0), row.Bytes(0, 1)) : absl::OkStatus();
    });
  }

  std::uint64_t size() const override { return head_.size; }
  const Sha256Digest& file() const override { return head_.file; }
  int format() const override { return head_.format; }

  absl::StatusOr<RowsChanged> Change(const RowChange& change) override {
    RowsChanged changed;
    Head next;
    BANDANA_RETURN_IF_ERROR(
        state_.Change([&](PgConnection& connection, std::int64_t version) -> absl::Status {
          changed = {};
          if (change.put) {
            BANDANA_ASSIGN_OR_RETURN(changed.added, PutRows(connection, version, *change.put));
          }
          BANDANA_ASSIGN_OR_RETURN(changed.removed, RemoveRows(connection, change.removed));
          BANDANA_RETURN_IF_ERROR(NoteKeys(connection, change.keys));
          next = head_;
          next.version = version;
          if (changed.removed > 0) next.removed = version;
          next.size = head_.size + changed.added - changed.removed;
          next.file = change.file.value_or(head_.file);
          next.format = std::max(head_.format, change.format);
          return PutHead(connection, next);
        }));
    head_ = next;
    if (change.erase) BANDANA_RETURN_IF_ERROR(state_.EraseRows(kind_));
    return changed;
  }

  absl::StatusOr<std::vector<LeftKey>> LeftKeys(absl::Time until, std::size_t max) override {
    std::vector<LeftKey> keys;
    BANDANA_RETURN_IF_ERROR(state_.Look([&](PgConnection& connection) -> absl::Status {
      PgValues values = Place();
      values.push_back(PgValue::Int(absl::ToUnixNanos(until)));
      values.push_back(
          PgValue::Int(static_cast<std::int64_t>(std::min<std::size_t>(max, INT64_MAX))));
      BANDANA_ASSIGN_OR_RETURN(const PgResult rows, connection.Run(kLeft, values));
      for (int row = 0; row < rows.rows(); ++row) {
        keys.push_back({.key = static_cast<std::uint64_t>(rows.Int(row, 0)),
                        .since = absl::FromUnixNanos(rows.Int(row, 1))});
      }
      return absl::OkStatus();
    }));
    // As numbers without sign, of one time.
    std::stable_sort(keys.begin(), keys.end(), [](const LeftKey& a, const LeftKey& b) {
      return std::pair(a.since, static_cast<std::int64_t>(a.key)) <
             std::pair(b.since, static_cast<std::int64_t>(b.key));
    });
    return keys;
  }
  absl::StatusOr<std::optional<absl::Time>> FirstLeft() override {
    BANDANA_ASSIGN_OR_RETURN(const std::vector<LeftKey> first, LeftKeys(absl::InfiniteFuture(), 1));
    return first.empty() ? std::nullopt : std::optional(first.front().since);
  }
  absl::Status RemoveLeft(std::span<const std::uint64_t> keys, absl::Time until) override {
    if (keys.empty()) return absl::OkStatus();
    return state_.Change([&](PgConnection& connection, std::int64_t) {
      return TakeOff(connection, keys, absl::ToUnixNanos(until));
    });
  }

  std::int64_t version() const override { return head_.version; }
  absl::StatusOr<RowsSince> ChangesSince(std::int64_t version, RowVisit visit) override {
    RowsSince since;
    BANDANA_RETURN_IF_ERROR(state_.Look([&](PgConnection& connection) -> absl::Status {
      BANDANA_ASSIGN_OR_RETURN(const Head head, ReadHead(connection));
      since = {.version = head.version,
               .whole = version <= 0 || version < head.removed || version > head.version};
      head_ = head;
      if (since.whole) return VisitAll(connection, head, visit);
      if (version == head.version) return absl::OkStatus();
      return Visit(connection, "", version, SIZE_MAX, visit).status();
    }));
    return since;
  }

 private:
  PgValues Place() const {
    return {PgValue::Bytes(state_.log()), PgValue::Int(static_cast<std::int64_t>(kind_))};
  }

  absl::StatusOr<Head> ReadHead(PgConnection& connection) const {
    BANDANA_ASSIGN_OR_RETURN(const PgResult row, connection.Run(kTable, Place()));
    Head head;
    if (row.rows() == 0) return head;
    head.version = row.Int(0, 0);
    head.removed = row.Int(0, 1);
    head.size = static_cast<std::uint64_t>(row.Int(0, 2));
    BANDANA_ASSIGN_OR_RETURN(head.file, HashOf(row.Bytes(0, 3)));
    head.format = static_cast<int>(row.Int(0, 4));
    return head;
  }

  absl::Status PutHead(PgConnection& connection, const Head& head) const {
    PgValues values = Place();
    values.push_back(PgValue::Int(head.version));
    values.push_back(PgValue::Int(head.removed));
    values.push_back(PgValue::Int(static_cast<std::int64_t>(head.size)));
    values.push_back(PgValue::Bytes(AsChars(head.file)));
    values.push_back(PgValue::Int(head.format));
    return connection.Run(kPutTable, values).status();
  }

  // Those of later versions, after a key; how many.
  absl::StatusOr<std::uint64_t> Visit(PgConnection& connection, std::string_view after,
                                      std::int64_t version, std::size_t limit,
                                      RowVisit visit) const {
    std::string last(after);
    std::uint64_t count = 0;
    while (count < limit) {
      const auto wanted =
          static_cast<std::int64_t>(std::min<std::size_t>(limit - count, kRowsRead));
      PgValues values = Place();
      values.push_back(PgValue::Bytes(last));
      values.push_back(PgValue::Int(version));
      values.push_back(PgValue::Int(wanted));
      BANDANA_ASSIGN_OR_RETURN(const PgResult rows, connection.Run(kAfter, values));
      for (int row = 0; row < rows.rows(); ++row) {
        BANDANA_RETURN_IF_ERROR(visit(rows.Bytes(row, 0), rows.Bytes(row, 1)));
      }
      count += static_cast<std::uint64_t>(rows.rows());
      if (rows.rows() < wanted) return count;
      last = rows.Bytes(rows.rows() - 1, 0);
    }
    return count;
  }
  absl::Status VisitAll(PgConnection& connection, const Head& head, RowVisit visit) const {
    BANDANA_ASSIGN_OR_RETURN(const std::uint64_t count, Visit(connection, "", 0, SIZE_MAX, visit));
    if (count == head.size) return absl::OkStatus();
    return DataLoss(count, kind_ == TableKind::kArms ? " arms" : " users",
                    " found, another number stored");
  }

  // How many are new.
  absl::StatusOr<std::uint64_t> PutRows(PgConnection& connection, std::int64_t version,
                                        RowSource source) const {
    std::uint64_t added = 0;
    std::map<std::string, std::string, std::less<>> chunk;  // one statement puts a row once
    std::size_t bytes = 0;
    const auto put = [&]() -> absl::Status {
      if (chunk.empty()) return absl::OkStatus();
      std::vector<std::string> keys, values;
      for (auto& [key, value] : chunk) {
        keys.push_back(key);
        values.push_back(std::move(value));
      }
      PgValues arguments = Place();
      arguments.push_back(PgValue::Int(version));
      arguments.push_back(PgValue::ManyBytes(keys));
      arguments.push_back(PgValue::ManyBytes(values));
      BANDANA_ASSIGN_OR_RETURN(const PgResult known, connection.Run(kPut, arguments));
      added += keys.size() - static_cast<std::uint64_t>(known.Int(0, 0));
      chunk.clear();
      bytes = 0;
      return absl::OkStatus();
    };
    BANDANA_RETURN_IF_ERROR(
        source([&](std::string_view key, std::string_view value) -> absl::Status {
          chunk[std::string(key)] = value;
          bytes += key.size() + value.size();
          return bytes < kChunkBytes ? absl::OkStatus() : put();
        }));
    BANDANA_RETURN_IF_ERROR(put());
    return added;
  }

  absl::StatusOr<std::uint64_t> RemoveRows(PgConnection& connection,
                                           std::span<const std::string_view> keys) const {
    std::uint64_t removed = 0;
    while (!keys.empty()) {
      const auto some = keys.first(std::min(keys.size(), kKeysRead));
      keys = keys.subspan(some.size());
      PgValues values = Place();
      values.push_back(PgValue::ManyBytes(std::vector<std::string>(some.begin(), some.end())));
      BANDANA_ASSIGN_OR_RETURN(const PgResult gone, connection.Run(kRemoveRows, values));
      removed += static_cast<std::uint64_t>(gone.Int(0, 0));
    }
    return removed;
  }

  static PgValue KeysOf(std::span<const std::uint64_t> keys) {
    return PgValue::Ints(std::vector<std::int64_t>(keys.begin(), keys.end()));
  }
  absl::Status TakeOff(PgConnection& connection, std::span<const std::uint64_t> keys,
                       std::int64_t until) const {
    PgValues values = Place();
    values.push_back(KeysOf(keys));
    values.push_back(PgValue::Int(until));
    return connection.Run(kRemoveLeft, values).status();
  }
  absl::Status NoteKeys(PgConnection& connection, const KeyChange& change) const {
    if (!change.returned.empty()) {
      BANDANA_RETURN_IF_ERROR(TakeOff(connection, change.returned, INT64_MAX));
    }
    if (change.left.empty()) return absl::OkStatus();
    std::vector<std::uint64_t> left = change.left;
    std::sort(left.begin(), left.end());
    left.erase(std::unique(left.begin(), left.end()), left.end());
    PgValues values = Place();
    values.push_back(KeysOf(left));
    values.push_back(PgValue::Int(absl::ToUnixNanos(change.now)));
    return connection.Run(kPutLeft, values).status();
  }

  PgState& state_;
  const TableKind kind_;
  Head head_;
};

}  // namespace

TablePlace PgTableOf(PgState& state, TableKind kind) {
  const std::string where =
      state.Where(kind == TableKind::kArms ? std::string_view("arms") : std::string_view("users"));
  return {.where = where,
          .exists = [&state, kind] { return PgTable(state, kind).Exists(); },
          .open = [&state, kind]() -> absl::StatusOr<std::unique_ptr<RowTable>> {
            auto table = std::make_unique<PgTable>(state, kind);
            BANDANA_RETURN_IF_ERROR(table->Load());
            return table;
          }};
}

}  // namespace bandana::server
