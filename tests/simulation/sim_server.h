// A model's server without threads and without a network: the real gate, log engine, state machine
// and checkpoints, on a disk that crashes.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/design/model_spec.h"
#include "common/model/entries/counters.h"
#include "common/model/paths/make_path.h"
#include "common/model/state/event_sink.h"
#include "common/model/state/model_state.h"
#include "common/random/keyed_stream.h"
#include "server/log/update_log.h"
#include "server/models/admission/report_check.h"
#include "server/models/admission/report_gate.h"
#include "server/models/folder/checkpoint.h"
#include "server/models/hosted_model.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {

// State, statistics and users after some entry.
struct SimState {
  UserIndex users;
  ModelState state;
  std::unique_ptr<StatisticsSink> sink;
};

// Not thread-safe. The disk (CrashVfs) outlives its crashes; everything else of it goes.
class SimServer {
 public:
  using Outcomes = absl::StatusOr<std::vector<ReportResult>>;

  // Defects for the simulation to notice.
  bool mutant_answers_early = false;    // before the log has taken the records
  bool mutant_forgets_ids = false;      // at a restart
  bool mutant_forgets_streams = false;  // in checkpoints
  bool mutant_loses_cells = false;      // those that reports wrote

  SimServer(const ModelSpec& spec, const Clock& clock, std::string log_path);
  ~SimServer();

  // Makes the disk's files. Once, on an empty disk.
  absl::Status Format();
  // Newest valid checkpoint, then the log. Requires !up().
  absl::Status Boot();
  // Power off: memory is gone, files are what CrashVfs leaves. Returns the state that was lost.
  std::unique_ptr<SimState> Crash(TestRng& rng);
  // The newest checkpoint file is one that was cut short.
  void TearCheckpoint(TestRng& rng);
  bool up() const { return running_ != nullptr; }
  // The log failed for good: a real server ends itself.
  bool failed() const { return failed_; }
  // Reports of open decisions alone made the log longer.
  bool reports_showed() const { return reports_showed_; }

  // Queue until Commit, as LogWriter does; `done` is called there.
  void Report(std::vector<ReportedOutcome> outcomes, std::function<void(Outcomes)> done);
  void ReportCounter(ReportedCounter report,
                     std::function<void(absl::StatusOr<ReportResult>)> done);
  void RecordDecision(const Decision& decision);
  void OpenEpoch();
  // A time entry, if windows or ids are due.
  void Tick();
  // One transaction for all that waits.
  void Commit();
  // Applies up to `entries_max` durable entries.
  absl::Status Apply(int entries_max);
  // Keeps the state as a checkpoint; the log goes up to the older of the two.
  absl::Status Checkpoint();

  const EventPath& path() const { return *path_; }
  const SimState& state() const { return *state_; }
  const server::UpdateLog& log() const;
  std::uint64_t epoch() const;
  std::uint64_t counted(std::size_t counter) const { return counters_->Get()[counter]; }
  // Bytes of a checkpoint of the state: equal exactly when all of it is.
  std::string Encode(const SimState& state) const;
  // Moves `state` on by the log's entries after it, all of which must be there.
  absl::Status CatchUp(SimState& state) const;

 private:
  struct Request {
    std::vector<std::string> records;
    server::AppendDone done;
    bool reports = false;  // of decisions whose windows the server closes
  };
  struct Running {
    std::unique_ptr<server::UpdateLog> log;
    std::unique_ptr<server::ReportGate> gate;
    std::deque<Request> queue;
  };

  template <typename Reported>
  void Ask(std::vector<Reported> reports, bool in_cells, std::function<void(Outcomes)> done);
  absl::Status TryBoot();
  absl::StatusOr<server::Checkpoint> NewestCheckpoint();
  void Submit(std::vector<std::string> records, server::AppendDone done, bool reports = false);

  const ModelSpec& spec_;
  const Clock& clock_;
  const std::string log_path_;
  std::unique_ptr<const EventPath> path_;
  server::Intake intake_;
  std::unique_ptr<CellCodec> cells_;
  std::deque<std::string> checkpoints_;  // durable files, oldest first, at most two
  std::unique_ptr<Counters> counters_;
  std::unique_ptr<SimState> state_;
  std::unique_ptr<Running> running_;
  bool failed_ = false;
  bool reports_showed_ = false;
};

}  // namespace bandana::testing
