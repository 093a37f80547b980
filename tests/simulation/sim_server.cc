#include "tests/simulation/sim_server.h"

#include <utility>

#include "common/bandits/statistics.h"
#include "common/base/status.h"
#include "common/promise/event_rule.h"
#include "common/random/bit_source.h"
#include "server/log/sqlite_log.h"
#include "server/models/admission/gate_setup.h"
#include "server/models/admission/report_check.h"
#include "server/models/admission/verdict.h"
#include "tests/support/crash_vfs.h"

namespace bandana::testing {
namespace {

using server::Admission;

constexpr InstanceId kInstance{std::byte{42}};

server::SqliteLogOptions LogOptions(const std::string& path) {
  // No background checkpoint: its thread would make the order of disk calls depend on the machine.
  return {.path = path, .vfs = CrashVfs::kName, .wal_pages_max = 1 << 30};
}

std::shared_ptr<const NoiseKey> Key() {
  std::array<std::byte, 32> bytes{};
  bytes.fill(std::byte{9});
  return std::make_shared<const NoiseKey>(*NoiseKey::FromBytes(bytes));
}

}  // namespace

SimServer::SimServer(const ModelSpec& spec, const Clock& clock, std::string log_path)
    : spec_(spec), clock_(clock), log_path_(std::move(log_path)) {
  path_ = *MakePath(spec, kInstance, Key());
  intake_ = server::MakeIntake(spec_);
  cells_ = std::make_unique<CellCodec>(kInstance, *path_->MakeCellKey(), SystemBits());
}

SimServer::~SimServer() = default;

absl::Status SimServer::Format() {
  CrashVfs::Instance().Format();
  return server::CreateSqliteLog(LogOptions(log_path_), {});
}

absl::StatusOr<server::Checkpoint> SimServer::NewestCheckpoint() {
  while (!checkpoints_.empty()) {
    auto checkpoint = server::DecodeCheckpoint(checkpoints_.back());
    if (checkpoint.ok()) return checkpoint;
    checkpoints_.pop_back();  // torn: the older one is whole
  }
  return NotFound("no checkpoint");
}

absl::Status SimServer::Boot() {
  absl::Status booted = TryBoot();
  if (!booted.ok()) running_.reset();
  return booted;
}

absl::Status SimServer::TryBoot() {
  failed_ = false;
  auto running = std::make_unique<Running>();
  BANDANA_ASSIGN_OR_RETURN(running->log, server::OpenSqliteLog(LogOptions(log_path_)));
  counters_ = std::make_unique<Counters>();
  BANDANA_RETURN_IF_ERROR(counters_->Restore(running->log->counters()));
  auto state = std::make_unique<SimState>();
  std::vector<NodeStatistics> statistics(spec_.coupling.independent() ? 0 : spec_.coupling.nodes(),
                                         EmptyStatistics(spec_.public_spec.dimension));
  if (auto checkpoint = NewestCheckpoint(); checkpoint.ok()) {
    for (const std::string& user : checkpoint->users) state->users.Add(user);
    BANDANA_RETURN_IF_ERROR(server::RestoreStreams(*path_, *checkpoint));
    state->state = std::move(checkpoint->state);
    if (mutant_forgets_streams) state->state.local = {};
    statistics = std::move(checkpoint->statistics);
  }
  if (running->log->trimmed() > state->state.position.sequence) {
    return DataLoss("the log begins after the newest checkpoint");
  }
  state->sink = std::make_unique<StatisticsSink>(spec_.public_spec.dimension, std::move(statistics),
                                                 state->state.fading.steps());
  running_ = std::move(running);
  BANDANA_RETURN_IF_ERROR(CatchUp(*state));
  running_->gate =
      std::make_unique<server::ReportGate>(server::GateOptions(spec_, *path_, *cells_),
                                           state->users, *counters_, [](const LogPosition&) {});
  BANDANA_RETURN_IF_ERROR(running_->log->ForEachId([this](const RememberedId& id) {
    if (!mutant_forgets_ids) running_->gate->Remember(id);
  }));
  BANDANA_RETURN_IF_ERROR(running_->log->ForEachChunk([this](const server::IdChunk& chunk) {
    if (!mutant_forgets_ids) running_->gate->Remember(chunk);
  }));
  running_->gate->ForgetBefore(running_->log->forgotten_before());
  std::vector<NodeStatistics> all;
  for (int node = 0; node < state->sink->nodes(); ++node) {
    all.push_back(state->sink->statistics(node));
  }
  running_->gate->Restore(server::GateStateOf(state->state, all));
  BANDANA_RETURN_IF_ERROR(
      running_->gate->RestoreWindows(state->state.windows, *running_->log, /*former=*/{}));
  state_ = std::move(state);
  return absl::OkStatus();
}

std::unique_ptr<SimState> SimServer::Crash(TestRng& rng) {
  CrashVfs::Instance().Crash(rng);
  running_.reset();  // its handles are of the run before: they change nothing
  return std::move(state_);
}

void SimServer::TearCheckpoint(TestRng& rng) {
  const std::string whole = Encode(*state_);
  checkpoints_.push_back(whole.substr(0, rng.Index(static_cast<int>(whole.size()))));
}

const server::UpdateLog& SimServer::log() const { return *running_->log; }
std::uint64_t SimServer::epoch() const { return running_->gate->epoch(); }

void SimServer::Submit(std::vector<std::string> records, server::AppendDone done, bool reports) {
  running_->queue.push_back({std::move(records), std::move(done), reports});
}

template <typename Reported>
void SimServer::Ask(std::vector<Reported> reports, bool in_cells,
                    std::function<void(Outcomes)> done) {
  std::vector<ReportResult> results(reports.size());
  std::vector<std::string> records;
  std::vector<std::size_t> asked;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const auto checked =
        std::get<server::CheckOf<Reported>>(intake_)->Check(reports[i], clock_.Now());
    if (const auto* reason = std::get_if<v1::RejectReason>(&checked)) {
      results[i] = {.code = v1::REJECTED, .reason = *reason};
      continue;
    }
    asked.push_back(i);
    records.push_back(std::get<server::CheckedReport>(checked).request);
  }
  Submit(
      std::move(records),
      [results = std::move(results), asked = std::move(asked), done = std::move(done)](
          const absl::Status& status, std::span<const Admission> verdicts) mutable {
        if (!status.ok()) return done(status);
        for (std::size_t i = 0; i < asked.size(); ++i) {
          const auto result = server::ResultOf(verdicts[i]);
          if (!result) return done(Unavailable("no room"));
          results[asked[i]] = *result;
        }
        done(std::move(results));
      },
      in_cells);
}

void SimServer::Report(std::vector<ReportedOutcome> outcomes, std::function<void(Outcomes)> done) {
  Ask(std::move(outcomes), ClosesWindows(spec_.public_spec), std::move(done));
}

void SimServer::ReportCounter(ReportedCounter report,
                              std::function<void(absl::StatusOr<ReportResult>)> done) {
  const StreamId stream = report.stream;
  Ask<ReportedCounter>({std::move(report)}, /*in_cells=*/false,
                       [this, stream, done = std::move(done)](Outcomes results) {
                         if (!results.ok()) return done(results.status());
                         ReportResult result = results->front();
                         result.acknowledged_step = running_->gate->AcknowledgedStep(stream);
                         done(result);
                       });
}

void SimServer::RecordDecision(const Decision& decision) {
  if (auto opening = server::OpeningOf(intake_, {&decision, 1})) {
    Submit({*std::move(opening)}, nullptr);
  }
}

void SimServer::OpenEpoch() { Submit({bandana::Encode(EpochRecord{epoch() + 1})}, nullptr); }

void SimServer::Tick() {
  const absl::Time now = clock_.Now();
  const absl::Time due = std::min(state_->state.windows.next_close(), running_->gate->forget_due());
  if (due <= now) Submit({bandana::Encode(TimeRecord{now})}, nullptr);
}

// LogWriter::Write without its thread.
void SimServer::Commit() {
  std::deque<Request> group;
  group.swap(running_->queue);
  server::LogBatch batch;
  std::vector<Admission> verdicts;
  bool reports_alone = !group.empty();
  for (const Request& request : group) {
    reports_alone = reports_alone && request.reports;
    const std::size_t cells = batch.cells.size();
    for (const std::string& record : request.records) {
      verdicts.push_back(running_->gate->Judge(record, batch));
    }
    if (mutant_loses_cells && request.reports) batch.cells.resize(cells);
  }
  reports_showed_ = reports_showed_ || (reports_alone && !batch.records.empty());
  running_->gate->Complete(batch);
  batch.forget_before = running_->gate->ForgetBefore();
  const bool store = !batch.records.empty() || !batch.cells.empty() || batch.forget_before ||
                     running_->gate->CountersChanged();
  absl::Status status;
  if (store) {
    batch.counters = running_->gate->EncodeCounters();
    status = running_->log->Append(batch);
  }
  if (status.ok()) {
    running_->gate->Commit(running_->log->last(), store);
  } else {
    running_->gate->Rollback();
    failed_ = failed_ || !absl::IsResourceExhausted(status);
  }
  std::span<const Admission> rest = verdicts;
  for (Request& request : group) {
    const std::size_t count = request.records.size();
    const absl::Status answer = mutant_answers_early ? absl::OkStatus() : status;
    if (request.done) request.done(answer, answer.ok() ? rest.first(count) : rest.first(0));
    rest = rest.subspan(count);
    // Requests that nobody could repeat wait for space.
    if (!status.ok() && !request.done && !failed_) running_->queue.push_back(std::move(request));
  }
}

absl::Status SimServer::Apply(int entries_max) {
  std::vector<LogEntry> entries;
  BANDANA_RETURN_IF_ERROR(running_->log->Read(state_->state.position, entries_max, entries));
  for (const LogEntry& entry : entries) {
    BANDANA_RETURN_IF_ERROR(state_->state.Apply(entry, *path_, state_->users, *state_->sink));
  }
  return absl::OkStatus();
}

absl::Status SimServer::CatchUp(SimState& state) const {
  for (;;) {
    std::vector<LogEntry> entries;
    BANDANA_RETURN_IF_ERROR(running_->log->Read(state.state.position, 64, entries));
    if (entries.empty()) return absl::OkStatus();
    for (const LogEntry& entry : entries) {
      BANDANA_RETURN_IF_ERROR(state.state.Apply(entry, *path_, state.users, *state.sink));
    }
  }
}

std::string SimServer::Encode(const SimState& state) const {
  server::CheckpointSource source{.instance = kInstance,
                                  .dimension = spec_.public_spec.dimension,
                                  .state = &state.state,
                                  .nodes = state.sink->nodes()};
  source.statistics = [&](int node) -> const NodeStatistics& {
    return state.sink->statistics(node);
  };
  if (spec_.coupling.independent()) source.users = &state.users;
  return server::EncodeCheckpoint(source);
}

absl::Status SimServer::Checkpoint() {
  checkpoints_.push_back(Encode(*state_));
  if (checkpoints_.size() < 2) return absl::OkStatus();
  while (checkpoints_.size() > 2) checkpoints_.pop_front();
  BANDANA_ASSIGN_OR_RETURN(const server::Checkpoint older,
                           server::DecodeCheckpoint(checkpoints_.front()));
  const absl::StatusOr<bool> more = running_->log->Trim(older.state.position.sequence, 16);
  if (absl::IsResourceExhausted(more.status())) return absl::OkStatus();
  failed_ = failed_ || !more.ok();
  return absl::OkStatus();
}

}  // namespace bandana::testing
