// Admission and the state take the same entries at two places of the log: admission those that it
// has let in, and so that it can take them back, the state those that are durable. Both are made of
// the same parts (common/model/state), but they hold them for themselves, and the windows of a
// deleted user are found by the ids of the request on one side, by the hashes of its entry on the
// other. So random requests are judged by a gate that has let in all entries so far, and by one
// that is made anew from the state that the log gives: verdicts and entries are equal.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/bandits/statistics.h"
#include "common/model/core.h"
#include "common/model/paths/make_path.h"
#include "common/model/state/model_state.h"
#include "common/random/bit_source.h"
#include "common/ranking/effect_key.h"
#include "server/models/admission/gate_setup.h"
#include "server/models/admission/report_gate.h"
#include "tests/support/model_harness.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

constexpr int kSeeds = 100;
constexpr int kTransactions = 120;
constexpr int kUsers = 5;
constexpr InstanceId kInstance{std::byte{42}};
const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

std::shared_ptr<const NoiseKey> Key() {
  std::array<std::byte, 32> bytes{};
  bytes.fill(std::byte{9});
  return std::make_shared<const NoiseKey>(*NoiseKey::FromBytes(bytes));
}

// All that a durable log has, in memory.
class MemoryLog final : public server::UpdateLog {
 public:
  absl::Status Append(const LogBatch& batch) override {
    for (const server::NewRecord& record : batch.records) {
      const std::string bytes(record.bytes);
      entries.push_back(
          {.position = {last().sequence + 1, ChainHash(last().hash, bytes)}, .record = bytes});
      for (const RememberedId& id : record.ids) ids.push_back(id);
    }
    for (const Cell& cell : batch.cells) cells[cell.slot] = cell;
    if (batch.forget_before) {
      forgotten = *batch.forget_before;
      std::erase_if(ids, [this](const RememberedId& id) { return id.bucket < forgotten; });
    }
    EXPECT_TRUE(batch.chunks.empty());  // ids here are not dense
    return absl::OkStatus();
  }
  absl::Status Read(const LogPosition&, int, std::vector<LogEntry>&) const override { return {}; }
  absl::Status ReadLeft(std::uint64_t, int, std::vector<LogEntry>&) const override { return {}; }
  LogPosition last() const override {
    return entries.empty() ? LogPosition{} : entries.back().position;
  }
  std::uint64_t trimmed() const override { return 0; }
  absl::StatusOr<bool> Trim(std::uint64_t, int) override { return false; }
  void EraseTrimmed() override {}
  absl::Status ForEachId(const std::function<void(const RememberedId&)>& visit) const override {
    for (const RememberedId& id : ids) visit(id);
    return absl::OkStatus();
  }
  absl::Status ForEachChunk(const std::function<void(const server::IdChunk&)>&) const override {
    return absl::OkStatus();
  }
  absl::Status ForEachCell(const std::function<void(const Cell&)>& visit) const override {
    for (const auto& [slot, cell] : cells) visit(cell);
    return absl::OkStatus();
  }
  std::int64_t forgotten_before() const override { return forgotten; }
  const std::string& counters() const override { return none; }

  std::vector<LogEntry> entries;
  std::vector<RememberedId> ids;
  std::map<std::uint64_t, Cell> cells;
  std::int64_t forgotten = INT64_MIN;
  std::string none;
};

// A state, and the gate before it.
class Reader {
 public:
  Reader(const ModelSpec& spec, const EventPath& path, const CellCodec& cells, const MemoryLog& log)
      : path_(path), sink_(path.statistics_dimension(), path.NoStatistics(), 0) {
    EXPECT_THAT(path.Begin(state_), IsOk());
    for (const LogEntry& entry : log.entries) Apply(entry);
    gate = std::make_unique<ReportGate>(server::GateOptions(spec, path, cells), users_, counters_,
                                        [](const LogPosition&) {});
    EXPECT_THAT(log.ForEachId([&](const RememberedId& id) { gate->Remember(id); }), IsOk());
    gate->ForgetBefore(log.forgotten_before());
    std::vector<NodeStatistics> all;
    for (int node = 0; node < sink_.nodes(); ++node) all.push_back(sink_.statistics(node));
    gate->Restore(server::GateStateOf(state_, all));
    EXPECT_THAT(gate->RestoreWindows(state_.windows, log, {}), IsOk());
  }

  void Apply(const LogEntry& entry) {
    ASSERT_THAT(state_.Apply(entry, path_, users_, sink_), IsOk());
  }
  const ModelState& state() const { return state_; }

  std::unique_ptr<ReportGate> gate;

 private:
  const EventPath& path_;
  ModelState state_;
  UserIndex users_;
  Counters counters_;
  StatisticsSink sink_;
};

// A transaction's judgement.
struct Judged {
  std::vector<Admission> verdicts;
  LogBatch batch;
};

class RandomRun {
 public:
  RandomRun(const ModelSpec& spec, std::uint64_t seed)
      : spec_(spec),
        rng_(seed),
        path_(*MakePath(spec, kInstance, Key())),
        cells_(kInstance, *path_->MakeCellKey(), SystemBits()) {
    if (auto opening = *path_->Opening(spec, ModelState())) {
      LogBatch first;
      first.AddOwned(*std::move(opening));
      EXPECT_THAT(log_.Append(first), IsOk());
    }
    live_ = std::make_unique<Reader>(spec_, *path_, cells_, log_);
  }

  void Run() {
    for (int i = 0; i < kTransactions && !::testing::Test::HasFailure(); ++i) {
      Transaction(1 + rng_.Index(5));
    }
  }

 private:
  void Transaction(int requests) {
    std::deque<std::string> records;
    for (int i = 0; i < requests; ++i) records.push_back(Request());
    const Judged mine = Judge(*live_, records);
    if (rng_.Index(3) == 0) {
      Reader other(spec_, *path_, cells_, log_);
      EXPECT_EQ(other.gate->epoch(), live_->gate->epoch());
      EXPECT_EQ(other.gate->ids(), live_->gate->ids());
      EXPECT_EQ(other.gate->windows_open(), live_->gate->windows_open());
      ExpectEqual(mine, Judge(other, records));
    }
    if (rng_.Index(4) == 0) {  // the disk was full
      live_->gate->Rollback();
      const Judged again = Judge(*live_, records);
      ExpectEqual(mine, again);
      return Commit(again.batch);
    }
    Commit(mine.batch);
  }
  void Commit(const LogBatch& batch) {
    const std::size_t before = log_.entries.size();
    ASSERT_THAT(log_.Append(batch), IsOk());
    live_->gate->EncodeCounters();
    live_->gate->Commit(log_.last(), true);
    for (std::size_t i = before; i < log_.entries.size(); ++i) live_->Apply(log_.entries[i]);
  }
  static Judged Judge(Reader& reader, const std::deque<std::string>& records) {
    Judged judged;
    for (const std::string& record : records) {
      judged.verdicts.push_back(reader.gate->Judge(record, judged.batch));
    }
    reader.gate->Complete(judged.batch);
    judged.batch.forget_before = reader.gate->ForgetBefore();
    return judged;
  }
  // Salts, and the keys of deletions where nobody is deleted yet, are drawn: both are as long.
  // Which free cell a decision gets is no matter of the log.
  void ExpectEqual(const Judged& a, const Judged& b) {
    EXPECT_EQ(a.verdicts, b.verdicts);
    EXPECT_EQ(a.batch.forget_before, b.batch.forget_before);
    ASSERT_EQ(a.batch.records.size(), b.batch.records.size());
    for (std::size_t i = 0; i < a.batch.records.size(); ++i) {
      const auto& [bytes, ids] = a.batch.records[i];
      const auto& [other_bytes, other_ids] = b.batch.records[i];
      EXPECT_EQ(bytes.size(), other_bytes.size());
      EXPECT_EQ(EntryKindOf(bytes), EntryKindOf(other_bytes));
      EXPECT_EQ(ids.size(), other_ids.size());
      const absl::StatusOr<Record> record = Decode(bytes, spec_.public_spec.dimension);
      ASSERT_THAT(record, IsOk());
      const bool drawn = path_->draws_noise() || std::holds_alternative<DeleteRecord>(*record);
      if (!drawn) {
        EXPECT_EQ(bytes, other_bytes);
      }
    }
    ASSERT_EQ(a.batch.cells.size(), b.batch.cells.size());
    for (std::size_t i = 0; i < a.batch.cells.size(); ++i) {
      EXPECT_EQ(a.batch.cells[i].live, b.batch.cells[i].live);
      EXPECT_EQ(a.batch.cells[i].id, b.batch.cells[i].id);
    }
  }

  std::string Request() {
    const int kind = rng_.Index(100);
    if (kind < 40) return Event();
    if (kind < 65) return Report();
    if (kind < 80) return Time();
    if (kind < 84) return Encode(EpochRecord{live_->gate->epoch() + 1});
    if (kind < 86) return Encode(CloseRecord{.early = true});
    if (kind < 88) return Encode(ClockRecord{absl::Seconds(rng_.Index(2))});
    if (kind < 90 && spec_.half_life > absl::ZeroDuration()) {
      return Encode(FadeRecord{now_, spec_.half_life});
    }
    return spec_.coupling.independent() || spec_.effects ? Deletion() : Time();
  }
  std::string Time() {
    now_ += absl::Seconds(rng_.Index(40));
    return Encode(TimeRecord{now_ - absl::Seconds(rng_.Index(2))});
  }
  std::string User() { return "user-" + std::to_string(rng_.Index(kUsers)); }
  std::string Deletion() {
    const std::string one = User();
    const std::string two = User();
    const bool counted = spec_.public_spec.events_per_user_max > 0 || path_->debits()->debits();
    return Encode(DeleteRequest{
        .now = now_,
        .until = counted ? absl::InfiniteFuture() : now_ + spec_.public_spec.token_lifetime,
        .ids = {one, two}});
  }
  DecisionId NewId() {
    DecisionId id{};
    for (std::byte& byte : id) byte = static_cast<std::byte>(rng_.Bits());
    ids_.push_back(id);
    return id;
  }
  // A former one, or a new one.
  DecisionId SomeId() {
    if (ids_.empty() || rng_.Index(3) == 0) return NewId();
    const int recent = std::min<int>(static_cast<int>(ids_.size()), 30);
    return ids_[ids_.size() - 1 - static_cast<std::size_t>(rng_.Index(recent))];
  }
  EventRecord EventOf() {
    user_ = User();
    EventRecord event{.id = SomeId(),
                      .epoch = live_->gate->epoch() - (rng_.Index(10) == 0 ? 1 : 0),
                      .time = now_ - absl::Seconds(rng_.Index(90)),
                      .features = features_};
    if (spec_.coupling.independent() && !spec_.effects) {
      event.user = user_;
    } else {
      event.node = 0;
    }
    if (spec_.effects) {
      keys_ = {UserKey(user_), 7};
      event.keys = keys_;
    }
    return event;
  }
  std::string Event() {
    if (path_->device_counter() != nullptr) return Stream();
    const EventRecord event = EventOf();
    if (spec_.public_spec.reward_window) {
      return Encode(DecisionRecord{
          .event = event, .close = now_ + absl::Seconds(60), .default_reward = 0.25});
    }
    return Encode(OutcomeRecord{.event = event,
                                .received = now_,
                                .deadline = event.time + spec_.public_spec.token_lifetime,
                                .reward = 0.5});
  }
  std::string Report() {
    if (!spec_.public_spec.reward_window) return Event();
    return Encode(ReportRecord{.id = SomeId(),
                               .epoch = live_->gate->epoch(),
                               .received = now_,
                               .reward = 0.1 * rng_.Index(10)});
  }
  std::string Stream() {
    const int number = rng_.Index(6);
    CounterRecord record{.epoch = live_->gate->epoch(), .received = now_};
    record.stream[0] = static_cast<std::byte>(number + 1);
    user_ = "user-" + std::to_string(number % kUsers);
    if (rng_.Index(5) > 0) record.user = user_;
    const std::uint64_t newest = live_->gate->AcknowledgedStep(record.stream);
    const std::uint64_t count = 1 + static_cast<std::uint64_t>(rng_.Index(3));
    record.step = std::max(count, newest + static_cast<std::uint64_t>(rng_.Index(4)));
    for (std::uint64_t i = 0; i < count; ++i) {
      CounterStep step{.readable = rng_.Index(8) > 0};
      if (step.readable) {
        step.id = SomeId();
        step.time = now_ - absl::Seconds(rng_.Index(50));
        step.features = features_;
      }
      record.steps.push_back(step);
    }
    record.last = record.steps.back().id;
    record.moment = features_;
    return Encode(record);
  }

  const ModelSpec spec_;
  TestRng rng_;
  const std::unique_ptr<const EventPath> path_;
  const CellCodec cells_;
  MemoryLog log_;
  std::unique_ptr<Reader> live_;
  absl::Time now_ = kStart;
  std::vector<DecisionId> ids_;
  const std::vector<double> features_ = {0.6, 0.3};
  std::vector<std::uint64_t> keys_;
  std::string user_;
};

struct Kind {
  const char* name;
  const char* config;
};

class AdmissionPropertyTest : public ::testing::TestWithParam<Kind> {};

TEST_P(AdmissionPropertyTest, ARunningGateJudgesAsOneThatIsMadeFromTheState) {
  ModelSpec spec = SpecOf(std::string("name: 'm' dimension: 2 token_lifetime { seconds: 120 } ") +
                          GetParam().config);
  spec.decisions_open_max = 64;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    RandomRun(spec, seed).Run();
    if (HasFailure()) return;
  }
}

#define ONCE " reporting { one_per_decision: true } "
#define WINDOW " reporting { reward_window { duration { seconds: 60 } default_reward: 0.25 } } "
#define COUNTER                                                                               \
  " privacy { epsilon: 2 delta: 1e-6 mechanism: COUNTER counter { horizon: 40 steps_max: 80 " \
  "kind: EPOCHS } } "
INSTANTIATE_TEST_SUITE_P(
    Kinds, AdmissionPropertyTest,
    ::testing::Values(
        Kind{"outcomes", "mode: NON_PRIVATE independent {}"},
        Kind{"windows", "mode: NON_PRIVATE independent {}" WINDOW},
        Kind{"shared", "mode: NON_PRIVATE shared {}" WINDOW},
        Kind{"forgets", "mode: NON_PRIVATE shared {} half_life { seconds: 86400 }" WINDOW},
        Kind{"device", "mode: LOCAL_REWARD independent {} privacy { epsilon: 1 }" ONCE},
        Kind{
            "limited",
            "mode: LOCAL_REWARD independent {} privacy { epsilon: 1 events_per_user_max: 6 }" ONCE},
        Kind{"streams", "mode: LOCAL_REWARD independent {}" ONCE COUNTER},
        Kind{"central", "mode: CENTRAL_REWARD independent {}" ONCE COUNTER},
        Kind{"central_windows",
             "mode: CENTRAL_REWARD independent {} privacy { epsilon: 2 mechanism: "
             "REWARD_RANDOMIZER }" WINDOW},
        Kind{"effects", "mode: NON_PRIVATE effects { standard {} }" WINDOW}),
    [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace
}  // namespace bandana::server
