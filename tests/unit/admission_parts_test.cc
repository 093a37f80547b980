// The parts of the gate: who pays, who is counted, which verdict is told.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/model/entries/counters.h"
#include "common/model/state/debit_policy.h"
#include "common/model/state/epoch_events.h"
#include "common/model/state/model_state.h"
#include "server/models/admission/entry_salts.h"
#include "server/models/admission/new_users.h"
#include "server/models/admission/payments.h"
#include "server/models/admission/verdict.h"
#include "tests/support/seeded_bits.h"

namespace bandana::testing {
namespace {

using server::Admission;

class Counts final : public EpochCounts {
 public:
  std::uint64_t OfNode(int node) const override { return node == 3 ? 5 : 1; }
  std::uint64_t OfAll() const override { return 9; }
  std::uint64_t OfLongestStream() const override { return 4; }
};

// The salts of the next transaction's entries.
std::vector<std::string> Salts(server::EntrySalts& salts, int entries) {
  EXPECT_TRUE(salts.Ready());
  server::LogBatch batch;
  for (int i = 0; i < entries; ++i) batch.Add("record");
  salts.Put(batch);
  std::vector<std::string> bytes;
  for (const auto& record : batch.records) bytes.emplace_back(record.bytes);
  return bytes;
}

// In a report's world more transactions fail, or have no entries. Others draw the same.
TEST(EntrySaltsTest, RandomnessIsDrawnOncePerTransactionThatIsDurableWithEntries) {
  SeededBits one_bits(7);
  SeededBits other_bits(7);
  server::EntrySalts one(true, one_bits);
  server::EntrySalts other(true, other_bits);
  const std::vector<std::string> failed = Salts(one, 2);  // rolled back
  EXPECT_EQ(Salts(one, 2), failed);
  EXPECT_NE(failed[0], failed[1]);
  one.Committed();
  EXPECT_EQ(Salts(other, 2), failed);
  other.Committed();
  Salts(other, 0);  // a report's cell alone
  other.Committed();
  const std::vector<std::string> next = Salts(one, 1);
  EXPECT_EQ(Salts(other, 1), next);
  EXPECT_NE(next[0], failed[0]);
}

TEST(EntrySaltsTest, OtherLogsAreLeftAsTheyAre) {
  SeededBits bits(7);
  server::EntrySalts salts(false, bits);
  EXPECT_EQ(Salts(salts, 1), std::vector<std::string>{"record"});
}

TEST(DebitPolicyTest, StreamsOfNodesPayOnceAndEndAtTheirBound) {
  const auto policy = MakeNodeStreamDebits({.releases = 1}, {.steps_max = 6, .field = "f"});
  EXPECT_EQ(policy->BeforeEvent(Counts(), 3)->node, 3);
  EXPECT_EQ(policy->BeforeEvent(Counts(), 3)->releases, 1);
  EXPECT_FALSE(policy->Exhausts(Counts(), 3, 1));
  EXPECT_TRUE(policy->Exhausts(Counts(), 3, 2));
  EXPECT_FALSE(policy->Exhausts(Counts(), 0, 2));
  EXPECT_EQ(policy->UsedBy(Counts(), 3), 5);
  EXPECT_EQ(policy->UsedByAll(Counts()), 0);
  EXPECT_EQ(policy->ForLostEntries(1000, 7).nodes, 7);
  EXPECT_EQ(policy->ForLostEntries(1000, 7).debit.releases, 1);
  EXPECT_EQ(policy->ExhaustedText(),
            "f = 6 events of this user are counted in this epoch; the model serves on as it is, a "
            "new epoch opens a new debit");
}

TEST(DebitPolicyTest, OneStreamOfAllUsersStandsUnderNode0) {
  const auto policy = MakeModelStreamDebits({.releases = 1}, {.steps_max = 9});
  EXPECT_EQ(policy->BeforeEvent(Counts(), 3)->node, 0);
  EXPECT_TRUE(policy->Exhausts(Counts(), 3, 1));
  EXPECT_EQ(policy->principal(), "all users");
  EXPECT_EQ(policy->UsedBy(Counts(), 3), 0);
  EXPECT_EQ(policy->UsedByAll(Counts()), 9);
  EXPECT_EQ(policy->ForLostEntries(1000, 7).nodes, 1);
}

TEST(DebitPolicyTest, BlocksPayForEachEventAndHaveNoBound) {
  const auto policy = MakeBlockDebits({.releases = kDebitBlock, .pure = 1});
  EXPECT_EQ(policy->BeforeEvent(Counts(), 3)->releases, 6);
  EXPECT_FALSE(policy->Exhausts(Counts(), 3, 1'000'000));
  EXPECT_EQ(policy->ForLostEntries(2 * kDebitBlock, 7).debit.releases, 3 * kDebitBlock);
}

TEST(DebitPolicyTest, DevicesPayForTheirOwnStreamsAndOthersForNothing) {
  const auto devices = MakeDeviceStreamDebits({.releases = 1}, {.steps_max = 6});
  EXPECT_FALSE(devices->BeforeEvent(Counts(), 3).has_value());
  EXPECT_EQ(devices->UsedByAll(Counts()), 4);
  const auto none = MakeNoDebits();
  EXPECT_FALSE(none->debits());
  EXPECT_FALSE(none->BeforeEvent(Counts(), 3).has_value());
  EXPECT_EQ(none->ForLostEntries(1000, 7).nodes, 0);
}

TEST(PaymentsTest, ADebitPaysForItsReleasesInItsEpochAlone) {
  server::Payments payments;
  const auto policy = MakeBlockDebits({.releases = 2, .pure = 1});
  const auto debits = [&](std::uint64_t epoch, std::uint64_t releases) {
    server::LogBatch batch;
    payments.Pay(*policy, epoch, {.node = 1, .releases = releases}, batch);
    return batch.records.size();
  };
  EXPECT_EQ(debits(1, 1), 1);
  EXPECT_EQ(debits(1, 2), 0);
  payments.Commit();
  EXPECT_EQ(debits(1, 3), 1);
  payments.Rollback();
  EXPECT_EQ(debits(1, 3), 1);
  EXPECT_EQ(debits(2, 1), 1);
}

TEST(EpochEventsTest, ARollbackTakesBackEpochsAndEvents) {
  EpochEvents events({4, 2}, {1});
  EXPECT_EQ(events.InEpoch(0), 3);
  EXPECT_EQ(events.InEpoch(), 5);
  events.Add(2, 1);
  events.OpenEpoch();
  events.Add(0, 7);
  events.OpenEpoch();
  events.Add(0, 1);
  EXPECT_TRUE(events.opened());
  EXPECT_EQ(events.InEpoch(0), 1);
  events.Rollback();
  EXPECT_FALSE(events.opened());
  EXPECT_EQ(events.InEpoch(0), 3);
  EXPECT_EQ(events.InEpoch(2), 0);
  events.Add(1, 1);
  events.Commit();
  events.Rollback();
  EXPECT_EQ(events.InEpoch(1), 3);
}

TEST(EpochEventsTest, OpenDecisionsAndEventsOfDeletedUsersCount) {
  ModelState state;
  state.events_at_epoch = {2, 1};
  for (std::uint64_t i = 0; i < 4; ++i) {
    OpenWindow window;
    window.id[0] = static_cast<std::byte>(i);
    window.node = i < 2 ? 1 : static_cast<int>(i) - 3;  // 1, 1, -1, 0
    state.windows.Open({absl::UnixEpoch(), i}, window);
  }
  const DeletedUser deleted{.node = 2, .hash = {std::byte{1}}};
  DeleteRecord record;
  record.users = {deleted};
  ASSERT_TRUE(state.deleted.Add(record, deleted, 6).ok());
  const EpochEvents events = EpochEventsOf(state, {5, 1, 0});
  EXPECT_EQ(events.all(), (std::vector<std::uint64_t>{6, 3, 6}));
  EXPECT_EQ(events.InEpoch(0), 4u);
  EXPECT_EQ(events.InEpoch(1), 2u);
  EXPECT_EQ(events.InEpoch(2), 6u);
}

TEST(NewUsersTest, UsersGetTheNextNodesAndKeepThemOnceCommitted) {
  UserIndex known;
  server::NewUsers users(known, 2);
  EXPECT_EQ(users.NodeOf(7, ""), 7);
  EXPECT_EQ(users.NodeOrNext(-1, "ann"), 0);
  users.Admit(0, "ann");
  EXPECT_EQ(users.NodeOrNext(-1, "bob"), 1);
  users.Rollback();
  EXPECT_EQ(users.NodeOrNext(-1, "bob"), 0);
  users.Admit(0, "bob");
  users.Commit();
  EXPECT_EQ(known.Find("bob"), 0);
  users.Admit(1, "cid");
  EXPECT_EQ(users.NodeOf(-1, "cid"), 1);
  EXPECT_EQ(users.NodeOrNext(-1, "dan"), -1);
}

// A verdict without an answer stands for the whole call.
TEST(VerdictTest, EveryVerdictButTwoHasAnAnswerThatIsCounted) {
  for (int i = 0; i <= static_cast<int>(Admission::kUnsealed); ++i) {
    const auto verdict = static_cast<Admission>(i);
    const bool whole_call = verdict == Admission::kNoRoom || verdict == Admission::kUnsealed;
    const auto result = server::ResultOf(verdict);
    ASSERT_EQ(result.has_value(), !whole_call) << i;
    if (!result) continue;
    EXPECT_EQ(result->code == v1::REJECTED, result->reason != v1::REJECT_REASON_UNSPECIFIED) << i;
    EXPECT_LT(server::CounterOf(result->code, result->reason), Counters::kSize);
  }
  EXPECT_EQ(server::CounterOf(v1::REJECTED, v1::USER_LIMIT), Counters::Rejected(v1::USER_LIMIT));
}

}  // namespace
}  // namespace bandana::testing
