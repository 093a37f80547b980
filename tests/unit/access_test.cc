// Who may do what, and how often: the pure part.
#include "server/service/access/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "bandana/internal/peer.pb.h"
#include "bandana/v1/admin.pb.h"
#include "bandana/v1/recommender.pb.h"
#include "common/base/status.h"
#include "server/service/access/rate_limit.h"
#include "server/service/transport/rpcs.h"

namespace bandana::server {
namespace {

constexpr char kToken[] = "0123456789abcdef0123456789abcdef";

Principal ByToken(const std::string& name, const std::string& token, Roles roles,
                  std::vector<std::string> models = {}) {
  Principal principal{.name = name, .token_digest = Sha256Of(token)};
  principal.roles = roles;
  principal.models = std::move(models);
  return principal;
}

Principal ByCertificate(const std::string& subject, Roles roles) {
  Principal principal{.name = subject, .certificate_subject = subject};
  principal.roles = roles;
  return principal;
}

AccessRules Rules() {
  AccessRules rules;
  rules.principals = {ByToken("app", kToken, Role::kSelect, {"news"}),
                      ByToken("feed", "feed-token-of-twenty", Role::kReport),
                      ByToken("ops", "ops-token-of-twenty-1", Role::kAdmin),
                      ByToken("curator", "curator-token-of-20-", Role::kAdmin, {"news"}),
                      ByCertificate("ranker.internal", Role::kSelect | Role::kReport)};
  return rules;
}

struct Row {
  const char* name;
  std::vector<std::string> authorization;
  std::vector<std::string> subjects;
  const char* rpc;
  const char* model;
  absl::StatusCode code;
};

// As Gatekeeper does, rpc by rpc: who calls, what the rpc demands, which model is named.
absl::Status Decide(const AccessRules& rules, const Credentials& credentials, std::string_view rpc,
                    std::string_view model) {
  const RpcRule* const rule = FindRule(rpc);
  if (rule != nullptr && rule->scope == Scope::kOpen) return absl::OkStatus();
  BANDANA_ASSIGN_OR_RETURN(const Caller caller, Identify(rules, credentials));
  BANDANA_RETURN_IF_ERROR(AuthorizeRpc(rules, caller, rule));
  return rule->scope == Scope::kNamedModel ? AuthorizeModel(caller, model) : absl::OkStatus();
}

constexpr char kSelect[] = "bandana.v1.Recommender/Select";
constexpr char kReport[] = "bandana.v1.Recommender/Report";
constexpr char kGetModel[] = "bandana.v1.Recommender/GetModel";
constexpr char kCreate[] = "bandana.v1.Admin/CreateModel";
constexpr char kStats[] = "bandana.v1.Admin/GetStats";

TEST(Access, DecidesByCallerRpcAndModel) {
  using enum absl::StatusCode;
  const std::string app = std::string("Bearer ") + kToken;
  const std::vector<Row> rows = {
      {"its role and model", {app}, {}, kSelect, "news", kOk},
      {"the scheme's case is free", {std::string("bearer ") + kToken}, {}, kSelect, "news", kOk},
      {"another model", {app}, {}, kSelect, "shop", kPermissionDenied},
      {"no model at all", {app}, {}, kSelect, "", kPermissionDenied},
      {"another role", {app}, {}, kReport, "news", kPermissionDenied},
      {"one of two roles is enough", {"Bearer feed-token-of-twenty"}, {}, kGetModel, "x", kOk},
      {"roles do not include each other",
       {"Bearer ops-token-of-twenty-1"},
       {},
       kSelect,
       "news",
       kPermissionDenied},
      {"admin of all", {"Bearer ops-token-of-twenty-1"}, {}, kCreate, "", kOk},
      {"admin of some, its model", {"Bearer curator-token-of-20-"}, {}, kStats, "news", kOk},
      {"admin of some, another",
       {"Bearer curator-token-of-20-"},
       {},
       kStats,
       "shop",
       kPermissionDenied},
      {"admin of some cannot create",
       {"Bearer curator-token-of-20-"},
       {},
       kCreate,
       "",
       kPermissionDenied},
      {"nobody", {}, {}, kSelect, "news", kUnauthenticated},
      {"a wrong token",
       {"Bearer 0123456789abcdef0123456789abcdeF"},
       {},
       kSelect,
       "news",
       kUnauthenticated},
      {"a token's beginning", {"Bearer 0123456789abcdef"}, {}, kSelect, "news", kUnauthenticated},
      {"an empty token", {"Bearer "}, {}, kSelect, "news", kUnauthenticated},
      {"the digest is no token",
       {"Bearer " + ToHex(Sha256Of(kToken))},
       {},
       kSelect,
       "news",
       kUnauthenticated},
      {"another scheme", {std::string("Basic ") + kToken}, {}, kSelect, "news", kUnauthenticated},
      {"two tokens", {app, app}, {}, kSelect, "news", kUnauthenticated},
      {"a certificate", {}, {"x", "ranker.internal"}, kReport, "shop", kOk},
      {"a subject that contains another",
       {},
       {"ranker.internal.evil"},
       kReport,
       "shop",
       kUnauthenticated},
      {"a subject with a NUL",
       {},
       {std::string("ranker.internal\0.evil", 21)},
       kReport,
       "shop",
       kUnauthenticated},
      {"a wrong token beside a good certificate",
       {"Bearer nonsense-nonsense"},
       {"ranker.internal"},
       kReport,
       "shop",
       kUnauthenticated},
      {"the token decides", {app}, {"ranker.internal"}, kReport, "news", kPermissionDenied},
      {"an rpc without a rule",
       {"Bearer ops-token-of-twenty-1"},
       {},
       "bandana.v1.Admin/Erase",
       "",
       kPermissionDenied},
      {"health is open", {}, {}, "grpc.health.v1.Health/Check", "", kOk},
      {"health is open with a wrong token too",
       {"Bearer nonsense-nonsense"},
       {},
       "grpc.health.v1.Health/Check",
       "",
       kOk},
  };
  const AccessRules rules = Rules();
  for (const Row& row : rows) {
    const Credentials credentials{{row.authorization.begin(), row.authorization.end()},
                                  {row.subjects.begin(), row.subjects.end()}};
    const absl::Status status = Decide(rules, credentials, row.rpc, row.model);
    EXPECT_EQ(status.code(), row.code) << row.name << ": " << status;
    EXPECT_THAT(std::string(status.message()), ::testing::Not(::testing::HasSubstr("0123456789")));
  }
}

TEST(Access, AnonymousRolesAreOfCallersWithoutCredentialsOnly) {
  AccessRules rules = Rules();
  rules.anonymous_roles = Role::kSelect;
  EXPECT_TRUE(Decide(rules, {}, kSelect, "news").ok());
  EXPECT_TRUE(Decide(rules, {.subjects = {"somebody"}}, kSelect, "news").ok());
  EXPECT_EQ(Decide(rules, {}, kReport, "news").code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(Decide(rules, {.authorization = {"Bearer nonsense-nonsense"}}, kSelect, "news").code(),
            absl::StatusCode::kUnauthenticated);
  // A principal does not gain what strangers have.
  EXPECT_EQ(
      Decide(rules, {.authorization = {"Bearer feed-token-of-twenty"}}, kSelect, "news").code(),
      absl::StatusCode::kPermissionDenied);
}

TEST(Access, EveryRuleNeedsARoleOrIsOpenAndNoneIsTwice) {
  std::vector<std::string_view> seen;
  for (const Rpc& rpc : AllRpcs()) {
    const RpcRule& rule = rpc.rule;
    EXPECT_EQ(rule.any_of.empty(), rule.scope == Scope::kOpen) << rule.rpc;
    EXPECT_EQ(FindRule(rule.rpc), &rule);
    EXPECT_EQ(rpc.posted > 0, rpc.make_exchange != nullptr) << rule.rpc;
    EXPECT_THAT(seen, ::testing::Not(::testing::Contains(rule.rpc)));
    seen.push_back(rule.rpc);
  }
}

// An rpc of a .proto without a row would be refused, and one that no .proto has could not be asked.
TEST(Access, EveryRpcOfTheServicesHasARow) {
  std::vector<std::string> rows;
  for (const Rpc& rpc : AllRpcs()) rows.emplace_back(rpc.rule.rpc);
  std::vector<std::string> rpcs = {"grpc.health.v1.Health/Check", "grpc.health.v1.Health/Watch",
                                   "grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                                   "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"};
  for (const auto* file :
       {v1::SelectRequest::descriptor()->file(), v1::CreateModelRequest::descriptor()->file(),
        internal::RecordRequest::descriptor()->file()}) {
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        rpcs.push_back(file->service(s)->full_name() + "/" + file->service(s)->method(m)->name());
      }
    }
  }
  EXPECT_THAT(rows, ::testing::UnorderedElementsAreArray(rpcs));
}

TEST(Access, WhatNamesModelsIsOnTheQueuesOrAdmins) {
  for (const Rpc& rpc : AllRpcs()) {
    const bool admin = rpc.rule.any_of.Intersects(Role::kAdmin);
    EXPECT_EQ(rpc.posted == 0 && rpc.rule.scope != Scope::kOpen, admin) << rpc.rule.rpc;
  }
  for (std::size_t i = 0; i < QueueRpcs().size(); ++i) EXPECT_EQ(QueueIndex(QueueRpcs()[i]), i);
}

class RateLimitTest : public ::testing::Test {
 protected:
  // Calls that go on at once.
  static int Drain(RateLimit& rate, absl::Time now) {
    int calls = 0;
    while (calls < 10'000 && rate.Take(now) == absl::ZeroDuration()) ++calls;
    return calls;
  }
  const absl::Time start_ = absl::FromUnixSeconds(1'700'000'000);
};

TEST_F(RateLimitTest, LetsABurstInThenOneCallAnInterval) {
  RateLimit rate(10, 5);
  EXPECT_EQ(Drain(rate, start_), 5);
  EXPECT_EQ(rate.Take(start_), absl::Milliseconds(100));
  EXPECT_EQ(rate.Take(start_ + absl::Milliseconds(40)), absl::Milliseconds(60));
  EXPECT_EQ(Drain(rate, start_ + absl::Milliseconds(100)), 1);
  EXPECT_EQ(Drain(rate, start_ + absl::Milliseconds(350)), 2);
  EXPECT_EQ(Drain(rate, start_ + absl::Hours(1)), 5);  // never more than the burst
}

TEST_F(RateLimitTest, RefusedCallsCostNothing) {
  RateLimit rate(1, 1);
  EXPECT_EQ(Drain(rate, start_), 1);
  for (int i = 0; i < 1000; ++i) rate.Take(start_);
  EXPECT_EQ(rate.Take(start_ + absl::Seconds(1)), absl::ZeroDuration());
}

TEST_F(RateLimitTest, AClockSetBackEmptiesTheBucketAndNoMore) {
  RateLimit rate(10, 5);
  EXPECT_EQ(Drain(rate, start_), 5);
  const absl::Time back = start_ - absl::Hours(5);
  EXPECT_EQ(rate.Take(back), absl::Milliseconds(100));
  EXPECT_EQ(Drain(rate, back + absl::Milliseconds(100)), 1);
  EXPECT_EQ(Drain(rate, back + absl::Seconds(1)), 5);
}

TEST_F(RateLimitTest, ZeroIsNoLimit) {
  RateLimit rate(0, 1);
  EXPECT_EQ(Drain(rate, start_), 10'000);
}

TEST_F(RateLimitTest, CountsTogetherWhatThreadsTake) {
  RateLimit rate(1, 1000);
  std::atomic<int> taken = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) taken += rate.Take(start_) == absl::ZeroDuration();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, 1000);
}

}  // namespace
}  // namespace bandana::server
