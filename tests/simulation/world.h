// One simulated world: a server, devices, the network between them and a clock, all decided by one
// seed in one thread. Every step checks every invariant.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/design/model_spec.h"
#include "tests/simulation/history.h"
#include "tests/simulation/sim_server.h"
#include "tests/support/fake_clock.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {

struct WorldFigures {
  std::uint64_t entries = 0;
  std::uint64_t acknowledged = 0;  // reports and steps
  std::uint64_t crashes = 0;
  std::uint64_t device_crashes = 0;
  std::uint64_t lost_messages = 0;
  std::uint64_t faults = 0;  // of the disk
};

class World {
 public:
  // `folder`: of the names of the server's files, which live in memory.
  World(const ModelSpec& spec, const std::string& folder, std::uint64_t seed);

  // Runs `steps` steps, then heals everything and lets all reports arrive. "" or the violation.
  std::string Run(int steps);
  const WorldFigures& figures() const { return figures_; }

  // Defects to be noticed, one at a time: what a test of the test needs.
  enum class Mutant {
    kNone,
    kAnswersEarly,    // the server answers before the log has taken the report
    kForgetsIds,      // the server forgets at a restart which decisions it has
    kForgetsStreams,  // its checkpoints lack the devices' streams
    kRedrawsSteps,    // a device draws a step anew when it sends it again
    kReusesDebits,    // a device opens two streams for one debit
    kLosesCells,      // the server keeps reports of open decisions in memory only
  };
  void Plant(Mutant mutant);

 private:
  struct Stream {
    StreamId id{};
    std::uint64_t epoch = 0;
    std::uint64_t acknowledged = 0;
    bool ended = false;
    std::string state;                // of the counter, after all steps
    std::vector<Decision> decisions;  // one a step
    std::vector<std::vector<double>> moments;
  };
  // The durable data of a device; a crash loses what has not got here.
  struct Device {
    std::string user;
    int node = 0;
    std::vector<ReportedOutcome> pending;
    std::vector<Stream> streams;
    std::uint64_t debits = 0;
  };

  void Step();
  void React(Device& device);
  void TakeStep(Device& device, const Decision& decision, double reward);
  void Send(std::size_t device);
  void SendOutcomes(std::size_t device);
  void SendStream(std::size_t device, std::size_t stream);
  void OnOutcomes(std::size_t device, const std::vector<ReportedOutcome>& sent,
                  const SimServer::Outcomes& results);
  void OnCounter(std::size_t device, std::size_t stream,
                 const absl::StatusOr<ReportResult>& result);
  void Deliver();
  void CommitAndApply();
  void BreakDisk();
  void MoveClock();
  void CrashServer();
  void BootServer();
  void Settle();
  void CheckLedger();
  // All windows close, whatever was reported.
  void CloseWindows();
  void Check(const absl::Status& status);
  void Violation(const std::string& what);

  const ModelSpec& spec_;
  TestRng rng_;
  FakeClock clock_;
  SeededBits bits_;
  SimServer server_;
  DrawnMoments drawn_;
  History history_;
  std::vector<Device> devices_;
  std::vector<std::function<void()>> network_;
  std::unique_ptr<SimState> lost_;  // the state of the server before it crashed
  std::vector<PrivacyTotals> ledger_floor_;
  std::uint64_t next_id_ = 1;
  bool lossy_ = true;
  bool history_known_ = true;  // all that is durable has been observed
  Mutant mutant_ = Mutant::kNone;
  WorldFigures figures_;
  std::string violation_;
};

}  // namespace bandana::testing
