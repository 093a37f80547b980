#include "client/src/store/tables.h"

#include <algorithm>
#include <cstring>

#include "client/src/store/row_digest.h"
#include "client/src/store/schema.h"
#include "common/base/bytes.h"
#include "common/base/status.h"

namespace bandana::device {
namespace {

std::int64_t ToMicros(absl::Time time) { return absl::ToUnixMicros(time); }
absl::Time FromMicros(std::int64_t micros) { return absl::FromUnixMicros(micros); }

// About 20 MB on the device; a decision older than that counts as reported.
constexpr std::int64_t kDrawnMax = 1'000'000;
constexpr int kForgetEvery = 64;
constexpr int kForgetRows = 256;
// Summarized when the store is opened with more entries than this.
constexpr std::int64_t kLedgerEntriesMax = 65'536;
// The device's time, among the rows that are kept.
constexpr std::string_view kNoModel;
constexpr char kTimeName[] = "time";
constexpr std::string_view kKeyCheck = "bandana device store";

// Without owner, state and wake_at, which change without the content; `content` as it is stored.
std::string DigestOf(const ReportRow& row, std::string_view content) {
  return RowDigest()
      .Add(row.number)
      .Add(row.policy)
      .Add(ToMicros(row.due_at))
      .Add(row.user)
      .Add(content)
      .Finish();
}

constexpr char kReportColumns[] =
    "number, policy, owner, state, wake_at, due_at, user, content, digest";

std::string SealedFor(DecisionNumber number) {
  std::string name = "reports";
  ByteWriter(name).U64(static_cast<std::uint64_t>(number));
  return name;
}

// A report row without its content.
ReportRow ReadEnvelope(const Statement& row) {
  return {.number = row.Int(0),
          .policy = row.Int(1),
          .owner = row.Int(2),
          .state = static_cast<ReportState>(row.Int(3)),
          .wake_at = FromMicros(row.Int(4)),
          .due_at = FromMicros(row.Int(5)),
          .user = std::string(row.Blob(6))};
}

}  // namespace

struct Tables::Statements {
  Statement store, next_run, set_position, set_lost, set_key_check;
  Statement find_policy, add_policy, policies, policy_ids;
  Statement put_report, find_report, delete_report, awake, next_wake, owners, adopt;
  Statement is_drawn, mark_drawn, oldest_drawn, forget_drawn, set_forgotten, count_drawn;
  Statement undrawn, is_any_open, open_since, ready_again, drawn_of;

  absl::Status Prepare(Database& database);
};

absl::Status Tables::Statements::Prepare(Database& database) {
  const std::string columns = kReportColumns;
  const struct {
    Statement* statement;
    std::string sql;
  } all[] = {
      {&store,
       "SELECT identity, forgotten, run, position, lost_events, lost_streams, key_check FROM "
       "store"},
      {&next_run, "UPDATE store SET run = MAX(run, ?1) + 1 RETURNING run"},
      {&set_position, "UPDATE store SET position = ?1"},
      {&set_lost, "UPDATE store SET lost_events = ?1, lost_streams = ?2"},
      {&set_key_check, "UPDATE store SET key_check = ?1"},
      {&policy_ids, "SELECT id FROM policies ORDER BY id"},
      {&find_policy, "SELECT id FROM policies WHERE model = ?1 AND hash = ?2"},
      {&add_policy,
       "INSERT INTO policies(model, hash, epsilon, delta) VALUES (?1, ?2, ?3, ?4) RETURNING id"},
      {&policies, "SELECT id, hash, epsilon, delta FROM policies WHERE model = ?1 ORDER BY id"},
      {&put_report, "INSERT OR REPLACE INTO reports(" + columns +
                        ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"},
      {&find_report, "SELECT " + columns + " FROM reports WHERE number = ?1"},
      {&delete_report, "DELETE FROM reports WHERE number = ?1"},
      {&awake, "SELECT " + columns +
                   " FROM reports WHERE owner = ?1 AND state = ?2 AND "
                   "wake_at <= ?3 ORDER BY wake_at, number LIMIT ?4"},
      {&next_wake, "SELECT MIN(wake_at) FROM reports WHERE owner = ?1 AND state = ?2"},
      {&owners, "SELECT DISTINCT owner FROM reports WHERE policy = ?1"},
      {&adopt,
       "UPDATE reports SET owner = ?1, state = CASE state WHEN 2 THEN 1 ELSE state END "
       "WHERE owner = ?2 AND policy = ?3"},
      {&is_drawn, "SELECT 1 FROM drawn WHERE number = ?1"},
      {&mark_drawn, "INSERT INTO drawn(number, forget_at) VALUES (?1, ?2)"},
      {&oldest_drawn, "SELECT number, forget_at FROM drawn ORDER BY number LIMIT ?1"},
      {&forget_drawn, "DELETE FROM drawn WHERE number <= ?1"},
      {&set_forgotten, "UPDATE store SET forgotten = ?1"},
      {&count_drawn, "SELECT COUNT(*) FROM drawn"},
      {&is_any_open, "SELECT 1 FROM reports WHERE state = 0 AND due_at > ?1 LIMIT 1"},
      {&open_since,
       "SELECT number FROM reports WHERE owner = ?1 AND state = 0 AND due_at <= ?2 ORDER BY "
       "number"},
      {&ready_again, "UPDATE reports SET state = 1 WHERE owner = ?1 AND state = 2"},
      {&drawn_of, "SELECT number FROM reports WHERE owner = ?1 AND state <> 0"},
      {&undrawn,
       "SELECT number FROM reports WHERE NOT EXISTS (SELECT 1 FROM drawn WHERE drawn.number = "
       "reports.number)"},
  };
  for (const auto& entry : all) {
    BANDANA_ASSIGN_OR_RETURN(*entry.statement, database.Prepare(entry.sql.c_str()));
  }
  return absl::OkStatus();
}

Tables::Tables(std::unique_ptr<Database> database)
    : database_(std::move(database)), sql_(std::make_unique<Statements>()) {}

Tables::~Tables() = default;

absl::StatusOr<std::unique_ptr<Tables>> Tables::Create(std::unique_ptr<Database> database,
                                                       const StoreKeys& keys) {
  std::unique_ptr<Tables> tables(new Tables(std::move(database)));
  // A file with our mark but other tables is not ours.
  if (const absl::Status status = tables->sql_->Prepare(*tables->database_); !status.ok()) {
    return DataLoss("device store: tables differ from format ", kSchemaVersion, ": ",
                    status.message());
  }
  tables->ReadStore();
  if (tables->identity_.size() != 16) return DataLoss("device store: no identity");
  BANDANA_ASSIGN_OR_RETURN(tables->sealer_, Sealer::Create(keys.key.get(), tables->identity_));
  BANDANA_ASSIGN_OR_RETURN(tables->streams_,
                           StreamRows::Create(tables->database_.get(), tables->sealer_.get()));
  if (keys.former) {
    BANDANA_RETURN_IF_ERROR(tables->Migrate(keys.former_sealed ? keys.key.get() : ""));
  }
  BANDANA_RETURN_IF_ERROR(tables->CheckKey());
  BANDANA_ASSIGN_OR_RETURN(tables->ledger_, LedgerRows::Create(tables->database_.get()));
  BANDANA_RETURN_IF_ERROR(tables->streams_->Verify());
  BANDANA_RETURN_IF_ERROR(tables->VerifyRows());
  BANDANA_ASSIGN_OR_RETURN(tables->kept_,
                           KeptRows::Create(tables->database_.get(), tables->sealer_.get()));
  tables->ReadTime();
  BANDANA_RETURN_IF_ERROR(tables->database_->failure());
  return tables;
}

absl::Status Tables::Migrate(std::string_view former_key) {
  BANDANA_ASSIGN_OR_RETURN(const auto former, Sealer::Create(former_key, identity_));
  if (!former_key.empty()) BANDANA_RETURN_IF_ERROR(CheckKey());
  BANDANA_RETURN_IF_ERROR(database_->Execute("BEGIN IMMEDIATE"));
  absl::Status migrated = MigrateReports(*former);
  if (migrated.ok() && former_key.empty()) {
    migrated = streams_->Reseal(*former);
    const auto check = sealer_->Seal(kKeyCheck, kKeyCheck);
    migrated.Update(check.status());
    if (check.ok()) sql_->set_key_check.BindBlob(1, *check).Run();
  }
  migrated.Update(database_->failure());
  migrated.Update(database_->Execute(absl::StrCat("PRAGMA user_version=", kSchemaVersion).c_str()));
  if (!migrated.ok()) {
    database_->Execute("ROLLBACK").IgnoreError();
    return migrated;
  }
  BANDANA_RETURN_IF_ERROR(database_->Execute("COMMIT"));
  database_->Scrub();
  return absl::OkStatus();
}

// Content was token, features and report. Of a decision in its window it told by its presence, or
// by its state, whether there had been a reaction: none of those is drawn or sent any more. What
// was drawn of windows is dropped by the client that finds it, as their models' policy hash is
// another one.
absl::Status Tables::MigrateReports(Sealer& former) {
  BANDANA_ASSIGN_OR_RETURN(
      Statement reports,
      database_->Prepare(absl::StrCat("SELECT ", kReportColumns, " FROM reports").c_str()));
  std::vector<ReportRow> rows;
  while (reports.Step()) {
    ReportRow row = ReadEnvelope(reports);
    if (reports.Blob(8) != DigestOf(row, reports.Blob(7))) {
      return DataLoss("device store: a report row is damaged");
    }
    auto content = former.Open(SealedFor(row.number), reports.Blob(7));
    if (!content.ok()) return content.status();
    const SecretBytes erased(*std::move(content));
    ByteReader reader(erased.get());
    row.token = std::string(reader.Block());
    row.features = std::string(reader.Block());
    row.report = std::string(reader.Block());
    if (!reader.ok()) return DataLoss("device store: a report row is damaged");
    rows.push_back(std::move(row));
  }
  for (const ReportRow& row : rows) {
    if (row.state == ReportState::kOpen) {
      DeleteReport(row.number);
    } else {
      PutReport(row);
    }
  }
  return database_->failure();
}

// A store without a key check is new: whoever opens it first decides.
absl::Status Tables::CheckKey() {
  std::string check;
  if (sql_->store.Step()) check = std::string(sql_->store.Blob(6));
  sql_->store.Reset();
  if (run_ == 0) {
    BANDANA_ASSIGN_OR_RETURN(check, sealer_->Seal(kKeyCheck, kKeyCheck));
    sql_->set_key_check.BindBlob(1, check).Run();
    return database_->failure();
  }
  if (!sealer_->Open(kKeyCheck, check).ok()) {
    return FailedPrecondition("device store: the key is not the one it was sealed with");
  }
  return absl::OkStatus();
}

absl::Status Tables::VerifyRows() {
  BANDANA_ASSIGN_OR_RETURN(
      Statement reports,
      database_->Prepare(absl::StrCat("SELECT ", kReportColumns, " FROM reports").c_str()));
  while (reports.Step()) {
    if (reports.Blob(8) != DigestOf(ReadEnvelope(reports), reports.Blob(7))) {
      return DataLoss("device store: a report row is damaged");
    }
    if (!ReadReport(reports)) return database_->failure();
  }
  return database_->failure();
}

void Tables::ReadStore() {
  if (sql_->store.Step()) {
    identity_ = std::string(sql_->store.Blob(0));
    forgotten_ = sql_->store.Int(1);
    run_ = static_cast<std::uint64_t>(sql_->store.Int(2));
    position_ = static_cast<std::uint64_t>(sql_->store.Int(3));
    lost_events_ = static_cast<std::uint64_t>(sql_->store.Int(4));
    lost_streams_ = static_cast<std::uint64_t>(sql_->store.Int(5));
  }
  sql_->store.Reset();
  if (sql_->count_drawn.Step()) drawn_count_ = sql_->count_drawn.Int(0);
  sql_->count_drawn.Reset();
  moved_ = false;
}

void Tables::Reload() {
  ReadStore();
  ReadTime();
  // What cannot be read again must not be built on.
  if (!ledger_->Load().ok()) database_->Break();
}

std::int64_t Tables::NextRun(std::uint64_t after) {
  sql_->next_run.Bind(1, static_cast<std::int64_t>(after));
  const std::int64_t run = sql_->next_run.Step() ? sql_->next_run.Int(0) : 0;
  sql_->next_run.Run();
  run_ = static_cast<std::uint64_t>(run);
  if (ledger_->entries() > kLedgerEntriesMax) {
    ledger_->Summarize();
    moved_ = true;
  }
  return run;
}

StoreMark Tables::Mark() const {
  return {.identity = identity_,
          .position = position_,
          .run = run_,
          .events = ledger_->total().events + lost_events_,
          .streams = ledger_->total().streams + lost_streams_,
          .ledger_hash = ledger_->head()};
}

void Tables::SavePosition() {
  if (!moved_) return;
  moved_ = false;
  sql_->set_position.Bind(1, static_cast<std::int64_t>(++position_)).Run();
}

void Tables::Debit(const LedgerEntry& entry) {
  moved_ = true;
  ledger_->Append(entry);
}

int Tables::RecoverFromRollback(const StoreMark& anchor) {
  const StoreMark mark = Mark();
  lost_events_ += anchor.events > mark.events ? anchor.events - mark.events : 0;
  lost_streams_ += anchor.streams > mark.streams ? anchor.streams - mark.streams : 0;
  sql_->set_lost.Bind(1, static_cast<std::int64_t>(lost_events_))
      .Bind(2, static_cast<std::int64_t>(lost_streams_))
      .Run();
  position_ = std::max(position_, anchor.position);
  moved_ = true;
  // Open decisions may have been drawn meanwhile. What the copy has drawn may be sent once more.
  std::vector<DecisionNumber> undrawn;
  while (sql_->undrawn.Step()) undrawn.push_back(sql_->undrawn.Int(0));
  for (const DecisionNumber number : undrawn) DeleteReport(number);
  forgotten_ =
      static_cast<DecisionNumber>((std::max(run_, anchor.run) + 1) << kDecisionRunShift) - 1;
  sql_->set_forgotten.Bind(1, forgotten_).Run();
  drawn_count_ -= sql_->forget_drawn.Bind(1, forgotten_).Run();
  std::vector<PolicyId> policies;
  while (sql_->policy_ids.Step()) policies.push_back(sql_->policy_ids.Int(0));
  int ended = 0;
  for (const PolicyId policy : policies) {
    for (const StreamRow& stream : streams_->Of(policy, {})) {
      if (stream.end != StreamEnd::kNone) continue;
      streams_->End(stream, StreamEnd::kRolledBack);
      streams_->DropSteps(stream.id);
      ++ended;
    }
  }
  return ended;
}

PolicyId Tables::AddPolicy(const PolicyRow& policy) {
  Statement& find = sql_->find_policy;
  find.BindBlob(1, policy.model).BindBlob(2, policy.hash);
  if (find.Step()) {
    const PolicyId id = find.Int(0);
    find.Reset();
    return id;
  }
  Statement& add = sql_->add_policy;
  add.BindBlob(1, policy.model).BindBlob(2, policy.hash).Bind(3, policy.epsilon);
  add.Bind(4, policy.delta);
  const PolicyId id = add.Step() ? add.Int(0) : 0;
  add.Run();
  return id;
}

std::vector<PolicyRow> Tables::PoliciesOf(std::string_view model) {
  std::vector<PolicyRow> rows;
  Statement& policies = sql_->policies;
  policies.BindBlob(1, model);
  while (policies.Step()) {
    rows.push_back({policies.Int(0), std::string(model), std::string(policies.Blob(1)),
                    policies.Real(2), policies.Real(3)});
  }
  return rows;
}

// The row with its content; none, and a noted failure, when that does not open.
std::optional<ReportRow> Tables::ReadReport(const Statement& row) {
  ReportRow report = ReadEnvelope(row);
  auto content = sealer_->Open(SealedFor(report.number), row.Blob(7));
  if (!content.ok()) {
    database_->Fail(content.status());
    return std::nullopt;
  }
  const SecretBytes erased(*std::move(content));
  ByteReader reader(erased.get());
  report.token = std::string(reader.Block());
  report.features = std::string(reader.Block());
  report.report = std::string(reader.Block());
  Opening& opening = report.opening;
  opening.shown = static_cast<int>(reader.U64());
  opening.epoch = reader.U64();
  opening.close = FromMicros(static_cast<std::int64_t>(reader.U64()));
  opening.window = std::string(reader.Block());
  opening.reacted = reader.U64() != 0;
  opening.held = SecretBytes(std::string(reader.Block()));
  if (!reader.Done()) {
    database_->Fail(DataLoss("device store: a report row is damaged"));
    return std::nullopt;
  }
  return report;
}

void Tables::PutReport(const ReportRow& row) {
  std::string content;
  content.reserve(row.token.size() + row.features.size() + row.report.size() + 128);
  ByteWriter writer(content);
  writer.Block(row.token);
  writer.Block(row.features);
  writer.Block(row.report);
  const Opening& opening = row.opening;
  writer.U64(static_cast<std::uint64_t>(opening.shown));
  writer.U64(opening.epoch);
  writer.U64(static_cast<std::uint64_t>(ToMicros(opening.close)));
  writer.Block(opening.window);
  writer.U64(opening.reacted ? 1 : 0);
  writer.Block(opening.held.get());
  const SecretBytes erased(std::move(content));
  const auto stored = sealer_->Seal(SealedFor(row.number), erased.get());
  if (!stored.ok()) return database_->Fail(stored.status());
  sql_->put_report.Bind(1, row.number)
      .Bind(2, row.policy)
      .Bind(3, row.owner)
      .Bind(4, static_cast<std::int64_t>(row.state))
      .Bind(5, ToMicros(row.wake_at))
      .Bind(6, ToMicros(row.due_at))
      .BindBlob(7, row.user)
      .BindBlob(8, *stored)
      .BindBlob(9, DigestOf(row, *stored))
      .Run();
}

std::optional<ReportRow> Tables::FindReport(DecisionNumber number) {
  Statement& find = sql_->find_report;
  find.Bind(1, number);
  std::optional<ReportRow> row;
  if (find.Step()) row = ReadReport(find);
  find.Reset();
  return row;
}

void Tables::DeleteReport(DecisionNumber number) { sql_->delete_report.Bind(1, number).Run(); }

std::vector<ReportRow> Tables::Awake(OwnerId owner, ReportState state, absl::Time now, int limit) {
  std::vector<ReportRow> rows;
  Statement& awake = sql_->awake;
  awake.Bind(1, owner).Bind(2, static_cast<std::int64_t>(state)).Bind(3, ToMicros(now));
  awake.Bind(4, std::int64_t{limit});
  while (awake.Step()) {
    auto row = ReadReport(awake);
    if (row) rows.push_back(*std::move(row));
  }
  return rows;
}

std::optional<absl::Time> Tables::NextWake(OwnerId owner) {
  std::optional<absl::Time> earliest;
  for (const ReportState state : {ReportState::kOpen, ReportState::kReady}) {
    Statement& next = sql_->next_wake;
    next.Bind(1, owner).Bind(2, static_cast<std::int64_t>(state));
    // MIN over no rows is one NULL row.
    if (next.Step() && !next.IsNull(0)) {
      const absl::Time wake_at = FromMicros(next.Int(0));
      earliest = earliest ? std::min(*earliest, wake_at) : wake_at;
    }
    next.Reset();
  }
  return earliest;
}

int Tables::Adopt(OwnerId owner, const std::vector<PolicyRow>& policies,
                  const std::set<OwnerId>& live) {
  int adopted = 0;
  for (const PolicyRow& policy : policies) {
    std::vector<OwnerId> orphans;
    sql_->owners.Bind(1, policy.id);
    while (sql_->owners.Step()) {
      if (!live.contains(sql_->owners.Int(0))) orphans.push_back(sql_->owners.Int(0));
    }
    for (const OwnerId orphan : orphans) {
      adopted += sql_->adopt.Bind(1, owner).Bind(2, orphan).Bind(3, policy.id).Run();
    }
  }
  return adopted;
}

bool Tables::IsAnyOpen(absl::Time now) {
  sql_->is_any_open.Bind(1, ToMicros(now));
  const bool any = sql_->is_any_open.Step();
  sql_->is_any_open.Reset();
  return any;
}

std::vector<DecisionNumber> Tables::OpenSince(OwnerId owner, absl::Time time) {
  std::vector<DecisionNumber> numbers;
  sql_->open_since.Bind(1, owner).Bind(2, ToMicros(time));
  while (sql_->open_since.Step()) numbers.push_back(sql_->open_since.Int(0));
  return numbers;
}

void Tables::ReadyAgain(OwnerId owner) { sql_->ready_again.Bind(1, owner).Run(); }

void Tables::TakeForOld(OwnerId owner) {
  std::vector<DecisionNumber> numbers;
  sql_->drawn_of.Bind(1, owner);
  while (sql_->drawn_of.Step()) numbers.push_back(sql_->drawn_of.Int(0));
  for (const DecisionNumber number : numbers) {
    auto row = FindReport(number);
    if (!row) continue;
    row->due_at = absl::UnixEpoch();
    PutReport(*row);
  }
}

void Tables::ReadTime() {
  const auto kept = kept_->Of(kNoModel);
  const auto found = kept.find(kTimeName);
  if (found == kept.end()) return;
  ByteReader reader(found->second);
  time_.latest = FromMicros(reader.I64());
  time_.ahead = absl::Microseconds(reader.I64());
}

void Tables::KeepTime(const MonotoneClock::State& time) {
  if (time.latest < time_.latest + absl::Seconds(1) && time.ahead == time_.ahead) return;
  time_ = time;
  std::string bytes;
  ByteWriter(bytes).I64(ToMicros(time.latest));
  ByteWriter(bytes).I64(absl::ToInt64Microseconds(time.ahead));
  kept_->Put(kNoModel, kTimeName, bytes);
}

Drawn Tables::DrawnState(DecisionNumber number) {
  if (number <= forgotten_) return Drawn::kForgotten;
  sql_->is_drawn.Bind(1, number);
  const bool drawn = sql_->is_drawn.Step();
  sql_->is_drawn.Reset();
  return drawn ? Drawn::kYes : Drawn::kNo;
}

void Tables::MarkDrawn(DecisionNumber number, absl::Time forget_at) {
  moved_ = true;
  drawn_count_ += sql_->mark_drawn.Bind(1, number).Bind(2, ToMicros(forget_at)).Run();
}

void Tables::ForgetDrawnAround(DecisionNumber number, absl::Time now) {
  if (number % kForgetEvery == 0) ForgetDrawn(now, kDrawnMax, kForgetRows);
}

void Tables::ForgetDrawn(absl::Time now, std::int64_t count_max, int limit) {
  DecisionNumber last = 0;
  std::int64_t kept = drawn_count_;
  sql_->oldest_drawn.Bind(1, std::int64_t{limit});
  while (sql_->oldest_drawn.Step()) {
    if (FromMicros(sql_->oldest_drawn.Int(1)) > now && kept <= count_max) {
      sql_->oldest_drawn.Reset();
      break;
    }
    last = sql_->oldest_drawn.Int(0);
    --kept;
  }
  if (last == 0) return;
  forgotten_ = last;
  sql_->set_forgotten.Bind(1, last).Run();
  drawn_count_ -= sql_->forget_drawn.Bind(1, last).Run();
}

}  // namespace bandana::device
