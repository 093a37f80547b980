#include "server/models/admission/report_gate.h"

#include <gtest/gtest.h>

#include "common/random/bit_source.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

class ReportGateTest : public ::testing::Test {
 protected:
  ReportGateTest() {
    options_.dimension = 1;
    options_.users_max = 2;
    options_.ids_max = 3;
    options_.token_lifetime = absl::Minutes(1);
    options_.remember = absl::Minutes(1);
  }
  void Start() {
    options_.cells = &cells_;
    gate_ = std::make_unique<ReportGate>(options_, users_, counters_, [](const LogPosition&) {});
    gate_->Restore({.facts = {.time = kStart}});
  }
  Admission Judge(const Record& record) {
    batch_ = {};
    bytes_ = Encode(record);
    return gate_->Judge(bytes_, batch_);
  }
  // Types of the entries that the last record became.
  std::string Types() const {
    std::string types;
    for (const auto& record : batch_.records) {
      types += types.empty() ? "" : " ";
      types += std::to_string(record.bytes[1]);
    }
    return types;
  }
  ReportRecord Report(int number, double reward, absl::Time received = kStart) {
    ReportRecord record{.epoch = 1, .received = received, .reward = reward};
    record.id[0] = static_cast<std::byte>(number);
    return record;
  }
  // The rewards of the entry that the last record became.
  std::vector<double> Closed() const {
    std::vector<double> rewards;
    const auto record = Decode(batch_.records.at(0).bytes, 1);
    for (const auto& window : std::get<CloseRecord>(*record).windows) {
      rewards.push_back(window.reward);
    }
    return rewards;
  }
  WindowValue ValueIn(const Cell& cell) const { return *cells_.Decode(cell.id, cell.content); }
  void Commit() {
    if (const auto before = gate_->ForgetBefore()) gate_->ForgetBefore(*before);
    gate_->EncodeCounters();
    gate_->Commit({}, true);
  }
  OutcomeRecord Outcome(int number, const std::string& user, std::uint64_t epoch = 1) {
    OutcomeRecord record{.event = Event(number, user, epoch)};
    record.received = kStart;
    record.deadline = kStart + absl::Minutes(1);
    return record;
  }
  DecisionRecord Decision(int number, const std::string& user) {
    return {.event = Event(number, user, 1),
            .close = kStart + absl::Seconds(30),
            .default_reward = 0.25};
  }
  EventRecord Event(int number, const std::string& user, std::uint64_t epoch) {
    EventRecord event{.epoch = epoch, .time = kStart, .user = user, .features = feature_};
    event.id[0] = static_cast<std::byte>(number);
    return event;
  }

  const std::vector<double> feature_ = {1};
  ReportGate::Options options_;
  UserIndex users_;
  Counters counters_;
  std::unique_ptr<ReportGate> gate_;
  const CellCodec cells_{{}, CellKey{}, SystemBits()};
  std::string bytes_;
  server::LogBatch batch_;
};

TEST_F(ReportGateTest, ARolledBackTransactionLeavesNoTrace) {
  options_.events_per_user_max = 1;
  Start();
  EXPECT_EQ(Judge(Outcome(1, "ann")), Admission::kAppend);
  EXPECT_EQ(Judge(Outcome(2, "bob")), Admission::kAppend);
  EXPECT_EQ(Judge(EpochRecord{2}), Admission::kAppend);
  EXPECT_EQ(Judge(TimeRecord{kStart + absl::Hours(1)}), Admission::kAppend);
  gate_->Rollback();
  EXPECT_EQ(users_.size(), 0);
  EXPECT_EQ(gate_->ids(), 0);
  EXPECT_EQ(gate_->epoch(), 1);
  // All of it is new again: id, user, limit, epoch, time.
  EXPECT_EQ(Judge(Outcome(1, "cid")), Admission::kAppend);
  EXPECT_EQ(Judge(Outcome(2, "ann")), Admission::kAppend);
  EXPECT_EQ(Judge(Outcome(3, "ann")), Admission::kUserLimit);
  EXPECT_EQ(Judge(EpochRecord{2}), Admission::kAppend);
  Commit();
  EXPECT_EQ(users_.Find("cid"), 0);
  EXPECT_EQ(users_.Find("ann"), 1);
  EXPECT_EQ(gate_->epoch(), 2);
  EXPECT_EQ(gate_->events_of_one_max(), 1);
  EXPECT_EQ(counters_.Get()[Counters::kApplied], 2);
  EXPECT_EQ(counters_.Get()[Counters::Rejected(v1::USER_LIMIT)], 1);
}

TEST_F(ReportGateTest, TheBudgetIsTheFullestUsersInThisEpoch) {
  options_.ids_max = 10;
  options_.events_per_user_max = 4;
  Start();
  EXPECT_EQ(gate_->budget()->used, 0);
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(Judge(Outcome(i, "ann")), Admission::kAppend);
  EXPECT_EQ(Judge(Outcome(4, "bob")), Admission::kAppend);
  EXPECT_EQ(gate_->budget()->used, 0);
  Commit();
  EXPECT_EQ(gate_->budget()->used, 3);
  EXPECT_EQ(gate_->budget()->limit, 4);
  EXPECT_EQ(gate_->budget()->of, server::BudgetUse::Of::kUser);
  EXPECT_EQ(Judge(EpochRecord{2}), Admission::kAppend);
  EXPECT_EQ(Judge(Outcome(5, "bob", 2)), Admission::kAppend);
  Commit();
  EXPECT_EQ(gate_->budget()->used, 1);
  EXPECT_EQ(gate_->events_of_one_max(), 3);
}

// Events of a node that several users share say nothing of one of them.
TEST_F(ReportGateTest, PooledUsersHaveNoBudgetThatTheServerKnows) {
  options_.events_per_user_max = 4;
  options_.ids_max = 10;
  options_.pooled = {true};
  Start();
  const auto event = [&](int number, int node) {
    OutcomeRecord record = Outcome(number, "");
    record.event.node = node;
    return record;
  };
  for (int i = 1; i <= 6; ++i) EXPECT_EQ(Judge(event(i, 0)), Admission::kAppend);
  Commit();
  EXPECT_EQ(gate_->budget(), std::nullopt);
  options_.pooled = {true, false};
  Start();
  for (int i = 1; i <= 6; ++i) EXPECT_EQ(Judge(event(i, 0)), Admission::kAppend);
  for (int i = 7; i <= 8; ++i) EXPECT_EQ(Judge(event(i, 1)), Admission::kAppend);
  Commit();
  EXPECT_EQ(gate_->budget()->used, 2);
}

TEST_F(ReportGateTest, StreamsHaveTheBudgetWhereUsersHaveNone) {
  options_.ids_max = 10;
  options_.debits = MakeNodeStreamDebits({.releases = 1}, {.steps_max = 5});
  Start();
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(Judge(Outcome(i, "ann")), Admission::kAppend);
  EXPECT_EQ(Judge(Outcome(4, "bob")), Admission::kAppend);
  Commit();
  EXPECT_EQ(gate_->budget()->used, 3);
  EXPECT_EQ(gate_->budget()->of, server::BudgetUse::Of::kStream);
  options_.debits = MakeModelStreamDebits({.releases = 1}, {.steps_max = 5});
  Start();
  for (int i = 5; i <= 7; ++i) EXPECT_EQ(Judge(Outcome(i, "ann")), Admission::kAppend);
  EXPECT_EQ(Judge(Outcome(8, "bob")), Admission::kAppend);
  Commit();
  EXPECT_EQ(gate_->budget()->used, 4);
}

TEST_F(ReportGateTest, LaterRecordsOfATransactionSeeTheEarlierOnes) {
  Start();
  EXPECT_EQ(Judge(Outcome(1, "ann")), Admission::kAppend);
  EXPECT_EQ(Judge(Outcome(1, "ann")), Admission::kDuplicate);
  EXPECT_EQ(Judge(Outcome(2, "bob")), Admission::kAppend);
  EXPECT_EQ(Judge(Outcome(3, "cid")), Admission::kUserLimit);
  EXPECT_EQ(Judge(Outcome(3, "ann")), Admission::kAppend);
  EXPECT_EQ(Judge(Outcome(4, "ann")), Admission::kNoRoom);
  EXPECT_EQ(Judge(Outcome(4, "ann", 2)), Admission::kForeign);
  EXPECT_EQ(Judge(EpochRecord{2}), Admission::kAppend);
  EXPECT_EQ(Judge(EpochRecord{2}), Admission::kDuplicate);
  EXPECT_EQ(Judge(Outcome(5, "ann")), Admission::kForeign);
}

// Reports of contexts bring ids of their own: the oldest make room, those of the last ten seconds
// do not.
TEST_F(ReportGateTest, TheOldestContextReportsMakeRoom) {
  Start();
  const std::string seed(16, 's');
  const auto report = [&](int number, absl::Time received) {
    ContextRecord record{.epoch = 1, .received = received, .seed = seed};
    record.id.fill(static_cast<std::byte>(number));
    return Judge(record);
  };
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(report(i, kStart), Admission::kAppend);
  EXPECT_EQ(report(4, kStart), Admission::kNoRoom);
  Commit();
  const absl::Time later = kStart + absl::Seconds(10);
  EXPECT_EQ(report(1, later), Admission::kDuplicate);
  EXPECT_EQ(report(4, later), Admission::kAppend);
  Commit();
  EXPECT_EQ(gate_->ids(), 1u);
  EXPECT_EQ(report(4, later), Admission::kDuplicate);
  EXPECT_EQ(report(1, later), Admission::kAppend);  // forgotten
}

TEST_F(ReportGateTest, TimeOfTheLogExpiresAndForgets) {
  Start();
  EXPECT_EQ(Judge(Outcome(1, "ann")), Admission::kAppend);
  Commit();
  EXPECT_EQ(gate_->forget_due(), kStart + absl::Minutes(1) + absl::Seconds(10));
  // The report was received in time, but the log has moved on.
  EXPECT_EQ(Judge(TimeRecord{kStart + absl::Seconds(60)}), Admission::kAppend);
  EXPECT_EQ(Judge(TimeRecord{kStart + absl::Seconds(60)}), Admission::kDuplicate);
  EXPECT_EQ(Judge(Outcome(2, "ann")), Admission::kExpired);
  EXPECT_EQ(Judge(Outcome(1, "ann")), Admission::kDuplicate);
  Commit();
  EXPECT_EQ(gate_->ids(), 1);
  EXPECT_EQ(Judge(TimeRecord{gate_->forget_due()}), Admission::kAppend);
  EXPECT_TRUE(gate_->ForgetBefore().has_value());
  Commit();
  EXPECT_EQ(gate_->ids(), 0);
  EXPECT_EQ(gate_->forget_due(), absl::InfiniteFuture());
  EXPECT_EQ(Judge(Outcome(1, "ann")), Admission::kExpired);
}

TEST_F(ReportGateTest, AReportOfAnOpenDecisionWritesItsCellAndNothingElse) {
  options_.windows = true;
  for (const bool hides : {false, true}) {
    SCOPED_TRACE(hides);
    options_.hides = hides;
    Start();
    EXPECT_EQ(Judge(Decision(1, "")), Admission::kAppend);
    EXPECT_EQ(Types(), "11");
    ASSERT_EQ(batch_.cells.size(), 1);
    EXPECT_EQ(ValueIn(batch_.cells[0]), (WindowValue{.reward = 0.25}));
    EXPECT_EQ(Judge(Decision(1, "")), Admission::kDuplicate);
    Commit();
    const Counters::Values before = counters_.Get();
    EXPECT_EQ(Judge(Report(1, 2)), Admission::kAppend);
    EXPECT_EQ(Types(), "");
    ASSERT_EQ(batch_.cells.size(), 1);
    const Cell first = batch_.cells[0];
    EXPECT_EQ(ValueIn(first), (WindowValue{.reported = true, .reward = 2}));
    // The first report stands; a hidden one is written anew.
    EXPECT_EQ(Judge(Report(1, 3)), hides ? Admission::kAppend : Admission::kDuplicate);
    ASSERT_EQ(batch_.cells.size(), hides ? 1 : 0);
    if (hides) {
      EXPECT_EQ(ValueIn(batch_.cells[0]).reward, 2);
      EXPECT_NE(batch_.cells[0], first);
    }
    EXPECT_EQ(Judge(Report(7, 3)), Admission::kExpired);  // no such decision
    EXPECT_EQ(gate_->ids(), 1);
    Commit();
    EXPECT_EQ(counters_.Get() == before, hides);
    EXPECT_EQ(Judge(TimeRecord{kStart + absl::Seconds(30)}), Admission::kAppend);
    EXPECT_EQ(Types(), "12");
    EXPECT_EQ(Closed(), (std::vector<double>{2}));
    ASSERT_EQ(batch_.cells.size(), 1);
    EXPECT_EQ(batch_.cells[0], (Cell{.slot = 0}));
    Commit();
    EXPECT_EQ(counters_.Get()[Counters::kApplied], before[Counters::kApplied] + 1);
    EXPECT_EQ(Judge(Report(1, 3)), Admission::kExpired);
  }
}

TEST_F(ReportGateTest, ARefusedDecisionCountsOnceAndItsReportsFindNothing) {
  options_.windows = options_.hides = true;
  options_.users_max = 1;
  Start();
  EXPECT_EQ(Judge(Decision(1, "ann")), Admission::kAppend);
  EXPECT_EQ(Judge(Decision(2, "bob")), Admission::kUserLimit);
  EXPECT_EQ(Judge(Report(2, 1)), Admission::kExpired);
  EXPECT_EQ(Judge(Report(2, 1)), Admission::kExpired);
  Commit();
  EXPECT_EQ(gate_->events_of_one_max(), 1);
  EXPECT_EQ(counters_.Get()[Counters::Rejected(v1::USER_LIMIT)], 1);
  EXPECT_EQ(counters_.Get()[Counters::kExpired], 0);
}

TEST_F(ReportGateTest, WindowsCloseInOrderAndInEntriesOfBoundedSize) {
  options_.windows = true;
  options_.ids_max = 5000;
  Start();
  for (int i = 0; i < 2500; ++i) {
    DecisionRecord decision = Decision(i % 256, "");
    decision.event.id[1] = static_cast<std::byte>(i / 256);
    decision.event.node = 0;
    decision.close -= absl::Milliseconds(i);  // the last one closes first
    decision.default_reward = i;
    ASSERT_EQ(Judge(decision), Admission::kAppend);
  }
  Commit();
  EXPECT_EQ(Judge(TimeRecord{kStart + absl::Seconds(30)}), Admission::kAppend);
  EXPECT_EQ(Types(), "12 12 12");
  EXPECT_EQ(Closed().size(), kClosedWindowsMax);
  EXPECT_EQ(Closed().front(), 2499);
  EXPECT_EQ(batch_.cells.size(), 2500);
}

TEST_F(ReportGateTest, AnEpochClosesAllWindowsBeforeIt) {
  options_.windows = true;
  Start();
  EXPECT_EQ(Judge(Decision(1, "ann")), Admission::kAppend);
  EXPECT_EQ(Judge(EpochRecord{2}), Admission::kAppend);
  EXPECT_EQ(Types(), "12 4");
  EXPECT_EQ(Judge(Report(1, 2)), Admission::kForeign);
}

TEST_F(ReportGateTest, WindowsAndCellsFallWithTheirTransaction) {
  options_.windows = options_.hides = true;
  options_.users_max = 5;
  options_.ids_max = 10;
  Start();
  EXPECT_EQ(Judge(Decision(1, "ann")), Admission::kAppend);
  EXPECT_EQ(Judge(Decision(2, "ann")), Admission::kAppend);
  EXPECT_EQ(Judge(Report(1, 2)), Admission::kAppend);
  Commit();
  EXPECT_EQ(Judge(Report(2, 5)), Admission::kAppend);
  EXPECT_EQ(Judge(TimeRecord{kStart + absl::Seconds(30)}), Admission::kAppend);
  EXPECT_EQ(Closed(), (std::vector<double>{2, 5}));
  const std::string ann = "ann";  // the record views it
  DecisionRecord later = Decision(3, ann);
  later.close = kStart + absl::Hours(1);
  EXPECT_EQ(Judge(later), Admission::kAppend);  // in a slot that became free
  EXPECT_EQ(batch_.cells[0].slot, 1);
  later.event.id[0] = std::byte{4};
  EXPECT_EQ(Judge(later), Admission::kAppend);
  later.event.id[0] = std::byte{5};
  EXPECT_EQ(Judge(later), Admission::kAppend);  // in a new one
  EXPECT_EQ(batch_.cells[0].slot, 2);
  gate_->Rollback();
  // The report of 2 and all after it is undone.
  EXPECT_EQ(Judge(Report(3, 1)), Admission::kExpired);
  EXPECT_EQ(Judge(later), Admission::kAppend);
  EXPECT_EQ(batch_.cells[0].slot, 2);
  EXPECT_EQ(Judge(TimeRecord{kStart + absl::Seconds(30)}), Admission::kAppend);
  EXPECT_EQ(Closed(), (std::vector<double>{2, 0.25}));
  Commit();
  EXPECT_EQ(counters_.Get()[Counters::kApplied], 2);
}

// A deleted user's report is neither in a cell nor in the entry that closes the window.
TEST_F(ReportGateTest, AnOpenWindowOfADeletedUserHoldsNothing) {
  options_.windows = options_.hides = true;
  options_.users_max = 5;
  Start();
  for (const int number : {1, 2}) {
    ASSERT_EQ(Judge(Decision(number, number == 1 ? "ann" : "bob")), Admission::kAppend);
    ASSERT_EQ(Judge(Report(number, 2 + number)), Admission::kAppend);
  }
  Commit();
  const std::string ann = "ann";  // the request views it
  const DeleteRequest request{.now = kStart, .until = kStart + absl::Hours(1), .ids = {ann}};
  for (const bool stands : {false, true}) {
    ASSERT_EQ(Judge(request), Admission::kAppend);
    ASSERT_EQ(batch_.cells.size(), 1);
    EXPECT_EQ(batch_.cells[0].id, Report(1, 0).id);
    EXPECT_EQ(ValueIn(batch_.cells[0]), WindowValue{});
    if (stands) Commit();
    ASSERT_EQ(Judge(TimeRecord{kStart + absl::Seconds(30)}), Admission::kAppend);
    EXPECT_EQ(Closed(), (std::vector<double>{0, 4}));
    gate_->Rollback();
  }
  EXPECT_EQ(Judge(Report(1, 5)), Admission::kForeign);
}

TEST_F(ReportGateTest, CountersAreStoredOnlyWhenTheyChanged) {
  Start();
  EXPECT_FALSE(gate_->CountersChanged());
  counters_.Add(Counters::kFeaturesClipped, 1);
  EXPECT_TRUE(gate_->CountersChanged());
  gate_->EncodeCounters();
  counters_.Add(Counters::kFeaturesClipped, 1);  // after the encoding
  gate_->Commit({}, true);
  EXPECT_TRUE(gate_->CountersChanged());
  Commit();
  EXPECT_FALSE(gate_->CountersChanged());
}

// Two servers that see the same report make different entries of it, which say the same.
TEST_F(ReportGateTest, EntriesOfRawRewardsHaveRandomBytes) {
  options_.salts_entries = true;
  std::vector<std::string> entries;
  for (int server = 0; server < 2; ++server) {
    Start();
    EXPECT_EQ(Judge(Outcome(1, "ann")), Admission::kAppend);
    const std::string plain = bytes_;
    gate_->Complete(batch_);
    ASSERT_EQ(batch_.records.size(), 1);
    entries.emplace_back(batch_.records[0].bytes);
    EXPECT_EQ(entries.back().size(), plain.size() + 18);
    const auto read = Decode(entries.back(), 1);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(Encode(*read), plain);
    gate_->Rollback();
  }
  EXPECT_NE(entries[0], entries[1]);
  // And so do the entries of one transaction, also with what the gate adds to it.
  Start();
  server::LogBatch batch;
  const std::string record = Encode(TimeRecord{kStart + absl::Seconds(1)});
  const std::string later = Encode(TimeRecord{kStart + absl::Seconds(2)});
  EXPECT_EQ(gate_->Judge(record, batch), Admission::kAppend);
  EXPECT_EQ(gate_->Judge(later, batch), Admission::kAppend);
  gate_->Complete(batch);
  ASSERT_EQ(batch.records.size(), 2);
  EXPECT_NE(batch.records[0].bytes.substr(2, 16), batch.records[1].bytes.substr(2, 16));
}

class NoBits final : public BitSource {
 public:
  absl::Status Fill(std::span<std::byte>) override { return absl::UnavailableError("none"); }
};

TEST_F(ReportGateTest, WithoutRandomnessNothingOfARawRewardIsAppended) {
  NoBits none;
  options_.salts_entries = true;
  options_.bits = &none;
  Start();
  EXPECT_EQ(Judge(Outcome(1, "ann")), Admission::kUnsealed);
  EXPECT_EQ(Judge(EpochRecord{2}), Admission::kUnsealed);
  EXPECT_TRUE(batch_.records.empty());
  gate_->Complete(batch_);
  Commit();
  EXPECT_EQ(gate_->ids(), 0);
  EXPECT_EQ(gate_->epoch(), 1);
}

TEST(IdBucketTest, RoundsDownAlsoBeforeTheEpoch) {
  EXPECT_EQ(server::IdBucketOf(absl::UnixEpoch()), 0);
  EXPECT_EQ(server::IdBucketOf(absl::UnixEpoch() + absl::Seconds(10)), 1);
  EXPECT_EQ(server::IdBucketOf(absl::UnixEpoch() - absl::Nanoseconds(1)), -1);
  EXPECT_EQ(server::IdBucketOf(absl::UnixEpoch() - absl::Seconds(10)), -1);
}

class StreamGateTest : public ReportGateTest {
 protected:
  StreamGateTest() {
    options_.ids_max = 100;
    options_.debits = MakeDeviceStreamDebits({.releases = 1, .rho = 0.5}, {.steps_max = 10});
  }
  // Steps `first` .. `last`; a decision's number is its step.
  Admission JudgeSteps(int stream, int first, int last, const std::string& user) {
    CounterRecord record{.epoch = 1, .received = kStart, .user = user};
    record.stream[0] = static_cast<std::byte>(stream);
    record.step = last;
    record.moment = feature_;
    for (int step = first; step <= last; ++step) {
      CounterStep& one = record.steps.emplace_back();
      one = {.readable = true, .time = kStart, .features = feature_};
      one.id[0] = static_cast<std::byte>(step);
      one.id[1] = static_cast<std::byte>(stream);
      record.last = one.id;
    }
    batch_ = {};
    bytes_ = Encode(record);
    return gate_->Judge(bytes_, batch_);
  }
  // In the chunks that the next transaction stores.
  std::uint64_t KnownIds() {
    gate_->Complete(batch_);
    std::uint64_t ids = 0;
    for (const server::IdChunk& chunk : batch_.chunks) ids += server::KnownIds(chunk.bits);
    return ids;
  }
  StreamId Stream(int number) const { return {static_cast<std::byte>(number)}; }
};

TEST_F(StreamGateTest, ANewStreamPaysBeforeItsFirstReport) {
  Start();
  EXPECT_EQ(JudgeSteps(1, 1, 2, "ann"), Admission::kAppend);
  EXPECT_EQ(Types(), "7 6");
  EXPECT_EQ(KnownIds(), 2u);
  EXPECT_EQ(JudgeSteps(1, 2, 3, "ann"), Admission::kAppend);  // overlaps
  EXPECT_EQ(Types(), "6");
  EXPECT_EQ(KnownIds(), 3u);
  EXPECT_EQ(JudgeSteps(1, 1, 3, "ann"), Admission::kDuplicate);
  EXPECT_EQ(JudgeSteps(1, 5, 5, "ann"), Admission::kGap);
  EXPECT_EQ(Types(), "");
  EXPECT_EQ(JudgeSteps(1, 4, 11, "ann"), Admission::kExhausted);
}

TEST_F(StreamGateTest, ARolledBackStreamLeavesNoTrace) {
  options_.users_max = 1;
  Start();
  EXPECT_EQ(JudgeSteps(1, 1, 2, "ann"), Admission::kAppend);
  Commit();
  EXPECT_EQ(JudgeSteps(1, 3, 4, "ann"), Admission::kAppend);
  EXPECT_EQ(JudgeSteps(2, 1, 1, "ann"), Admission::kAppend);
  EXPECT_EQ(Judge(EpochRecord{2}), Admission::kAppend);
  EXPECT_EQ(gate_->AcknowledgedStep(Stream(1)), 0);
  gate_->Rollback();
  EXPECT_EQ(gate_->AcknowledgedStep(Stream(1)), 2);
  EXPECT_EQ(gate_->AcknowledgedStep(Stream(2)), 0);
  EXPECT_EQ(gate_->ids(), 2);
  EXPECT_EQ(JudgeSteps(1, 3, 3, "ann"), Admission::kAppend);
  EXPECT_EQ(JudgeSteps(2, 1, 1, "ann"), Admission::kAppend);
  EXPECT_EQ(Types(), "7 6");
  EXPECT_EQ(JudgeSteps(3, 1, 1, "bob"), Admission::kUserLimit);
}

TEST_F(StreamGateTest, TheBudgetIsTheLongestStreamsInThisEpoch) {
  Start();
  EXPECT_EQ(JudgeSteps(1, 1, 2, "ann"), Admission::kAppend);
  EXPECT_EQ(JudgeSteps(2, 1, 1, "ann"), Admission::kAppend);
  Commit();
  EXPECT_EQ(gate_->budget()->of, server::BudgetUse::Of::kStream);
  EXPECT_EQ(gate_->budget()->used, 2);  // not the user's three events
  EXPECT_EQ(JudgeSteps(1, 3, 4, "ann"), Admission::kAppend);
  gate_->Rollback();
  EXPECT_EQ(JudgeSteps(2, 2, 2, "ann"), Admission::kAppend);
  Commit();
  EXPECT_EQ(gate_->budget()->used, 2);
  EXPECT_EQ(Judge(EpochRecord{2}), Admission::kAppend);
  Commit();
  EXPECT_EQ(gate_->budget()->used, 0);
}

TEST_F(ReportGateTest, DebitsOfNodesFallWithTheirTransaction) {
  options_.debits = MakeNodeStreamDebits({.releases = 1, .rho = 0.5}, {.steps_max = 2});
  options_.ids_max = 10;
  Start();
  const auto types = [&](int number) {
    server::LogBatch batch;
    const std::string record = Encode(Outcome(number, "ann"));
    const Admission verdict = gate_->Judge(record, batch);
    if (verdict != Admission::kAppend) return std::string("refused");
    std::string all;
    for (const auto& entry : batch.records) all += std::to_string(entry.bytes[1]);
    return all;
  };
  EXPECT_EQ(types(1), "72");
  gate_->Rollback();
  EXPECT_EQ(types(1), "72");
  EXPECT_EQ(types(2), "2");
  EXPECT_EQ(types(3), "refused");
  Commit();
  EXPECT_EQ(Judge(EpochRecord{2}), Admission::kAppend);
  EXPECT_EQ(Judge(Outcome(4, "ann", 2)), Admission::kAppend);
}

}  // namespace
}  // namespace bandana::server
