#include "client/src/tables.h"

#include <cstring>

#include "common/base/check.h"
#include "common/base/sha256.h"
#include "common/base/status.h"

namespace bandana::device {
namespace {

std::int64_t ToMicros(absl::Time time) { return absl::ToUnixMicros(time); }
absl::Time FromMicros(std::int64_t micros) { return absl::FromUnixMicros(micros); }

// Checksum over length-prefixed fields: the first 8 bytes of SHA-256.
class RowDigest {
 public:
  RowDigest& Add(std::int64_t value) {
    hash_.Update({reinterpret_cast<const char*>(&value), sizeof(value)});
    return *this;
  }
  RowDigest& Add(std::string_view bytes) {
    Add(static_cast<std::int64_t>(bytes.size()));
    hash_.Update(bytes);
    return *this;
  }
  std::string Finish() {
    const Sha256Digest digest = hash_.Finish();
    return std::string(AsChars(digest).substr(0, 8));
  }

 private:
  Sha256 hash_;
};

std::string DigestOf(const LedgerRow& row) {
  return RowDigest()
      .Add(row.policy)
      .Add(row.user)
      .Add(static_cast<std::int64_t>(row.events))
      .Finish();
}

// Without owner, state and wake_at, which change without the content.
std::string DigestOf(const ReportRow& row) {
  return RowDigest()
      .Add(row.number)
      .Add(row.policy)
      .Add(ToMicros(row.due_at))
      .Add(row.user)
      .Add(row.token)
      .Add(row.features)
      .Add(row.report)
      .Finish();
}

constexpr char kReportColumns[] =
    "number, policy, owner, state, wake_at, due_at, user, token, features, report, digest";

ReportRow ReadReport(const Statement& row) {
  return {.number = row.Int(0),
          .policy = row.Int(1),
          .owner = row.Int(2),
          .state = static_cast<ReportState>(row.Int(3)),
          .wake_at = FromMicros(row.Int(4)),
          .due_at = FromMicros(row.Int(5)),
          .user = std::string(row.Blob(6)),
          .token = std::string(row.Blob(7)),
          .features = std::string(row.Blob(8)),
          .report = std::string(row.Blob(9))};
}

void BindReport(Statement& statement, const ReportRow& row) {
  statement.Bind(1, row.number)
      .Bind(2, row.policy)
      .Bind(3, row.owner)
      .Bind(4, static_cast<std::int64_t>(row.state))
      .Bind(5, ToMicros(row.wake_at))
      .Bind(6, ToMicros(row.due_at))
      .BindBlob(7, row.user)
      .BindBlob(8, row.token)
      .BindBlob(9, row.features)
      .BindBlob(10, row.report)
      .BindBlob(11, DigestOf(row));
}

}  // namespace

struct Tables::Statements {
  Statement store, next_run, find_policy, add_policy, policies;
  Statement events, set_events, ledger;
  Statement put_report, find_report, delete_report, awake, next_wake, owners, adopt;
  Statement is_drawn, mark_drawn, oldest_drawn, forget_drawn, set_forgotten, count_drawn;

  absl::Status Prepare(Database& database);
};

absl::Status Tables::Statements::Prepare(Database& database) {
  const std::string columns = kReportColumns;
  const struct {
    Statement* statement;
    std::string sql;
  } all[] = {
      {&store, "SELECT identity, forgotten FROM store"},
      {&next_run, "UPDATE store SET run = run + 1 RETURNING run"},
      {&find_policy, "SELECT id FROM policies WHERE model = ?1 AND hash = ?2"},
      {&add_policy,
       "INSERT INTO policies(model, hash, epsilon, delta) VALUES (?1, ?2, ?3, ?4) RETURNING id"},
      {&policies, "SELECT id, hash, epsilon, delta FROM policies WHERE model = ?1 ORDER BY id"},
      {&events, "SELECT events FROM ledger WHERE policy = ?1 AND user = ?2"},
      {&set_events,
       "INSERT OR REPLACE INTO ledger(policy, user, events, digest) "
       "VALUES (?1, ?2, ?3, ?4)"},
      {&ledger, "SELECT policy, user, events, digest FROM ledger"},
      {&put_report, "INSERT OR REPLACE INTO reports(" + columns +
                        ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"},
      {&find_report, "SELECT " + columns + " FROM reports WHERE number = ?1"},
      {&delete_report, "DELETE FROM reports WHERE number = ?1"},
      {&awake, "SELECT " + columns +
                   " FROM reports WHERE owner = ?1 AND state = ?2 AND "
                   "wake_at <= ?3 ORDER BY wake_at LIMIT ?4"},
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
  };
  for (const auto& entry : all) {
    BANDANA_ASSIGN_OR_RETURN(*entry.statement, database.Prepare(entry.sql.c_str()));
  }
  return absl::OkStatus();
}

Tables::Tables(std::unique_ptr<Database> database)
    : database_(std::move(database)), sql_(std::make_unique<Statements>()) {}

Tables::~Tables() = default;

absl::StatusOr<std::unique_ptr<Tables>> Tables::Create(std::unique_ptr<Database> database) {
  std::unique_ptr<Tables> tables(new Tables(std::move(database)));
  // A file with our mark but other tables is not ours.
  if (const absl::Status status = tables->sql_->Prepare(*tables->database_); !status.ok()) {
    return DataLoss("device store: tables differ from format 1: ", status.message());
  }
  BANDANA_RETURN_IF_ERROR(tables->VerifyRows());
  return tables;
}

absl::Status Tables::VerifyRows() {
  while (sql_->ledger.Step()) {
    const LedgerRow row = {sql_->ledger.Int(0), std::string(sql_->ledger.Blob(1)),
                           static_cast<std::uint64_t>(sql_->ledger.Int(2))};
    if (sql_->ledger.Blob(3) != DigestOf(row)) {
      sql_->ledger.Reset();
      return DataLoss("device store: a ledger row is damaged");
    }
  }
  {
    BANDANA_ASSIGN_OR_RETURN(
        Statement reports,
        database_->Prepare(absl::StrCat("SELECT ", kReportColumns, " FROM reports").c_str()));
    while (reports.Step()) {
      if (reports.Blob(10) != DigestOf(ReadReport(reports))) {
        return DataLoss("device store: a report row is damaged");
      }
    }
  }
  if (Identity().size() != 16) return DataLoss("device store: no identity");
  Reload();
  return database_->failure();
}

void Tables::Reload() {
  if (sql_->store.Step()) forgotten_ = sql_->store.Int(1);
  sql_->store.Reset();
  if (sql_->count_drawn.Step()) drawn_count_ = sql_->count_drawn.Int(0);
  sql_->count_drawn.Reset();
}

std::string Tables::Identity() {
  std::string identity;
  if (sql_->store.Step()) identity = std::string(sql_->store.Blob(0));
  sql_->store.Reset();
  return identity;
}

std::int64_t Tables::NextRun() {
  const std::int64_t run = sql_->next_run.Step() ? sql_->next_run.Int(0) : 0;
  sql_->next_run.Run();
  return run;
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

std::uint64_t Tables::Events(PolicyId policy, std::string_view user) {
  Statement& events = sql_->events;
  events.Bind(1, policy).BindBlob(2, user);
  std::uint64_t count = 0;
  if (events.Step()) count = static_cast<std::uint64_t>(events.Int(0));
  events.Reset();
  return count;
}

void Tables::SetEvents(const LedgerRow& row) {
  sql_->set_events.Bind(1, row.policy)
      .BindBlob(2, row.user)
      .Bind(3, static_cast<std::int64_t>(row.events))
      .BindBlob(4, DigestOf(row))
      .Run();
}

std::vector<LedgerRow> Tables::Ledger() {
  std::vector<LedgerRow> rows;
  Statement& ledger = sql_->ledger;
  while (ledger.Step()) {
    rows.push_back(
        {ledger.Int(0), std::string(ledger.Blob(1)), static_cast<std::uint64_t>(ledger.Int(2))});
  }
  return rows;
}

void Tables::PutReport(const ReportRow& row) {
  BindReport(sql_->put_report, row);
  sql_->put_report.Run();
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
  while (awake.Step()) rows.push_back(ReadReport(awake));
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

Drawn Tables::DrawnState(DecisionNumber number) {
  if (number <= forgotten_) return Drawn::kForgotten;
  sql_->is_drawn.Bind(1, number);
  const bool drawn = sql_->is_drawn.Step();
  sql_->is_drawn.Reset();
  return drawn ? Drawn::kYes : Drawn::kNo;
}

void Tables::MarkDrawn(DecisionNumber number, absl::Time forget_at) {
  drawn_count_ += sql_->mark_drawn.Bind(1, number).Bind(2, ToMicros(forget_at)).Run();
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
