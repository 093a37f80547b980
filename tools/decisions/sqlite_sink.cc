#include "tools/decisions/sqlite_sink.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <utility>

#include "common/base/errno_status.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/decisions/json_parts.h"
#include "common/sqlite/sqlite.h"
#include "tools/decisions/packed_file.h"

namespace bandana {
namespace {

// Text is bound as bytes, which SQLite's JSON functions refuse, so each is cast. Empty ones are
// NULL: that is not known.
#define TEXT(n) "nullif(CAST(?" #n " AS TEXT), '')"

constexpr char kTables[] = R"(
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA application_id = 0x62646564;
PRAGMA user_version = 1;
CREATE TABLE decisions (
  number INTEGER PRIMARY KEY,  -- the order of the log, from 1
  decision TEXT NOT NULL,
  time TEXT NOT NULL,          -- RFC 3339, UTC
  instance TEXT, epoch INTEGER, version INTEGER,
  list INTEGER NOT NULL,       -- slots
  rank INTEGER NOT NULL,       -- above 0: the rank of a ranking that the report named
  reward_min REAL NOT NULL, reward_max REAL NOT NULL,
  context TEXT,                -- JSON object
  user TEXT);
CREATE TABLE slots (
  number INTEGER NOT NULL REFERENCES decisions, slot INTEGER NOT NULL,
  offered INTEGER NOT NULL,
  chosen INTEGER NOT NULL,     -- position, from 0
  arm,                         -- id or name of the chosen arm, or its position
  propensity REAL NOT NULL,    -- the chosen arm's
  state TEXT NOT NULL,         -- known, pending or unreported
  reward REAL,                 -- where known
  released_epsilon REAL, released_low REAL, released_high REAL, clipped INTEGER,
  baseline INTEGER NOT NULL,
  arms TEXT, p TEXT, q TEXT, x TEXT, own_law TEXT,  -- JSON arrays, an entry per arm
  PRIMARY KEY (number, slot)) WITHOUT ROWID;
-- A row per slot, to start from: rewards beside what the uniform policy's estimate needs.
-- IPS of the uniform policy: SELECT avg(uniform_weight * reward) FROM choices WHERE state = 'known';
CREATE VIEW choices AS
  SELECT d.decision, d.time, s.slot, d.list, s.arm, s.offered, s.propensity, s.state, s.reward,
    1.0 / s.offered / s.propensity AS uniform_weight,
    s.released_epsilon, s.baseline, d.context, d.user, d.number
  FROM decisions d JOIN slots s USING (number);
-- A row per slot and arm on offer.
CREATE VIEW offers AS
  SELECT d.decision, s.slot, e.key AS position, json_extract(s.arms, '$[' || e.key || ']') AS arm,
    e.value AS p, json_extract(s.q, '$[' || e.key || ']') AS q, e.key = s.chosen AS chosen,
    CASE WHEN e.key = s.chosen THEN s.reward END AS reward, d.number
  FROM decisions d JOIN slots s USING (number) JOIN json_each(s.p) e;
BEGIN;
)";

constexpr char kAddDecision[] =
    "INSERT INTO decisions VALUES (?1, CAST(?2 AS TEXT), CAST(?3 AS TEXT), " TEXT(4) ", ?5, ?6, ?7, "
    "?8, ?9, ?10, " TEXT(11) ", " TEXT(12) ")";
constexpr char kAddSlot[] =
    "INSERT INTO slots VALUES (?1, ?2, ?3, ?4, CASE WHEN ?5 = x'' THEN ?6 ELSE CAST(?5 AS TEXT) "
    "END, "
    "?7, CAST(?8 AS TEXT), iif(?8 = CAST('known' AS BLOB), ?9, NULL), nullif(?10, 0), "
    "iif(?10 = 0, NULL, ?11), iif(?10 = 0, NULL, ?12), iif(?10 = 0, NULL, ?13), ?14, " TEXT(
        15) ", " TEXT(16) ", " TEXT(17) ", " TEXT(18) ", " TEXT(19) ")";
#undef TEXT

absl::Status FailureOf(int code, std::string_view detail, std::string_view what) {
  const std::string message = absl::StrCat("SQLite: ", ToAbsl(detail), ": ", ToAbsl(what));
  if ((code & 0xFF) == SQLITE_FULL) return absl::ResourceExhaustedError(message);
  return absl::UnavailableError(message);
}

std::string_view StateName(RewardState state) {
  switch (state) {
    case RewardState::kPending:
      return "pending";
    case RewardState::kUnreported:
      return "unreported";
    case RewardState::kKnown:
      break;
  }
  return "known";
}

// A database is written in place, so it is built beside the file, and packed or renamed at the end.
class SqliteSink final : public DecisionSink {
 public:
  SqliteSink(std::string path, std::string made) : path_(std::move(path)), made_(std::move(made)) {}
  ~SqliteSink() override {
    if (!made_.empty()) std::remove(made_.c_str());
  }

  absl::Status Open() {
    BANDANA_ASSIGN_OR_RETURN(connection_, SqliteConnection::Open(made_, "", FailureOf));
    BANDANA_RETURN_IF_ERROR(connection_.Exec(kTables));
    BANDANA_ASSIGN_OR_RETURN(add_decision_, connection_.Prepare(kAddDecision));
    BANDANA_ASSIGN_OR_RETURN(add_slot_, connection_.Prepare(kAddSlot));
    return absl::OkStatus();
  }

  absl::Status Write(const LoggedDecision& decision) override;
  absl::Status Finish() override;

 private:
  absl::Status WriteSlot(std::size_t at, const LoggedSlot& slot);
  absl::Status Pack();

  const std::string path_;
  std::string made_;  // the file that is being made; empty once it is gone
  SqliteConnection connection_;
  SqliteStatement add_decision_;
  SqliteStatement add_slot_;
  std::int64_t number_ = 0;
  std::string time_;
  std::array<std::string, 5> parts_;
};

absl::Status SqliteSink::Write(const LoggedDecision& decision) {
  ++number_;
  time_.clear();
  json_parts::AppendTime(decision.time, time_);
  BANDANA_RETURN_IF_ERROR(add_decision_.Bind(1, number_)
                              .Bind(2, std::string_view(decision.id))
                              .Bind(3, std::string_view(time_))
                              .Bind(4, std::string_view(decision.instance))
                              .Bind(5, static_cast<std::int64_t>(decision.epoch))
                              .Bind(6, static_cast<std::int64_t>(decision.version))
                              .Bind(7, static_cast<std::int64_t>(decision.slots.size()))
                              .Bind(8, static_cast<std::int64_t>(decision.named_rank))
                              .Bind(9, decision.range.min)
                              .Bind(10, decision.range.max)
                              .Bind(11, std::string_view(decision.context))
                              .Bind(12, std::string_view(decision.user))
                              .Run());
  for (std::size_t at = 0; at < decision.slots.size(); ++at) {
    BANDANA_RETURN_IF_ERROR(WriteSlot(at, decision.slots[at]));
  }
  return absl::OkStatus();
}

absl::Status SqliteSink::WriteSlot(std::size_t at, const LoggedSlot& slot) {
  for (std::string& part : parts_) part.clear();
  json_parts::AppendArms(slot, parts_[0]);
  if (!slot.p.empty()) json_parts::AppendP(slot, parts_[1]);
  json_parts::AppendQ(slot, parts_[2]);
  json_parts::AppendX(slot, parts_[3]);
  if (!slot.own_law.empty()) json_parts::AppendBaseline(slot, parts_[4]);
  const std::string_view name = slot.names.empty() ? std::string_view() : slot.names[slot.chosen];
  const std::int64_t arm = slot.ids.empty() ? slot.chosen : slot.ids[slot.chosen];
  const ReleaseLaw law = slot.released.value_or(ReleaseLaw{});
  add_slot_.Bind(1, number_)
      .Bind(2, static_cast<std::int64_t>(at))
      .Bind(3, static_cast<std::int64_t>(slot.offered))
      .Bind(4, static_cast<std::int64_t>(slot.chosen))
      .Bind(5, name)
      .Bind(6, arm)
      .Bind(7, slot.chosen_p)
      .Bind(8, StateName(slot.state))
      .Bind(9, slot.reward)
      .Bind(10, law.epsilon)
      .Bind(11, law.low)
      .Bind(12, law.high)
      .Bind(13, static_cast<std::int64_t>(law.clipped))
      .Bind(14, static_cast<std::int64_t>(slot.baseline));
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    add_slot_.Bind(static_cast<int>(15 + part), std::string_view(parts_[part]));
  }
  return add_slot_.Run();
}

absl::Status SqliteSink::Finish() {
  BANDANA_RETURN_IF_ERROR(
      connection_.Exec("COMMIT; CREATE INDEX decisions_by_id ON decisions (decision);"));
  add_decision_ = {};
  add_slot_ = {};
  if (!connection_.Close()) return absl::UnavailableError(path_ + ": cannot be closed");
  if (path_.ends_with(".gz")) return Pack();
  const int file = open(made_.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = file >= 0 && fsync(file) == 0;
  const int error = errno;
  if (file >= 0) close(file);
  if (!synced) return ErrnoStatus(made_, error);
  if (std::rename(made_.c_str(), path_.c_str()) != 0) return ErrnoStatus(path_, errno);
  made_.clear();
  return SyncFolderOf(path_);
}

absl::Status SqliteSink::Pack() {
  BANDANA_ASSIGN_OR_RETURN(const DecisionBytes bytes, OpenPackedFile(made_));
  BANDANA_ASSIGN_OR_RETURN(PackedFile packed, PackedFile::Create(path_));
  std::string block(1 << 18, '\0');
  for (;;) {
    BANDANA_ASSIGN_OR_RETURN(const std::size_t got, bytes(block.data(), block.size()));
    if (got == 0) return packed.Finish();
    BANDANA_RETURN_IF_ERROR(packed.Append(std::string_view(block).substr(0, got)));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<DecisionSink>> OpenSqliteSink(const std::string& path) {
  std::string made = path + ".making";
  const int file = open(made.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return ErrnoStatus(made, errno);
  close(file);
  auto sink = std::make_unique<SqliteSink>(path, std::move(made));
  BANDANA_RETURN_IF_ERROR(sink->Open());
  return sink;
}

}  // namespace bandana
