#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "client/core/policy.h"
#include "tests/support/fake_recommender.h"
#include "tests/support/status_matchers.h"

namespace bandana::device {
namespace {

using namespace bandana::testing;

TEST(ClientPolicyTest, RefusesAWeakerModelInEachPoint) {
  const struct {
    const char* name;
    std::function<void(PublicSpec&, PrivacyPolicy&)> change;
    const char* message;  // empty: accepted
  } cases[] = {
      {"default", [](auto&, auto&) {}, ""},
      {"not local", [](auto& spec, auto&) { spec = RawSpec(); }, "require_local"},
      {"not local, allowed",
       [](auto& spec, auto& policy) {
         spec = RawSpec();
         policy.require_local = false;
       },
       "epsilon_max is 2, its epsilon is inf"},
      {"not local, no guarantee",
       [](auto& spec, auto& policy) {
         spec = RawSpec();
         policy.require_local = false;
         policy.epsilon_max = std::numeric_limits<double>::infinity();
       },
       "require_proven"},
      {"anything",
       [](auto& spec, auto& policy) {
         spec = RawSpec();
         policy = PrivacyPolicy::AcceptAnything();
       },
       ""},
      {"epsilon at the bound", [](auto& spec, auto&) { spec.epsilon = {2.0}; }, ""},
      {"epsilon above", [](auto& spec, auto&) { spec.epsilon = {2.0000001}; }, "epsilon_max is 2"},
      {"epsilon not a number", [](auto& spec, auto&) { spec.epsilon = {std::nan("")}; },
       "epsilon_max is 2"},
      {"delta above", [](auto& spec, auto&) { spec.delta = {1e-9}; }, "delta_max is 0"},
      {"delta allowed",
       [](auto& spec, auto& policy) {
         spec.delta = {1e-9};
         policy.delta_max = 1e-6;
       },
       ""},
      {"published", [](auto& spec, auto&) { spec.guarantee = "published"; },
       "its guarantee label is \"published\""},
      {"published, allowed",
       [](auto& spec, auto& policy) {
         spec.guarantee = "published";
         policy.require_proven = false;
       },
       ""},
      {"research", [](auto& spec, auto&) { spec.research = true; }, "allow_research"},
      {"research, allowed",
       [](auto& spec, auto& policy) {
         spec.research = true;
         policy.allow_research = true;
       },
       ""},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.name);
    PublicSpec spec = LocalSpec();
    PrivacyPolicy policy;
    each.change(spec, policy);
    if (*each.message == '\0') {
      EXPECT_THAT(CheckPolicy(spec, policy), IsOk());
    } else {
      EXPECT_THAT(CheckPolicy(spec, policy),
                  StatusIs(absl::StatusCode::kFailedPrecondition, each.message));
    }
  }
}

TEST(ClientPolicyTest, SmallerBoundOnEventsHolds) {
  const std::uint64_t cases[][3] = {{0, 0, 0}, {5, 0, 5}, {0, 7, 7}, {5, 7, 5}, {7, 5, 5}};
  for (const auto& [of_model, of_application, expected] : cases) {
    PublicSpec spec = LocalSpec();
    spec.events_per_user_max = of_model;
    PrivacyPolicy policy;
    policy.events_per_user_max = of_application;
    EXPECT_EQ(EventsMax(spec, policy), expected);
  }
}

TEST(ClientPolicyTest, OptionsOutOfRangeAreNamed) {
  const struct {
    std::function<void(ClientOptions&)> change;
    const char* field;
  } cases[] = {
      {[](auto& o) { o.target.clear(); }, "target"},
      {[](auto& o) { o.model.clear(); }, "model"},
      {[](auto& o) { o.model = std::string(64, 'm'); }, "model"},
      {[](auto& o) { o.policy.epsilon_max = -1; }, "epsilon_max"},
      {[](auto& o) { o.policy.epsilon_max = std::nan(""); }, "epsilon_max"},
      {[](auto& o) { o.policy.delta_max = 2; }, "delta_max"},
      {[](auto& o) { o.policy.delta_max = std::nan(""); }, "delta_max"},
      {[](auto& o) { o.queue_reports_max = 0; }, "queue_reports_max"},
      {[](auto& o) { o.queue_reports_max = 1'000'001; }, "queue_reports_max"},
      {[](auto& o) { o.deliveries_in_flight_max = 65; }, "deliveries_in_flight_max"},
      {[](auto& o) { o.reports_per_delivery_max = 0; }, "reports_per_delivery_max"},
      {[](auto& o) { o.select_deadline = absl::ZeroDuration(); }, "select_deadline"},
      {[](auto& o) { o.report_deadline = absl::Seconds(61); }, "report_deadline"},
      {[](auto& o) { o.connect_timeout = -absl::Seconds(1); }, "connect_timeout"},
      {[](auto& o) { o.backoff_max = absl::InfiniteDuration(); }, "backoff_max"},
      {[](auto& o) { o.backoff_min = absl::Seconds(3); }, "backoff_min"},
  };
  ClientOptions good;
  good.target = "localhost:1";
  good.model = "m";
  EXPECT_THAT(CheckOptions(good), IsOk());
  for (const auto& each : cases) {
    ClientOptions options = good;
    each.change(options);
    EXPECT_THAT(CheckOptions(options), StatusIs(absl::StatusCode::kInvalidArgument, each.field));
  }
}

}  // namespace
}  // namespace bandana::device
