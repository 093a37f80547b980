// Whether a model and a server are all right, in words.
#include "server/ops/observation/model_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;
using ::testing::Field;

const absl::Time kNow = absl::FromUnixSeconds(1'767'225'600);  // 2026-01-01 00:00:00 UTC

auto Why(const std::string& why) { return Field(&Trouble::why, StartsWith(why)); }

TEST(ModelState, IsGoodWithoutFailureAndReasons) {
  const State state = StateOf(ModelView{});
  EXPECT_EQ(state.level, Level::kGood);
  EXPECT_EQ(state.word, "serving");
  EXPECT_THAT(state.troubles, IsEmpty());
}

RefusalView Refusal(const char* reason, const char* text, const char* remedy) {
  return {.reason = reason, .text = text, .remedy = remedy, .since = kNow};
}

TEST(ModelState, TellsAFailureThatPassesFromOneThatDoesNot) {
  ModelView model;
  model.failure = "no space for the log";
  model.refusals = {Refusal("log", "no space for the log", "mend it")};
  EXPECT_EQ(StateOf(model).word, "failed");
  model.passes = true;
  const State state = StateOf(model);
  EXPECT_EQ(state.level, Level::kBad);
  EXPECT_EQ(state.word, "not learning");
  EXPECT_THAT(state.troubles, ElementsAre(Why("No space for the log")));
  EXPECT_EQ(state.troubles[0].remedy, "Mend it");
  model.refusals.clear();
  EXPECT_THAT(StateOf(model).troubles, ElementsAre(Why("No space for the log")));
}

TEST(ModelState, NamesEveryReason) {
  ModelView model;
  model.refusals = {Refusal("ids", "ids are used up", "raise the limit"),
                    Refusal("disk", "the disk is full", "free space")};
  const State state = StateOf(model);
  EXPECT_EQ(state.level, Level::kBad);
  EXPECT_EQ(state.word, "not learning");
  EXPECT_THAT(state.troubles, ElementsAre(Why("Ids are used up"), Why("The disk is full")));
  EXPECT_EQ(state.troubles[0].since, kNow);
}

TEST(ModelState, IsBehindWhenEntriesWaitAndThePosteriorStandsStill) {
  ModelView model;
  model.log_sequence = 12;
  model.applied_sequence = 9;
  model.posterior_age_seconds = 60;
  EXPECT_EQ(StateOf(model).level, Level::kGood);
  model.posterior_age_seconds = 61;
  const State state = StateOf(model);
  EXPECT_EQ(state.level, Level::kWarning);
  EXPECT_EQ(state.word, "behind");
  EXPECT_THAT(state.troubles, ElementsAre(Why("3 entries wait to be learnt, and the posterior has "
                                              "stood still for 1m1s")));
  // Between the releases of an EPOCHS counter a posterior stands still, and nothing waits.
  model.applied_sequence = 12;
  EXPECT_EQ(StateOf(model).level, Level::kGood);
  // Whoever reads why it does not learn needs no consequence of it.
  model.applied_sequence = 9;
  model.failure = "no space for the log";
  EXPECT_THAT(StateOf(model).troubles, ElementsAre(Why("No space")));
}

TEST(ModelState, SaysThatABudgetIsSpentUnlessAReasonSaysMore) {
  ModelView model;
  model.budget_used = 0.999;
  EXPECT_EQ(StateOf(model).level, Level::kGood);
  model.budget_used = 1;
  model.budget = "20 of 20 events of one user";
  const State state = StateOf(model);
  EXPECT_EQ(state.level, Level::kWarning);
  EXPECT_EQ(state.word, "budget spent");
  EXPECT_THAT(state.troubles, ElementsAre(Why("The budget of at least one principal is spent (20 "
                                              "of 20 events of one user)")));
  model.refusals = {Refusal("budget", "all budgets are spent", "")};
  EXPECT_EQ(StateOf(model).level, Level::kWarning);  // others go on
  EXPECT_THAT(StateOf(model).troubles, ElementsAre(Why("All budgets are spent")));
}

TEST(ServerState, LooksAtTheCertificateAndAtDraining) {
  ServerView view;
  EXPECT_EQ(StateOf(view, kNow).level, Level::kGood);
  const auto ends = [&view](absl::Duration left) {
    view.tls_expiry_seconds = absl::ToDoubleSeconds(kNow + left - absl::UnixEpoch());
    return StateOf(view, kNow);
  };
  EXPECT_EQ(ends(absl::Hours(7 * 24 + 1)).level, Level::kGood);
  EXPECT_EQ(ends(absl::Hours(48)).level, Level::kWarning);
  EXPECT_THAT(ends(absl::Hours(48)).troubles,
              ElementsAre(Why("The TLS certificate ends on 2026-01-03 00:00:00 UTC")));
  EXPECT_EQ(ends(-absl::Seconds(1)).level, Level::kBad);
  EXPECT_THAT(ends(-absl::Seconds(1)).troubles, ElementsAre(Why("The TLS certificate ended")));
  // Beside another trouble.
  view.reload_refused = kNow - absl::Hours(1);
  EXPECT_EQ(ends(-absl::Seconds(1)).level, Level::kBad);
  EXPECT_THAT(ends(absl::Hours(48)).troubles,
              ElementsAre(Why("The configuration file was read again and not all of it was taken"),
                          Why("The TLS certificate ends")));
  EXPECT_EQ(ends(absl::Hours(7 * 24 + 1)).level, Level::kWarning);
  view.draining = true;
  EXPECT_EQ(StateOf(view, kNow).word, "draining");
  view.starting = true;
  EXPECT_EQ(StateOf(view, kNow).word, "starting");
}

TEST(Words, AreSentences) {
  EXPECT_EQ(Words({.why = "it is full", .remedy = "", .since = std::nullopt}, kNow), "it is full.");
  EXPECT_EQ(Words({.why = "it is full.",
                   .remedy = "Empty it",
                   .since = kNow - absl::Minutes(90) - absl::Milliseconds(1)},
                  kNow),
            "it is full. Empty it. Since 2025-12-31 22:29:59 UTC (1h30m).");
}

}  // namespace
}  // namespace bandana::server
