// Answers as JSON.
#include "server/api/json_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "bandana/v1/recommender.pb.h"
#include "google/protobuf/struct.pb.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

TEST(JsonWriter, WritesEveryKindOfField) {
  v1::GetModelResponse model;
  model.set_model("a\"\\<\n\x7f\xc3\xa9");
  model.set_dimension(7);
  model.set_feature_l2_max(0.1);
  model.set_reward_min(-0.0);
  model.set_reward_max(1e300);
  model.set_reward_binary(true);
  model.set_mode(v1::JOINT);
  model.set_mechanism(static_cast<v1::Mechanism>(99));
  model.set_events_per_user_max(std::numeric_limits<std::uint64_t>::max());
  model.mutable_token_lifetime()->set_seconds(-1);
  model.mutable_token_lifetime()->set_nanos(-50'000'000);
  model.set_policy_hash("\xfb\xff");
  model.mutable_counter();
  EXPECT_THAT(
      ToJson(model),
      IsOkAndHolds(
          R"({"model":"a\"\\\u003c\u000a\u007fé","dimension":7,"featureL2Max":0.1,)"
          R"("rewardMin":-0.0,"rewardMax":1e+300,"rewardBinary":true,"mode":"JOINT",)"
          R"("mechanism":99,"eventsPerUserMax":"18446744073709551615","tokenLifetime":"-1.050s",)"
          R"("policyHash":"+/8=","counter":{}})"));
}

TEST(JsonWriter, WritesListsAndNumbersThatJsonHasNot) {
  v1::GetArmEffectsResponse effects;
  effects.add_ids(4'294'967'295);
  effects.add_ids(0);
  effects.add_means(0.1F);
  effects.add_means(std::numeric_limits<float>::infinity());
  effects.add_means(-std::numeric_limits<float>::infinity());
  effects.add_means(std::numeric_limits<float>::quiet_NaN());
  EXPECT_THAT(ToJson(effects),
              IsOkAndHolds(R"({"ids":[4294967295,0],"means":[0.1,"Infinity","-Infinity","NaN"]})"));
}

TEST(JsonWriter, ReplacesBytesThatAreNotUtf8) {
  v1::SelectRequest request;
  request.set_decision_id("caf\xe9");
  EXPECT_THAT(ToJson(request), IsOkAndHolds("{\"decisionId\":\"caf\xef\xbf\xbd\"}"));
}

TEST(JsonWriter, RefusesWhatHasNoJson) {
  google::protobuf::Struct values;
  (*values.mutable_fields())["a"].mutable_list_value()->add_values()->set_number_value(
      std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(ToJson(values), StatusIs(absl::StatusCode::kInternal));
  v1::GetModelResponse model;
  model.mutable_token_lifetime()->set_nanos(1'000'000'000);
  EXPECT_THAT(ToJson(model), StatusIs(absl::StatusCode::kInternal));
  model.mutable_token_lifetime()->set_nanos(std::numeric_limits<std::int32_t>::min());
  EXPECT_THAT(ToJson(model), StatusIs(absl::StatusCode::kInternal));
}

}  // namespace
}  // namespace bandana::server
