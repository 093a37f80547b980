// The entry that the lab makes of a device's report is the server's.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/design/planner/served_config.h"
#include "common/model/entries/records.h"
#include "common/promise/mechanism.h"
#include "common/ranking/scoring.h"
#include "research/lab/devices.h"
#include "research/lab/noise.h"
#include "server/models/admission/report_check.h"
#include "tests/support/status_matchers.h"

namespace bandana::lab {
namespace {

using ::bandana::testing::IsOk;

// A model of rewards in [-1, 1] with these further lines.
ModelSpec ModelOf(const std::string& lines) {
  v1::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(name: "m" dimension: 2 reward_min: -1 reward_max: 1 reward_stddev: 0.05 shared {} )" +
          lines,
      &config));
  std::vector<ConfigError> errors;
  std::optional<ModelSpec> spec = ParseServedModel(config, "", /*allow_files=*/false, errors);
  for (const ConfigError& error : errors) ADD_FAILURE() << error.field << " " << error.message;
  return *std::move(spec);
}

OutcomeRecord OutcomeOf(const std::string& bytes) {
  const auto record = Decode(bytes, 2);
  EXPECT_THAT(record, IsOk());
  return std::get<OutcomeRecord>(*record);
}

class LabDevicesTest : public ::testing::TestWithParam<const char*> {
 protected:
  // A device's report of a reward: as the lab's, from the noise of seed 1.
  ReportedOutcome Reported(const ModelSpec& spec, double reward) {
    ReportedOutcome outcome;
    outcome.decision.epoch = 1;
    outcome.decision.node = 0;
    outcome.decision.arms = {{.propensity = 1, .features = x_}};
    if (const RewardReports* rewards = spec.public_spec.made->rewards();
        rewards != nullptr && spec.public_spec.made->drawn_on_device()) {
      ArmScores scores;
      ScoreArms(posterior_, x_, scores);
      auto& window = outcome.decision.arms[0].window;
      window = rewards->WindowFor(scores.means[0], scores.widths[0], spec.reward_stddev);
      const auto noise = LabNoise::Create(1, 0).value();
      const auto drawn = rewards->Draw(
          rewards->Clip(RawReward(reward), spec.public_spec.default_reward(), window), *noise);
      outcome.output = drawn.value().output();
      outcome.whole_range = rewards->IsWholeRange(window);
    } else {
      outcome.reward = reward;
    }
    return outcome;
  }

  const std::vector<double> x_ = {0.6, -0.3};
  const NodePosterior posterior_ = {
      .mean = {0.5, 0.1}, .covariance = {0.01, 0, 0, 0.02}, .alpha = 0.3};
};

TEST_P(LabDevicesTest, MakeTheEntryOfAServer) {
  const ModelSpec spec = ModelOf(GetParam());
  for (const double reward : {0.3, -4.0}) {
    const auto devices = MakeDevices(spec, 1);
    ASSERT_THAT(devices, IsOk());
    const auto bytes = (*devices)->Report(0, x_, reward, posterior_);
    ASSERT_THAT(bytes, IsOk());
    const OutcomeRecord made = OutcomeOf(*bytes);

    const server::Intake intake = server::MakeIntake(spec);
    const auto& check = *std::get<server::CheckOf<ReportedOutcome>>(intake);
    const auto checked = check.Check(Reported(spec, reward), absl::UnixEpoch());
    ASSERT_TRUE(std::holds_alternative<server::CheckedReport>(checked));
    const std::string request = std::get<server::CheckedReport>(checked).request;
    const OutcomeRecord wanted = OutcomeOf(request);

    EXPECT_EQ(made.reward, wanted.reward);
    EXPECT_EQ(made.variance, wanted.variance);
    EXPECT_EQ(made.event.features.Values(), wanted.event.features.Values());
    EXPECT_EQ(made.event.node, wanted.event.node);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, LabDevicesTest,
    ::testing::Values("mode: NON_PRIVATE",
                      "mode: CENTRAL_REWARD privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } "
                      "reporting { one_per_decision: true }",
                      "mode: LOCAL_REWARD privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } "
                      "reporting { one_per_decision: true }",
                      "mode: LOCAL_REWARD privacy { epsilon: 1 mechanism: CENTRED_RANDOMIZER } "
                      "reporting { one_per_decision: true }"));

}  // namespace
}  // namespace bandana::lab
