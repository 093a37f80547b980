#include "tests/simulation/world.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/core/counter_stream.h"
#include "common/base/status.h"
#include "common/design/identity.h"
#include "common/promise/event_rule.h"
#include "common/promise/mechanism.h"
#include "tests/support/crash_vfs.h"

namespace bandana::testing {
namespace {

constexpr int kDevices = 3;
constexpr std::size_t kReportStepsMax = 6;

bool AtLeast(const PrivacyTotals& a, const PrivacyTotals& b) {
  return a.pure >= b.pure && a.mu_squared >= b.mu_squared && a.rho >= b.rho &&
         a.variation >= b.variation && a.releases_pure >= b.releases_pure &&
         a.releases_gaussian >= b.releases_gaussian && a.releases_zcdp >= b.releases_zcdp;
}

std::string BytesOf(const std::vector<double>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)};
}

}  // namespace

World::World(const ModelSpec& spec, const std::string& folder, std::uint64_t seed)
    : spec_(spec),
      rng_(seed),
      bits_(seed),
      server_(spec, clock_, folder + "/log.sqlite"),
      history_(spec, server_.path(), drawn_) {
  for (int i = 0; i < kDevices; ++i) {
    const bool independent = spec.coupling.independent();
    devices_.push_back(
        {.user = absl::StrCat("user", i), .node = independent ? -1 : i % spec.coupling.nodes()});
  }
}

void World::Plant(Mutant mutant) {
  mutant_ = mutant;
  server_.mutant_answers_early = mutant == Mutant::kAnswersEarly;
  server_.mutant_forgets_ids = mutant == Mutant::kForgetsIds;
  server_.mutant_forgets_streams = mutant == Mutant::kForgetsStreams;
  server_.mutant_loses_cells = mutant == Mutant::kLosesCells;
}

std::string World::Run(int steps) {
  Check(server_.Format());
  Check(server_.Boot());
  for (int i = 0; i < steps && violation_.empty(); ++i) {
    Step();
    if (!violation_.empty()) absl::StrAppend(&violation_, " (step ", i, ")");
  }
  if (violation_.empty()) Settle();
  figures_.entries = history_.entries();
  return violation_;
}

void World::Step() {
  if (!server_.up()) {
    if (rng_.Index(3) == 0) BootServer();
  }
  Device& device = devices_[rng_.Index(kDevices)];
  switch (rng_.Index(12)) {
    case 0:
    case 1:
    case 2:
      React(device);
      break;
    case 3:
    case 4:
      Send(static_cast<std::size_t>(&device - devices_.data()));
      break;
    case 5:
    case 6:
    case 7:
      Deliver();
      break;
    case 8:
    case 9:
      if (server_.up()) CommitAndApply();
      break;
    case 10:
      MoveClock();
      if (server_.up()) server_.Tick();
      break;
    default:
      BreakDisk();
  }
  if (server_.up() && rng_.Index(25) == 0) Check(server_.Checkpoint());
  if (server_.up() && rng_.Index(150) == 0) server_.OpenEpoch();
  if (!server_.up()) return;
  if (server_.failed() || !CrashVfs::Instance().powered() || rng_.Index(60) == 0) CrashServer();
}

// A selection, and the reaction to it.
void World::React(Device& device) {
  if (!server_.up()) return;
  Decision decision{.epoch = server_.epoch(), .time = clock_.Now(), .node = device.node};
  if (device.node < 0) decision.user = device.user;
  std::memcpy(decision.id.data() + 8, &next_id_, sizeof next_id_);
  ++next_id_;
  decision.arms.push_back({.propensity = 1, .features = rng_.UnitVector(2)});
  const double reward = 2 * rng_.Uniform() - 0.5;
  server_.RecordDecision(decision);
  const Mechanism& mechanism = *spec_.public_spec.made;
  if (mechanism.drawn_on_device() && mechanism.counter() != nullptr) {
    return TakeStep(device, decision, reward);
  }
  ReportedOutcome outcome{.decision = decision};
  if (mechanism.drawn_on_device()) {
    const RewardReports& rewards = *mechanism.rewards();
    const ClippedReward clipped =
        rewards.Clip(RawReward(reward), spec_.public_spec.default_reward(), std::nullopt);
    outcome.output = rewards.Draw(clipped, bits_)->output();
  } else {
    outcome.reward = reward;
  }
  device.pending.push_back(std::move(outcome));
}

// As StreamPrivatizer: the debit is durable before the draw, and step, state and release become
// durable together.
void World::TakeStep(Device& device, const Decision& decision, double reward) {
  const CounterDesign& design = spec_.public_spec.made->counter()->design;
  Stream* stream = device.streams.empty() ? nullptr : &device.streams.back();
  if (stream == nullptr || stream->ended || stream->epoch != decision.epoch) {
    if (mutant_ != Mutant::kReusesDebits || device.debits == 0) ++device.debits;
    if (rng_.Index(10) == 0) {
      ++figures_.device_crashes;
      return;  // the debit stands
    }
    Stream fresh{.epoch = decision.epoch};
    (void)bits_.Fill(fresh.id);
    device.streams.push_back(std::move(fresh));
    stream = &device.streams.back();
    if (device.streams.size() > device.debits) return Violation("a stream without a debit");
  }
  auto counter = device::CounterStream::Restore(design, device::SecretBytes(stream->state));
  if (!counter.ok()) return Check(counter.status());
  if (counter->step() != stream->moments.size()) return Violation("a device's counter lost a step");
  if (counter->step() >= design.step_cap()) return;
  const PublicSpec& p = spec_.public_spec;
  const auto held = device::HeldReward::Clip(reward, p.reward_range, p.default_reward());
  const auto moment =
      counter->Step(decision.arms[0].features, held, p.reward_range.middle(), bits_);
  if (!moment.ok()) return Check(moment.status());
  if (rng_.Index(20) == 0) {
    ++figures_.device_crashes;
    return;  // drawn and never seen by anyone
  }
  stream->state = counter->Save().get();
  stream->decisions.push_back(decision);
  stream->moments.push_back(*moment);
  const bool fresh =
      drawn_.emplace(std::pair(stream->id, stream->moments.size()), BytesOf(*moment)).second;
  if (!fresh) Violation("a step was drawn twice");
}

void World::Send(std::size_t device) {
  SendOutcomes(device);
  for (std::size_t i = 0; i < devices_[device].streams.size(); ++i) SendStream(device, i);
}

void World::SendOutcomes(std::size_t device) {
  const std::vector<ReportedOutcome> sent = devices_[device].pending;
  if (sent.empty()) return;
  network_.push_back([this, device, sent] {
    if (!server_.up()) return;
    server_.Report(sent, [this, device, sent](const SimServer::Outcomes& results) {
      network_.push_back([this, device, sent, results] { OnOutcomes(device, sent, results); });
    });
  });
}

void World::SendStream(std::size_t device, std::size_t index) {
  Stream& stream = devices_[device].streams[index];
  const std::size_t newest = stream.moments.size();
  if (stream.ended || stream.acknowledged >= newest) return;
  const std::size_t first = stream.acknowledged + 1;
  const std::size_t last = std::min(newest, stream.acknowledged + kReportStepsMax);
  ReportedCounter report{.stream = stream.id, .step = last, .moment = stream.moments[last - 1]};
  if (mutant_ == Mutant::kRedrawsSteps) report.moment[0] += rng_.Normal();
  for (std::size_t step = first; step <= last; ++step) {
    report.decisions.emplace_back(stream.decisions[step - 1]);
    report.shown.push_back(0);
  }
  network_.push_back([this, device, index, report] {
    if (!server_.up()) return;
    server_.ReportCounter(report, [this, device, index](absl::StatusOr<ReportResult> result) {
      network_.push_back([this, device, index, result] { OnCounter(device, index, result); });
    });
  });
}

void World::OnOutcomes(std::size_t device, const std::vector<ReportedOutcome>& sent,
                       const SimServer::Outcomes& results) {
  if (!results.ok()) return;
  std::vector<ReportedOutcome>& pending = devices_[device].pending;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const ReportResult& result = (*results)[i];
    const DecisionId& id = sent[i].decision.id;
    const bool taken = result.code == v1::APPLIED || result.code == v1::DUPLICATE;
    if (taken && ClosesWindows(spec_.public_spec)) {
      const RewardRange& range = spec_.public_spec.reward_range;
      Check(history_.Acknowledge(id, std::clamp(*sent[i].reward, range.min, range.max)));
    } else if (taken && !history_.Holds(id)) {
      return Violation("an acknowledged report is not in the log");
    }
    if (result.code == v1::APPLIED) ++figures_.acknowledged;
    if (result.code == v1::REJECTED && result.reason != v1::TOKEN_FOREIGN &&
        result.reason != v1::USER_LIMIT && result.reason != v1::STREAM_EXHAUSTED) {
      return Violation(absl::StrCat("refused: ", v1::RejectReason_Name(result.reason)));
    }
    std::erase_if(pending, [&](const ReportedOutcome& p) { return p.decision.id == id; });
  }
}

void World::OnCounter(std::size_t device, std::size_t index,
                      const absl::StatusOr<ReportResult>& result) {
  if (!result.ok()) return;
  Stream& stream = devices_[device].streams[index];
  if (result->acknowledged_step > history_.NewestStep(stream.id)) {
    return Violation("an acknowledged step is not in the log");
  }
  if (result->code == v1::REJECTED) {
    if (result->reason != v1::TOKEN_FOREIGN && result->reason != v1::STREAM_EXHAUSTED &&
        result->reason != v1::USER_LIMIT) {
      return Violation(absl::StrCat("refused: ", v1::RejectReason_Name(result->reason)));
    }
    stream.ended = true;
    return;
  }
  if (result->acknowledged_step > stream.acknowledged) {
    figures_.acknowledged += result->acknowledged_step - stream.acknowledged;
    stream.acknowledged = result->acknowledged_step;
  }
}

// Any message may be next; some are lost, some come twice.
void World::Deliver() {
  // Answers are judged by what the log has: they wait until that is known.
  if (network_.empty() || !history_known_) return;
  const std::size_t at = rng_.Index(static_cast<int>(network_.size()));
  const std::function<void()> message = network_[at];
  const int fate = lossy_ ? rng_.Index(8) : 7;
  if (fate != 0) network_.erase(network_.begin() + static_cast<std::ptrdiff_t>(at));
  if (fate == 1) {
    ++figures_.lost_messages;
    return;
  }
  message();
}

void World::CommitAndApply() {
  history_known_ = false;
  server_.Commit();
  if (server_.failed()) return;
  const absl::Status seen = history_.Observe(server_);
  if (absl::IsUnavailable(seen)) return CrashServer();  // a read failed: the server ends
  history_known_ = seen.ok();
  Check(seen);
  const absl::Status applied = server_.Apply(1 + rng_.Index(40));
  if (absl::IsUnavailable(applied)) return CrashServer();
  Check(applied);
  CheckLedger();
}

void World::BreakDisk() {
  CrashVfs& disk = CrashVfs::Instance();
  if (rng_.Index(2) == 0) {
    disk.disk_full = false;
    return;
  }
  ++figures_.faults;
  switch (rng_.Index(6)) {
    case 0:
      disk.disk_full = true;
      return;
    case 1:
      return disk.Arm(CrashVfs::Fault::kShortWrite, 1 + rng_.Index(20));
    case 2:
      return disk.Arm(CrashVfs::Fault::kSyncError, 1 + rng_.Index(5));
    case 3:
      return disk.Arm(CrashVfs::Fault::kReadError, 1 + rng_.Index(10));
    default:
      return disk.Arm(CrashVfs::Fault::kPowerCut, 1 + rng_.Index(40));
  }
}

// The wall clock goes on, is set back now and then, and jumps over the life of every token.
void World::MoveClock() {
  const int kind = rng_.Index(60);
  if (kind == 0) return clock_.Advance(absl::Hours(25));
  if (kind <= 2) return clock_.Jump(-absl::Seconds(rng_.Index(120)));
  if (kind <= 6) return clock_.Advance(absl::Minutes(rng_.Index(20)));
  clock_.Advance(absl::Milliseconds(rng_.Index(20'000)));
}

void World::CrashServer() {
  if (rng_.Index(4) == 0) server_.TearCheckpoint(rng_);
  std::unique_ptr<SimState> lost = server_.Crash(rng_);
  // After two crashes in a row the later state is the one to compare with.
  if (lost != nullptr) lost_ = std::move(lost);
  ++figures_.crashes;
}

void World::BootServer() {
  const absl::Status booted = server_.Boot();
  if (absl::IsDataLoss(booted)) return Check(booted);
  if (!booted.ok()) {
    // A fault while starting; the process ends.
    CrashVfs::Instance().Crash(rng_);
    ++figures_.crashes;
    return;
  }
  const absl::Status seen = history_.Observe(server_);
  if (absl::IsUnavailable(seen)) return CrashServer();
  history_known_ = seen.ok();
  Check(seen);
  CheckLedger();
  if (lost_ == nullptr || !violation_.empty()) return;
  // The state before the crash, moved on by what had become durable beyond it.
  const absl::Status caught_up = server_.CatchUp(*lost_);
  if (absl::IsUnavailable(caught_up)) return CrashServer();
  Check(caught_up);
  if (server_.Encode(*lost_) != server_.Encode(server_.state())) {
    Violation("the recovered state differs from the one before the crash");
  }
  lost_.reset();
}

// Faults end, and everything that waits arrives.
void World::Settle() {
  CrashVfs& disk = CrashVfs::Instance();
  lossy_ = false;
  for (int round = 0; round < 200 && violation_.empty(); ++round) {
    disk.Disarm();
    disk.disk_full = false;
    if (server_.up() && (server_.failed() || !disk.powered())) CrashServer();
    if (!server_.up()) BootServer();
    if (!server_.up()) continue;
    for (std::size_t i = 0; i < devices_.size(); ++i) Send(i);
    while (!network_.empty() && violation_.empty() && history_known_) {
      Deliver();
      if (network_.empty() && server_.up() && !server_.failed()) CommitAndApply();
    }
    bool waiting = false;
    for (const Device& device : devices_) {
      waiting = waiting || !device.pending.empty();
      for (const Stream& stream : device.streams) {
        waiting = waiting || (!stream.ended && stream.acknowledged < stream.moments.size());
      }
    }
    if (!waiting) break;
    if (round == 199) Violation("a report never arrives");
  }
  if (!violation_.empty() || !server_.up()) return;
  Check(server_.Apply(1 << 20));
  CloseWindows();
  if (server_.reports_showed()) Violation("reports of open decisions made the log longer");
  if (server_.counted(Counters::kApplied) != history_.outcomes()) {
    Violation(absl::StrCat("the counters say ", server_.counted(Counters::kApplied),
                           " reports, the log has ", history_.outcomes()));
  }
  for (const auto& node : server_.state().state.local.streams()) {
    for (const auto& [id, stream] : node) {
      if (drawn_.at({id, stream.step}) != BytesOf(stream.moment)) {
        Violation("a stream's newest step is not the one that counts");
      }
    }
  }
}

void World::CloseWindows() {
  clock_.Advance(absl::Hours(24));
  for (int i = 0; i < 10 && !server_.state().state.windows.all().empty(); ++i) {
    server_.Tick();
    CommitAndApply();
    Check(server_.Apply(1 << 20));
  }
  if (!server_.state().state.windows.all().empty()) Violation("a window does not close");
}

void World::CheckLedger() {
  const auto& accounts = server_.state().state.ledger.accounts();
  if (accounts.size() < ledger_floor_.size()) return Violation("the ledger forgot an account");
  ledger_floor_.resize(accounts.size());
  for (std::size_t node = 0; node < accounts.size(); ++node) {
    if (!AtLeast(accounts[node].totals, ledger_floor_[node])) {
      return Violation("the ledger went backwards");
    }
    ledger_floor_[node] = accounts[node].totals;
  }
}

void World::Check(const absl::Status& status) {
  if (!status.ok()) Violation(status.ToString());
}

void World::Violation(const std::string& what) {
  if (violation_.empty()) violation_ = what;
}

}  // namespace bandana::testing
