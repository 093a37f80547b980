// JSON of bandana-ctl.
#include <gtest/gtest.h>

#include <limits>

#include "bandana/v1/admin.pb.h"
#include "tools/ctl/json.h"
#include "tools/ctl/text.h"

namespace bandana {
namespace {

TEST(ToJson, KeepsLargeNumbersAsNumbersAndMapsAsObjects) {
  v1::GetStatsResponse stats;
  stats.set_reports_applied(18446744073709551615u);
  (*stats.mutable_reports_rejected())["user_limit"] = 3;
  EXPECT_EQ(ToJson(stats), R"({
  "reports_applied": 18446744073709551615,
  "reports_duplicate": 0,
  "reports_rejected": {
    "user_limit": 3
  },
  "log_sequence": 0,
  "applied_sequence": 0,
  "posterior_version": 0,
  "epoch": 0,
  "nodes": 0,
  "arms": 0,
  "decisions_open": 0,
  "features_clipped": 0,
  "rewards_clipped": 0,
  "grams_repaired": 0,
  "refusals": [],
  "features": [],
  "decisions_waiting": 0
}
)");
}

TEST(StatsLines, SayWhatWaitsAndWhatIsAmiss) {
  v1::GetStatsResponse stats;
  EXPECT_EQ(StatsLines(stats), "");
  stats.set_decisions_waiting(3);
  v1::Refusal& refusal = *stats.add_refusals();
  refusal.set_reason("clock");
  refusal.set_text("the clock is off");
  refusal.set_remedy("set it");
  EXPECT_EQ(StatsLines(stats),
            "3 decisions wait for their window or their report, and are not learnt yet\n"
            "not learning as it should (clock): the clock is off. To do: set it\n");
  stats.clear_refusals();
  stats.set_decisions_waiting(1);
  EXPECT_EQ(StatsLines(stats),
            "1 decision waits for its window or its report, and is not learnt yet\n");
}

TEST(ToJson, WritesBytesEnumsDurationsAndWhatIsNotFinite) {
  v1::GetModelResponse model;
  model.set_model("a\"b\\\n");
  model.set_mode(v1::LOCAL_REWARD);
  model.set_epsilon(std::numeric_limits<double>::infinity());
  model.set_delta(0.1);
  model.set_policy_hash(std::string("\x00\xff", 2));
  model.mutable_token_lifetime()->set_seconds(1);
  model.mutable_token_lifetime()->set_nanos(500'000'000);
  const std::string json = ToJson(model);
  for (const char* part : {R"("model": "a\"b\\\u000a")", R"("mode": "LOCAL_REWARD")",
                           R"("epsilon": null)", R"("delta": 0.1)", R"("policy_hash": "00ff")",
                           R"("token_lifetime_seconds": 1.5)", R"("research": false)"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << "\n" << json;
  }
  EXPECT_EQ(json.find("reporting"), std::string::npos);
}

TEST(ToJson, ListsAreThereWhenEmpty) {
  EXPECT_EQ(ToJson(v1::ListModelsResponse()), "{\n  \"models\": []\n}\n");
}

TEST(ToText, IsPlain) {
  v1::PutArmsResponse response;
  response.set_added(2);
  EXPECT_EQ(ToText(response), "added: 2\nreplaced: 0\narms: 0\n");
}

TEST(ArmLine, ReadsBackAsTheSameNumbers) {
  v1::Arm arm;
  arm.set_id(7);
  arm.add_features(0.1);
  arm.add_features(-1);
  EXPECT_EQ(ArmLine(arm), "7\t-\t0.10000000000000001 -1\n");
  arm.add_tags("a");
  arm.add_tags("b");
  EXPECT_EQ(ArmLine(arm), "7\ta,b\t0.10000000000000001 -1\n");
}

}  // namespace
}  // namespace bandana
