#include "client/src/store/stream_rows.h"

#include <limits>
#include <utility>

#include "client/src/store/row_digest.h"
#include "common/base/bytes.h"
#include "common/base/status.h"

namespace bandana::device {
namespace {

constexpr char kColumns[] =
    "id, policy, owner, user, epoch, stream, end, step, acknowledged, state, digest";

StreamRow Read(const Statement& row) {
  return {.id = row.Int(0),
          .policy = row.Int(1),
          .owner = row.Int(2),
          .user = std::string(row.Blob(3)),
          .epoch = static_cast<std::uint64_t>(row.Int(4)),
          .stream = std::string(row.Blob(5)),
          .end = static_cast<StreamEnd>(row.Int(6)),
          .step = static_cast<std::uint64_t>(row.Int(7)),
          .acknowledged = static_cast<std::uint64_t>(row.Int(8))};
}

// Without owner and acknowledged, which change without the content. Over the stored state, sealed
// or not: a digest of what a seal hides would give it away.
std::string DigestOf(const StreamRow& row, std::string_view state) {
  return RowDigest()
      .Add(row.id)
      .Add(row.policy)
      .Add(row.user)
      .Add(static_cast<std::int64_t>(row.epoch))
      .Add(row.stream)
      .Add(static_cast<std::int64_t>(row.end))
      .Add(static_cast<std::int64_t>(row.step))
      .Add(state)
      .Finish();
}

std::string DigestOf(StreamId stream, std::uint64_t step, DecisionNumber number,
                     std::string_view content) {
  return RowDigest()
      .Add(stream)
      .Add(static_cast<std::int64_t>(step))
      .Add(number)
      .Add(content)
      .Finish();
}

// What a sealed column is bound to beside the store.
std::string SealedFor(const char* table, StreamId stream, std::uint64_t step) {
  std::string name = table;
  ByteWriter(name).U64(static_cast<std::uint64_t>(stream));
  ByteWriter(name).U64(step);
  return name;
}

}  // namespace

std::string_view NameOf(StreamEnd end) {
  switch (end) {
    case StreamEnd::kNone:
      return "";
    case StreamEnd::kExhausted:
      return "exhausted";
    case StreamEnd::kForked:
      return "forked";
    case StreamEnd::kGap:
      return "gap";
    case StreamEnd::kToken:
      return "token";
    case StreamEnd::kEpoch:
      return "epoch";
    case StreamEnd::kPolicy:
      return "policy";
    case StreamEnd::kRolledBack:
      return "rolled back";
    case StreamEnd::kRefused:
      return "refused";
  }
  return "unknown";
}

struct StreamRows::Statements {
  Statement add, find, current, of, of_user, put, put_acknowledged, owners, adopt;
  Statement add_step, steps, count_steps, numbers, delete_steps;
};

StreamRows::StreamRows(Database* database, Sealer* sealer)
    : database_(database), sealer_(sealer), sql_(std::make_unique<Statements>()) {}
StreamRows::~StreamRows() = default;

absl::StatusOr<std::unique_ptr<StreamRows>> StreamRows::Create(Database* database, Sealer* sealer) {
  std::unique_ptr<StreamRows> rows(new StreamRows(database, sealer));
  if (const absl::Status status = rows->Prepare(); !status.ok()) {
    return DataLoss("device store: tables differ: ", status.message());
  }
  return rows;
}

absl::Status StreamRows::Prepare() {
  const std::string select = absl::StrCat("SELECT ", kColumns, " FROM streams ");
  const struct {
    Statement* statement;
    std::string sql;
  } all[] = {
      {&sql_->add,
       "INSERT INTO streams(policy, owner, user, epoch, stream, end, step, acknowledged, state, "
       "digest) VALUES (?1, ?2, ?3, ?4, ?5, 0, 0, 0, x'', x'') RETURNING id"},
      {&sql_->find, select + "WHERE id = ?1"},
      {&sql_->current, select + "WHERE policy = ?1 AND user = ?2 AND owner = ?3 AND epoch = ?4 "
                                "ORDER BY id DESC LIMIT 1"},
      {&sql_->of, select + "WHERE policy = ?1 ORDER BY id"},
      {&sql_->of_user, select + "WHERE policy = ?1 AND user = ?2 ORDER BY id"},
      {&sql_->put,
       "UPDATE streams SET end = ?2, step = ?3, acknowledged = ?4, state = ?5, digest = ?6 "
       "WHERE id = ?1"},
      {&sql_->put_acknowledged, "UPDATE streams SET acknowledged = ?2 WHERE id = ?1"},
      {&sql_->owners, "SELECT DISTINCT owner FROM streams WHERE policy = ?1"},
      {&sql_->adopt, "UPDATE streams SET owner = ?1 WHERE owner = ?2 AND policy = ?3"},
      {&sql_->add_step, "INSERT INTO steps VALUES (?1, ?2, ?3, ?4, ?5)"},
      {&sql_->steps,
       "SELECT step, number, content FROM steps WHERE stream = ?1 AND step > ?2 "
       "ORDER BY step LIMIT ?3"},
      {&sql_->count_steps, "SELECT COUNT(*) FROM steps WHERE stream = ?1"},
      {&sql_->numbers, "SELECT number FROM steps WHERE stream = ?1 ORDER BY step"},
      {&sql_->delete_steps, "DELETE FROM steps WHERE stream = ?1 AND step <= ?2"},
  };
  for (const auto& entry : all) {
    BANDANA_ASSIGN_OR_RETURN(*entry.statement, database_->Prepare(entry.sql.c_str()));
  }
  return absl::OkStatus();
}

absl::Status StreamRows::Verify() {
  BANDANA_ASSIGN_OR_RETURN(
      Statement streams,
      database_->Prepare(absl::StrCat("SELECT ", kColumns, " FROM streams").c_str()));
  while (streams.Step()) {
    if (streams.Blob(10) != DigestOf(Read(streams), streams.Blob(9))) {
      return DataLoss("device store: a stream row is damaged");
    }
    BANDANA_RETURN_IF_ERROR(State(Read(streams)).status());
  }
  BANDANA_ASSIGN_OR_RETURN(
      Statement steps,
      database_->Prepare("SELECT stream, step, number, content, digest FROM steps"));
  while (steps.Step()) {
    const auto step = static_cast<std::uint64_t>(steps.Int(1));
    if (steps.Blob(4) != DigestOf(steps.Int(0), step, steps.Int(2), steps.Blob(3))) {
      return DataLoss("device store: a step row is damaged");
    }
    BANDANA_RETURN_IF_ERROR(
        sealer_->Open(SealedFor("steps", steps.Int(0), step), steps.Blob(3)).status());
  }
  return database_->failure();
}

absl::Status StreamRows::Reseal(Sealer& former) {
  BANDANA_ASSIGN_OR_RETURN(
      Statement streams,
      database_->Prepare(absl::StrCat("SELECT ", kColumns, " FROM streams").c_str()));
  std::vector<std::pair<StreamRow, SecretBytes>> states;
  while (streams.Step()) {
    StreamRow row = Read(streams);
    if (streams.Blob(10) != DigestOf(row, streams.Blob(9))) {
      return DataLoss("device store: a stream row is damaged");
    }
    if (streams.Blob(9).empty()) continue;
    auto state = former.Open(SealedFor("streams", row.id, row.step), streams.Blob(9));
    if (!state.ok()) return state.status();
    states.emplace_back(std::move(row), SecretBytes(*std::move(state)));
  }
  for (const auto& [row, state] : states) Put(row, state);
  BANDANA_ASSIGN_OR_RETURN(
      Statement steps,
      database_->Prepare("SELECT stream, step, number, content, digest FROM steps"));
  std::vector<std::pair<StreamId, StepRow>> rows;
  while (steps.Step()) {
    StepRow row = {.step = static_cast<std::uint64_t>(steps.Int(1)), .number = steps.Int(2)};
    if (steps.Blob(4) != DigestOf(steps.Int(0), row.step, row.number, steps.Blob(3))) {
      return DataLoss("device store: a step row is damaged");
    }
    auto content = former.Open(SealedFor("steps", steps.Int(0), row.step), steps.Blob(3));
    if (!content.ok()) return content.status();
    row.content = *std::move(content);
    rows.emplace_back(steps.Int(0), std::move(row));
  }
  BANDANA_RETURN_IF_ERROR(database_->Execute("DELETE FROM steps"));
  for (const auto& [stream, row] : rows) AddStep(stream, row);
  return database_->failure();
}

void StreamRows::Add(StreamRow& row) {
  sql_->add.Bind(1, row.policy)
      .Bind(2, row.owner)
      .BindBlob(3, row.user)
      .Bind(4, static_cast<std::int64_t>(row.epoch))
      .BindBlob(5, row.stream);
  row.id = sql_->add.Step() ? sql_->add.Int(0) : 0;
  sql_->add.Run();
  Put(row, SecretBytes());
}

std::optional<StreamRow> StreamRows::Find(StreamId id) {
  sql_->find.Bind(1, id);
  std::optional<StreamRow> row;
  if (sql_->find.Step()) row = Read(sql_->find);
  sql_->find.Reset();
  return row;
}

std::optional<StreamRow> StreamRows::Current(PolicyId policy, OwnerId owner, std::string_view user,
                                             std::uint64_t epoch) {
  Statement& current = sql_->current;
  current.Bind(1, policy).BindBlob(2, user).Bind(3, owner);
  current.Bind(4, static_cast<std::int64_t>(epoch));
  std::optional<StreamRow> row;
  if (current.Step()) row = Read(current);
  current.Reset();
  return row;
}

std::vector<StreamRow> StreamRows::Of(PolicyId policy, std::string_view user) {
  Statement& of = user.empty() ? sql_->of : sql_->of_user;
  of.Bind(1, policy);
  if (!user.empty()) of.BindBlob(2, user);
  std::vector<StreamRow> rows;
  while (of.Step()) rows.push_back(Read(of));
  return rows;
}

absl::StatusOr<SecretBytes> StreamRows::State(const StreamRow& row) {
  sql_->find.Bind(1, row.id);
  std::string stored;
  if (sql_->find.Step()) stored = std::string(sql_->find.Blob(9));
  sql_->find.Reset();
  const SecretBytes erased(std::move(stored));
  if (row.step == 0 || row.end != StreamEnd::kNone) return SecretBytes();
  auto state = sealer_->Open(SealedFor("streams", row.id, row.step), erased.get());
  if (!state.ok()) return state.status();
  return SecretBytes(*std::move(state));
}

void StreamRows::Put(const StreamRow& row, const SecretBytes& state) {
  std::string stored;
  if (!state.get().empty()) {
    auto sealed = sealer_->Seal(SealedFor("streams", row.id, row.step), state.get());
    if (!sealed.ok()) return database_->Fail(sealed.status());
    stored = *std::move(sealed);
  }
  sql_->put.Bind(1, row.id)
      .Bind(2, static_cast<std::int64_t>(row.end))
      .Bind(3, static_cast<std::int64_t>(row.step))
      .Bind(4, static_cast<std::int64_t>(row.acknowledged))
      .BindBlob(5, stored)
      .BindBlob(6, DigestOf(row, stored))
      .Run();
  Erase(stored);
}

void StreamRows::AddStep(StreamId stream, const StepRow& step) {
  const auto content = sealer_->Seal(SealedFor("steps", stream, step.step), step.content);
  if (!content.ok()) return database_->Fail(content.status());
  sql_->add_step.Bind(1, stream)
      .Bind(2, static_cast<std::int64_t>(step.step))
      .Bind(3, step.number)
      .BindBlob(4, *content)
      .BindBlob(5, DigestOf(stream, step.step, step.number, *content))
      .Run();
}

absl::StatusOr<std::vector<StepRow>> StreamRows::Steps(StreamId stream, std::uint64_t after,
                                                       int limit) {
  Statement& steps = sql_->steps;
  steps.Bind(1, stream).Bind(2, static_cast<std::int64_t>(after)).Bind(3, std::int64_t{limit});
  std::vector<StepRow> rows;
  while (steps.Step()) {
    StepRow row = {.step = static_cast<std::uint64_t>(steps.Int(0)), .number = steps.Int(1)};
    auto content = sealer_->Open(SealedFor("steps", stream, row.step), steps.Blob(2));
    if (!content.ok()) {
      steps.Reset();
      return content.status();
    }
    row.content = *std::move(content);
    rows.push_back(std::move(row));
  }
  return rows;
}

int StreamRows::CountSteps(StreamId stream) {
  sql_->count_steps.Bind(1, stream);
  const int count = sql_->count_steps.Step() ? static_cast<int>(sql_->count_steps.Int(0)) : 0;
  sql_->count_steps.Reset();
  return count;
}

void StreamRows::Acknowledge(StreamId stream, std::uint64_t step) {
  sql_->delete_steps.Bind(1, stream).Bind(2, static_cast<std::int64_t>(step)).Run();
  sql_->put_acknowledged.Bind(1, stream).Bind(2, static_cast<std::int64_t>(step)).Run();
}

void StreamRows::End(const StreamRow& row, StreamEnd end) {
  StreamRow ended = row;
  ended.end = end;
  Put(ended, SecretBytes());
  database_->ScrubLog();
}

std::vector<DecisionNumber> StreamRows::DropSteps(StreamId stream) {
  std::vector<DecisionNumber> numbers;
  sql_->numbers.Bind(1, stream);
  while (sql_->numbers.Step()) numbers.push_back(sql_->numbers.Int(0));
  sql_->delete_steps.Bind(1, stream).Bind(2, std::numeric_limits<std::int64_t>::max()).Run();
  return numbers;
}

void StreamRows::Adopt(OwnerId owner, PolicyId policy, const std::set<OwnerId>& live) {
  std::vector<OwnerId> orphans;
  sql_->owners.Bind(1, policy);
  while (sql_->owners.Step()) {
    if (!live.contains(sql_->owners.Int(0))) orphans.push_back(sql_->owners.Int(0));
  }
  for (const OwnerId orphan : orphans) {
    sql_->adopt.Bind(1, owner).Bind(2, orphan).Bind(3, policy).Run();
  }
}

}  // namespace bandana::device
