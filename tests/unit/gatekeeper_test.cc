// Rules that are replaced while calls come in.
#include "server/service/access/gatekeeper.h"

#include <gmock/gmock.h>
#include <grpcpp/server_context.h>
#include <grpcpp/test/server_context_test_spouse.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string_view>
#include <thread>

#include "absl/strings/str_cat.h"
#include "server/service/transport/rpcs.h"
#include "tests/support/fake_clock.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

Principal ByToken(const std::string& name, const std::string& token, double rate = 0) {
  Principal principal{.name = name, .token_digest = Sha256Of(token)};
  principal.roles = Role::kSelect;
  principal.calls_per_second = rate;
  return principal;
}

AccessRules Rules(std::vector<Principal> principals) {
  return {.principals = std::move(principals), .anonymous_roles = {}};
}

Admittance Admit(Gatekeeper& gatekeeper, const std::string& token) {
  grpc::ServerContext context;
  grpc::testing::ServerContextTestSpouse spouse(&context);
  spouse.AddClientMetadata("authorization", "Bearer " + token);
  return gatekeeper.Admit(context, FindRule("bandana.v1.Recommender/Select"));
}

TEST(Gatekeeper, NewRulesHoldFromTheNextCallOn) {
  const FakeClock clock;
  Gatekeeper gatekeeper(Rules({ByToken("app", "old-token")}), clock);
  EXPECT_THAT(Admit(gatekeeper, "old-token").status, IsOk());
  gatekeeper.Replace(Rules({ByToken("app", "old-token"), ByToken("app-2", "new-token")}));
  EXPECT_THAT(Admit(gatekeeper, "old-token").status, IsOk());
  EXPECT_THAT(Admit(gatekeeper, "new-token").status, IsOk());
  gatekeeper.Replace(Rules({ByToken("app-2", "new-token")}));
  EXPECT_THAT(Admit(gatekeeper, "old-token").status,
              StatusIs(absl::StatusCode::kUnauthenticated, "not known"));
  EXPECT_THAT(Admit(gatekeeper, "new-token").status, IsOk());
}

TEST(NewUserQuota, FillsOverADayAndByModel) {
  FakeClock clock;
  NewUserQuota quota(4, clock);
  int users = 0;
  const auto take = [&](std::string_view model) {
    return quota.Take(model, absl::StrCat(users++));
  };
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(take("news"));
  EXPECT_FALSE(take("news"));
  EXPECT_TRUE(take("shop"));
  clock.Advance(absl::Hours(5));
  EXPECT_FALSE(take("news"));
  clock.Advance(absl::Hours(1));
  EXPECT_TRUE(take("news"));
  EXPECT_FALSE(take("news"));
  clock.Advance(absl::Hours(1000));  // no more than those of a day
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(take("news"));
  EXPECT_FALSE(take("news"));
  clock.Advance(-absl::Hours(1000));
  EXPECT_FALSE(take("news"));
}

TEST(NewUserQuota, AUserWhoIsNotKnownYetIsCountedOnce) {
  FakeClock clock;
  NewUserQuota quota(2, clock);
  EXPECT_TRUE(quota.Take("news", "ann"));
  EXPECT_TRUE(quota.Take("news", "ann"));
  EXPECT_TRUE(quota.Take("news", "bob"));
  EXPECT_FALSE(quota.Take("news", "cyd"));
  EXPECT_TRUE(quota.Take("news", "ann"));
  EXPECT_TRUE(quota.Take("shop", "cyd"));
  clock.Advance(absl::Seconds(10));
  EXPECT_FALSE(quota.Take("news", "ann"));  // was not made known after all
}

TEST(NewUserQuota, IsOfTheCallThatTheThreadWorksOn) {
  const FakeClock clock;
  NewUserQuota outer(1, clock);
  EXPECT_EQ(CallQuota::current(), nullptr);
  const CallQuota of_call(&outer);
  EXPECT_EQ(CallQuota::current(), &outer);
  {
    const CallQuota none(nullptr);
    EXPECT_EQ(CallQuota::current(), nullptr);
  }
  EXPECT_EQ(CallQuota::current(), &outer);
}

TEST(Gatekeeper, AQuotaOutlivesOtherChangesOfTheRules) {
  const FakeClock clock;
  Principal app = ByToken("app", "token");
  app.new_users_per_day = 1;
  Gatekeeper gatekeeper(Rules({app, ByToken("free", "free-token")}), clock);
  ASSERT_NE(Admit(gatekeeper, "token").caller.new_users, nullptr);
  EXPECT_EQ(Admit(gatekeeper, "free-token").caller.new_users, nullptr);
  EXPECT_TRUE(Admit(gatekeeper, "token").caller.new_users->Take("m", "ann"));
  app.calls_per_second = 7;
  gatekeeper.Replace(Rules({ByToken("other", "o"), app}));
  EXPECT_FALSE(Admit(gatekeeper, "token").caller.new_users->Take("m", "bob"));
  app.new_users_per_day = 2;
  gatekeeper.Replace(Rules({app}));
  EXPECT_TRUE(Admit(gatekeeper, "token").caller.new_users->Take("m", "cyd"));
}

TEST(Gatekeeper, ACallerOutlivesTheRulesThatLetItIn) {
  const FakeClock clock;
  Gatekeeper gatekeeper(Rules({ByToken("app", "old-token")}), clock);
  const Caller caller = Admit(gatekeeper, "old-token").caller;
  for (int i = 0; i < 3; ++i) gatekeeper.Replace(Rules({ByToken("other", "new-token")}));
  EXPECT_EQ(NameOf(caller), "app");
  EXPECT_THAT(AuthorizeModel(caller, "news"), IsOk());
}

TEST(Gatekeeper, AReloadDoesNotRefillARate) {
  const FakeClock clock;
  Gatekeeper gatekeeper(Rules({ByToken("app", "old-token", 1)}), clock);
  EXPECT_THAT(Admit(gatekeeper, "old-token").status, IsOk());
  gatekeeper.Replace(Rules({ByToken("more", "other-token"), ByToken("app", "new-token", 1)}));
  const Admittance refused = Admit(gatekeeper, "new-token");
  EXPECT_THAT(refused.status, StatusIs(absl::StatusCode::kResourceExhausted, "rate"));
  EXPECT_EQ(refused.retry_after, absl::Seconds(1));
  gatekeeper.Replace(Rules({ByToken("app", "new-token", 2)}));  // another rate starts full
  EXPECT_THAT(Admit(gatekeeper, "new-token").status, IsOk());
}

// Whether a report came may be private, and whoever shares a rate can find out what is left of it.
TEST(Gatekeeper, ReportsCostTheOtherCallsNothing) {
  const FakeClock clock;
  AccessRules rules = Rules({ByToken("app", "token", 3)});
  rules.principals.front().roles = Role::kSelect | Role::kReport;
  rules.principals.front().burst = 3;
  rules.anonymous_roles = Role::kSelect | Role::kReport;
  rules.anonymous_calls_per_second = 3;
  const auto admitted = [&](Gatekeeper& gatekeeper, bool anonymous, const char* rpc) {
    const std::string bearer = "Bearer token";
    Credentials credentials;
    if (!anonymous) credentials.authorization.emplace_back(bearer);
    int calls = 0;
    while (calls < 10 && gatekeeper.Admit(credentials, FindRule(rpc)).status.ok()) ++calls;
    return calls;
  };
  for (const bool anonymous : {false, true}) {
    for (const bool reports : {false, true}) {
      Gatekeeper gatekeeper(rules, clock);
      const int reported =
          reports ? admitted(gatekeeper, anonymous, "bandana.v1.Recommender/Report") : 3;
      EXPECT_EQ(reported, 3);
      EXPECT_EQ(admitted(gatekeeper, anonymous, "bandana.v1.Recommender/Select"), 3);
      EXPECT_EQ(admitted(gatekeeper, anonymous, "bandana.v1.Recommender/Submit"), 0);
    }
  }
}

TEST(Gatekeeper, RulesMayChangeWhileCallsComeIn) {
  const FakeClock clock;
  Gatekeeper gatekeeper(Rules({ByToken("app", "token")}), clock);
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!stop) {
        const Admittance admittance = Admit(gatekeeper, "token");
        EXPECT_THAT(admittance.status, IsOk());
        EXPECT_EQ(NameOf(admittance.caller), "app");
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    gatekeeper.Replace(Rules({ByToken("extra", std::to_string(i)), ByToken("app", "token")}));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace bandana::server
