#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "client/core/ledger.h"
#include "client/src/store/open_tables.h"
#include "client/src/store/schema.h"
#include "client/src/store/store_key.h"
#include "tests/support/status_matchers.h"

namespace bandana::device {
namespace {

using namespace bandana::testing;

// Plays the store's writer: each call is its own transaction.
class LedgerTest : public ::testing::Test {
 protected:
  LedgerTest() : tables_(std::move(OpenTables(*OpenStoreInMemory(), *KeysInMemory())->tables)) {
    policy_ = tables_->AddPolicy({0, "m", "a", 1, 0});
  }
  Account AccountOf(std::uint64_t events_max, const std::string& user = "u") {
    return {"m", policy_, user, events_max};
  }
  absl::StatusOr<Ledger::Grant> Take(const Account& account) {
    auto grant = ledger_.Take(*tables_, account);
    ledger_.Committed();
    return grant;
  }
  // Events debited when the i-th grant was given, until the account is used up or `count`.
  std::vector<std::uint64_t> Debits(const Account& account, int count) {
    std::vector<std::uint64_t> debits;
    while (debits.size() < count) {
      const auto grant = Take(account);
      if (!grant.ok()) break;
      if (*grant == Ledger::Grant::kGranted) debits.push_back(Debited());
    }
    return debits;
  }
  std::uint64_t Debited(const std::string& user = "u") { return tables_->Events(policy_, user); }

  std::unique_ptr<Tables> tables_;
  Ledger ledger_;
  PolicyId policy_ = 0;
};

TEST_F(LedgerTest, GrantsOnlyFromADebitThatIsDurable) {
  EXPECT_THAT(ledger_.Take(*tables_, AccountOf(0)), IsOkAndHolds(Ledger::Grant::kAfterCommit));
  // Still the same transaction: nothing may be drawn.
  EXPECT_THAT(ledger_.Take(*tables_, AccountOf(0)), IsOkAndHolds(Ledger::Grant::kAfterCommit));
  EXPECT_EQ(Debited(), 1);
  ledger_.Committed();
  EXPECT_THAT(ledger_.Take(*tables_, AccountOf(0)), IsOkAndHolds(Ledger::Grant::kGranted));
}

TEST_F(LedgerTest, RolledBackDebitGrantsNothing) {
  tables_->rows().Commit([](const absl::Status& status) { ASSERT_THAT(status, IsOk()); });
  EXPECT_THAT(ledger_.Take(*tables_, AccountOf(0)), IsOkAndHolds(Ledger::Grant::kAfterCommit));
  tables_->rows().Rollback();
  ASSERT_THAT(tables_->Reload(), IsOk());
  ledger_.RolledBack();
  EXPECT_THAT(ledger_.Take(*tables_, AccountOf(0)), IsOkAndHolds(Ledger::Grant::kAfterCommit));
  EXPECT_EQ(Debited(), 1);
}

TEST_F(LedgerTest, BlocksDoubleUpTo64AndLeadTheGrants) {
  const auto debits = Debits(AccountOf(0), 300);
  ASSERT_EQ(debits.size(), 300);
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t granted = i + 1;
    EXPECT_GE(debits[i], granted);
    // A crash here loses at most what was used and, later, one block and the quarter before it.
    EXPECT_LE(debits[i], std::min(4 * granted, granted + 64 + 16)) << granted;
  }
  EXPECT_EQ(ledger_.Spent(*tables_, policy_, "u"), 300);
}

TEST_F(LedgerTest, BoundIsReachedExactly) {
  for (const std::uint64_t bound : {1, 2, 3, 10, 65, 200}) {
    const std::string user = "user-" + std::to_string(bound);
    const auto debits = Debits(AccountOf(bound, user), 1000);
    EXPECT_EQ(debits.size(), bound);
    EXPECT_EQ(Debited(user), bound);
    EXPECT_TRUE(ledger_.Exhausted("m", user));
    EXPECT_FALSE(ledger_.Exhausted("other", user));
    EXPECT_THAT(Take(AccountOf(bound, user)),
                StatusIs(absl::StatusCode::kFailedPrecondition, "events_per_user_max is"));
  }
}

TEST_F(LedgerTest, NearTheBoundACrashLosesLittle) {
  Debits(AccountOf(100), 20);
  // A new process: the rest of the last block is lost.
  Ledger restarted;
  const std::uint64_t lost = Debited() - 20;
  EXPECT_LE(lost, 10);
  int granted = 0;
  while (true) {
    const auto grant = restarted.Take(*tables_, AccountOf(100));
    restarted.Committed();
    if (!grant.ok()) break;
    granted += *grant == Ledger::Grant::kGranted;
  }
  EXPECT_EQ(granted + 20 + lost, 100);
}

TEST_F(LedgerTest, EventsUnderEveryPolicyCountForTheBound) {
  const PolicyId before = tables_->AddPolicy({0, "m", "b", 1, 0});
  const PolicyId of_other_model = tables_->AddPolicy({0, "n", "a", 1, 0});
  tables_->Debit({.policy = before, .user = "u", .events = 3});
  tables_->Debit({.policy = of_other_model, .user = "u", .events = 50});
  EXPECT_EQ(Debits(AccountOf(5), 100).size(), 2);
}

TEST_F(LedgerTest, SingleDebitsStopAtTheBound) {
  EXPECT_THAT(ledger_.Debit(*tables_, AccountOf(2), 1), IsOk());
  EXPECT_FALSE(ledger_.Exhausted("m", "u"));
  EXPECT_THAT(ledger_.Debit(*tables_, AccountOf(2), 1), IsOk());
  ledger_.Committed();
  EXPECT_TRUE(ledger_.Exhausted("m", "u"));
  EXPECT_THAT(ledger_.Debit(*tables_, AccountOf(2), 1),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(Debited(), 2);
}

TEST_F(LedgerTest, SeveralEventsAreDebitedTogetherOrNotAtAll) {
  EXPECT_THAT(ledger_.MayDebit(*tables_, AccountOf(5), 5), IsOk());
  EXPECT_EQ(Debited(), 0);
  EXPECT_THAT(ledger_.Debit(*tables_, AccountOf(5), 3), IsOk());
  for (const auto& status :
       {ledger_.MayDebit(*tables_, AccountOf(5), 3), ledger_.Debit(*tables_, AccountOf(5), 3)}) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 "the user has 2 events left, and the decision is 3"));
  }
  EXPECT_EQ(Debited(), 3);
  EXPECT_FALSE(ledger_.Exhausted("m", "u"));
  EXPECT_THAT(ledger_.Debit(*tables_, AccountOf(5), 2), IsOk());
  ledger_.Committed();
  EXPECT_TRUE(ledger_.Exhausted("m", "u"));
  EXPECT_THAT(ledger_.MayDebit(*tables_, AccountOf(5), 1),
              StatusIs(absl::StatusCode::kFailedPrecondition, "the user's events are used up"));
}

TEST_F(LedgerTest, StartMarksUsersWithoutEvents) {
  tables_->Debit({.policy = policy_, .user = "spent", .events = 5});
  tables_->Debit({.policy = policy_, .user = "left", .events = 4});
  ledger_.MarkExhausted(*tables_, "m", 5);
  ledger_.Committed();
  EXPECT_TRUE(ledger_.Exhausted("m", "spent"));
  EXPECT_FALSE(ledger_.Exhausted("m", "left"));
}

}  // namespace
}  // namespace bandana::device
