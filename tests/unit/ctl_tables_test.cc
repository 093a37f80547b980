// Tables of bandana-ctl.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tools/ctl/tables.h"

namespace bandana {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(StatsTable, HasUnitsAndWords) {
  v1::GetStatsResponse stats;
  stats.set_reports_applied(200);
  (*stats.mutable_reports_rejected())["user_limit"] = 3;
  (*stats.mutable_reports_rejected())["expired"] = 4;
  stats.set_decisions_open(200);
  stats.set_log_sequence(210);
  stats.set_applied_sequence(209);
  stats.set_posterior_version(208);
  stats.mutable_rewards()->set_rewards(200);
  stats.mutable_rewards()->set_mean(0.1f);
  stats.mutable_choices()->set_decisions(210);
  stats.mutable_choices()->set_ranked(200);
  stats.mutable_choices()->set_explored(25);
  const std::string text = StatsTable(stats);
  EXPECT_THAT(text, HasSubstr("reports applied         200\n"));
  EXPECT_THAT(text, HasSubstr("reports rejected        7  expired 4, user_limit 3\n"));
  EXPECT_THAT(text, HasSubstr("mean reward             0.1  of 200 learnt since the start\n"));
  EXPECT_THAT(text, HasSubstr("explored                12.5 %  of 200 that the model chose\n"));
  EXPECT_THAT(text, HasSubstr("decisions waiting       0  not learnt yet\n"));
  EXPECT_THAT(text, HasSubstr("decisions remembered    200  so that a second report is known"));
  EXPECT_THAT(text, HasSubstr("log entries             210  209 learnt, 208 in answers\n"));
  EXPECT_THAT(text, Not(HasSubstr("decisions_open")));
  EXPECT_THAT(text, Not(HasSubstr("agrees")));
}

TEST(StatsTable, RandomizedRewardsHaveAnInterval) {
  v1::GetStatsResponse stats;
  stats.mutable_rewards()->set_rewards(200);
  stats.mutable_rewards()->set_mean(0.5);
  stats.mutable_rewards()->set_low(0.4375);
  stats.mutable_rewards()->set_high(0.5625);
  EXPECT_THAT(StatsTable(stats), HasSubstr("0.5  of 200 learnt since the start, randomized; "
                                           "95 %: 0.4375 to 0.5625\n"));
}

TEST(StatsTable, ListsEffectsAndFields) {
  v1::GetStatsResponse stats;
  v1::EffectStats& effect = *stats.mutable_effects()->add_effects();
  effect.set_name("arm");
  effect.set_blocks(12);
  effect.set_prior_variance(0.25);
  effect.set_weight(1);
  v1::FeatureFieldStats& field = *stats.add_features();
  field.set_name("device");
  field.set_values(5);
  field.set_unknown(2);
  const std::string text = StatsTable(stats);
  EXPECT_THAT(text,
              HasSubstr("arm                                    12            0.25        1"));
  EXPECT_THAT(text, HasSubstr("device                                  5          0          2"));
}

TEST(LedgerTable, SaysWhatIsSpentAndNothingThatDoesNotApply) {
  v1::GetLedgerResponse ledger;
  ledger.set_mode(v1::NON_PRIVATE);
  ledger.set_events(7);
  EXPECT_EQ(LedgerTable(ledger),
            "mode                    NON_PRIVATE\n"
            "events                  7  accepted; none of them is private\n");
  ledger.set_mode(v1::LOCAL_REWARD);
  ledger.set_mechanism(v1::REWARD_RANDOMIZER);
  ledger.set_guarantee("proven");
  ledger.set_epsilon_per_event(0.1f);
  ledger.set_epsilon_spent_user(0.7);
  ledger.mutable_user()->set_epsilon_pure(0.7);
  v1::LedgerEntry& entry = *ledger.add_entries();
  entry.set_principal("node 7");
  entry.set_rho(0.5);
  const std::string text = LedgerTable(ledger);
  EXPECT_THAT(text, HasSubstr("mechanism               REWARD_RANDOMIZER\n"));
  EXPECT_THAT(text, HasSubstr("per event               epsilon 0.1  delta 0\n"));
  EXPECT_THAT(text, HasSubstr("spent by a user         epsilon 0.7  at most\n"));
  EXPECT_THAT(text, HasSubstr("node 7"));
  EXPECT_THAT(text, Not(HasSubstr("UNSPECIFIED")));
  EXPECT_THAT(text, Not(HasSubstr("as zCDP")));
}

TEST(DecisionLogTable, IsInMebibytes) {
  v1::DecisionLogStats log;
  log.set_lines(10);
  log.set_bytes(3 << 19);
  EXPECT_EQ(DecisionLogTable(log),
            "decisions kept          10  1.5 MiB\n"
            "decisions lost          0  since the log began\n");
}

}  // namespace
}  // namespace bandana
