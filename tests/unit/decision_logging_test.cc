// Decisions of hosted models as the service makes them, and what their logs hold of them: through
// restarts, full disks, checkpoints that let entries go, and stores that were put back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "common/base/mapped_file.h"
#include "common/promise/mechanism.h"
#include "common/promise/reward_reports.h"
#include "server/decisions/decision_files.h"
#include "server/decisions/decision_reader.h"
#include "server/models/aliases/resolved_name.h"
#include "server/service/selection.h"
#include "server/service/tokens/token_keys.h"
#include "tests/support/hosted_model_fixture.h"

namespace bandana::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kLocal[] =
    "mode: LOCAL_REWARD reporting { one_per_decision: true } decision_log {} ";

class DecisionLoggingTest : public HostedModelTest {
 protected:
  DecisionLoggingTest() { options_.pseudonym_key = *server::NewPseudonymKey(); }

  static ModelSpec Spec(const std::string& more = "") {
    return SpecOf("name: 'm' dimension: 2 shared {} mode: NON_PRIVATE decision_log {} " + more);
  }
  // A decision between arms 7 and 9, by the service.
  Decision Select(const std::shared_ptr<server::HostedModel>& model, std::uint32_t top_k = 1) {
    v1::SelectRequest request;
    request.set_model("m");
    request.set_user("ann");
    request.set_top_k(top_k);
    auto& arms = *request.mutable_arms()->mutable_inline_arms();
    for (const double x : {1.0, 0.0, 0.0, 0.5}) arms.add_features(x);
    for (const std::uint32_t id : {7, 9}) arms.add_ids(id);
    v1::SelectResponse response;
    const server::ResolvedModel to{.model = model, .alias = nullptr};
    EXPECT_THAT(server::Select(to, request, 100, clock_.Now(), tokens_, response), IsOk());
    model->Step();
    clock_.Advance(absl::Seconds(1));
    return *tokens_.Open(response.token());
  }
  static void Report(server::HostedModel& model, ReportedOutcome outcome) {
    std::promise<absl::StatusOr<std::vector<ReportResult>>> answer;
    model.Report({std::move(outcome)}, [&](auto results) { answer.set_value(std::move(results)); });
    model.Step();
    const auto results = answer.get_future().get();
    ASSERT_THAT(results, IsOk());
    EXPECT_EQ(results->front().code, v1::APPLIED);
  }
  static void Report(server::HostedModel& model, const Decision& decision, double reward) {
    Report(model, {.decision = decision, .reward = reward});
  }
  // The output `output` of a device.
  static void Submit(server::HostedModel& model, const Decision& decision, std::uint32_t output) {
    Report(model, {.decision = decision, .output = output});
  }
  std::vector<LoggedDecision> Lines(const std::string& folder) {
    const auto reader = server::DecisionReader::Open(
        {.folders = {folder + "/" + std::string(server::kDecisionFolder)}, .now = clock_.Now()});
    EXPECT_THAT(reader.status(), IsOk());
    std::vector<LoggedDecision> lines;
    LoggedDecision line;
    while (*(*reader)->Next(line)) lines.push_back(line);
    return lines;
  }
  // A copy of the model's folder, as a kill would leave it.
  std::string Copy(const std::string& name) {
    const std::string to = copies_.File(name);
    fs::copy(folder_.path(), to, fs::copy_options::recursive);
    return to;
  }

  const TempDir copies_;
  std::unique_ptr<server::TokenKeys> keys_ =
      *server::TokenKeys::Open({.file = copies_.File("keys"), .poll_interval = {}}, clock_);
  server::TokenCodec tokens_{*keys_};
};

TEST_F(DecisionLoggingTest, AReleasedRewardComesWithItsLaw) {
  options_.stepped = true;
  const std::shared_ptr<server::HostedModel> model =
      Open(SpecOf("name: 'm' dimension: 2 shared {} privacy { epsilon: 1 mechanism: "
                  "REWARD_RANDOMIZER } reward_binary: true " +
                  std::string(kLocal)));
  Submit(*model, Select(model), 1);
  Submit(*model, Select(model), 0);
  model->Step();
  const std::vector<LoggedDecision> lines = Lines(folder_.path());
  ASSERT_THAT(lines, SizeIs(2));
  // Randomized response: low = -1 / (e - 1), high = 1 - low.
  const double low = -1 / (std::exp(1.0) - 1);
  const std::optional<ReleaseLaw>& law = lines[0].slots[0].released;
  ASSERT_TRUE(law);
  EXPECT_EQ(law->epsilon, 1);
  EXPECT_NEAR(law->low, low, 1e-6);
  EXPECT_NEAR(law->high, 1 - low, 1e-6);
  EXPECT_FALSE(law->clipped);
  EXPECT_EQ(lines[0].slots[0].reward, law->high);
  EXPECT_EQ(lines[1].slots[0].reward, law->low);
  EXPECT_THAT(lines[0].slots[0].ids, ::testing::ElementsAre(7, 9));
  EXPECT_THAT(lines[0].slots[0].x, IsEmpty()) << "no contexts, unless they are asked for";
}

// In its window: [mean - h, mean + h], where the mean is 0 before the first event.
TEST_F(DecisionLoggingTest, ACentredRewardIsOfItsWindowAndSaysSo) {
  options_.stepped = true;
  const ModelSpec spec = SpecOf(
      "name: 'm' dimension: 2 shared {} privacy { epsilon: 2 mechanism: "
      "CENTRED_RANDOMIZER } reward_min: -9 reward_max: 9 "
      "reward_stddev: 0.25 prior_stddev: 0.25 " +
      std::string(kLocal));
  const std::shared_ptr<server::HostedModel> model = Open(spec);
  const Decision decision = Select(model, /*top_k=*/2);
  const std::optional<RewardRange> window = decision.arms[0].window;
  ASSERT_TRUE(window);
  const RewardReports& reports = *spec.public_spec.made->rewards();
  ASSERT_FALSE(reports.IsWholeRange(window));
  Submit(*model, decision, reports.outputs() - 1);
  model->Step();
  const std::vector<LoggedDecision> lines = Lines(folder_.path());
  ASSERT_THAT(lines, SizeIs(1));
  const auto read =
      reports.Read({.output = reports.outputs() - 1, .window = window}, spec.reward_stddev);
  const double value = std::get<RewardEvent>(read).value;
  EXPECT_NEAR(lines[0].slots[0].reward, value, 1e-12 * std::abs(value));
  EXPECT_TRUE(lines[0].slots[0].released->clipped);
  EXPECT_EQ(lines[0].slots[0].released->high, value);
  EXPECT_EQ(lines[0].named_rank, 0u);
}

TEST_F(DecisionLoggingTest, AFullDiskTakesDecisionsAndTheModelLearns) {
  options_.stepped = true;
  std::uint64_t free = std::uint64_t{1} << 40;
  options_.free_bytes = [&](const std::string&) { return free; };
  const std::shared_ptr<server::HostedModel> model = Open(Spec());
  const Decision kept = Select(model);
  free = 1000;
  model->Step();
  const Decision dropped = Select(model);
  Report(*model, dropped, 1);
  Report(*model, kept, 1);
  model->Step();
  const v1::GetStatsResponse stats = model->Stats();
  EXPECT_EQ(stats.reports_applied(), 2u);
  EXPECT_EQ(stats.decision_log().lost(), 1u);
  EXPECT_THAT(Lines(folder_.path()), IsEmpty()) << "the oldest go as well";
  free = std::uint64_t{1} << 40;
  clock_.Advance(absl::Seconds(2));
  model->Step();
  const Decision after = Select(model);
  Report(*model, after, 0.5);
  model->Step();
  const std::vector<LoggedDecision> lines = Lines(folder_.path());
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0].slots[0].reward, 0.5);
  EXPECT_THAT(warnings_, ::testing::Contains(::testing::HasSubstr("1 decisions were dropped")));
}

// Reports are acknowledged before they are applied: their rewards go with the lines all the same.
TEST_F(DecisionLoggingTest, DeletedUsersLeaveNoRewardThatWasAcknowledged) {
  const std::shared_ptr<server::HostedModel> model = Open(Spec());
  for (int round = 0; round < 30; ++round) {
    for (int i = 0; i < 5; ++i) Report(*model, Select(model), 0.5);
    ASSERT_THAT(model->DeleteUsers(std::vector<std::string>{"ann"}), IsOk());
  }
  const std::string folder = folder_.path() + "/" + std::string(server::kDecisionFolder);
  const auto segments = server::ListSegments(folder, SegmentKind::kRewards);
  ASSERT_THAT(segments, IsOkAndHolds(SizeIs(1)));
  const auto file = MappedFile::Open(server::SegmentPath(folder, SegmentKind::kRewards, 1));
  ASSERT_THAT(file.status(), IsOk());
  EXPECT_EQ(RewardRows(file->bytes()), 150u);
  for (std::size_t i = 0; i < RewardRows(file->bytes()); ++i) {
    EXPECT_EQ(RewardDecisionAt(file->bytes(), i), StoredId{}) << i;
  }
}

// Two checkpoints let the entries go: a kill right after them finds the rewards in the files.
TEST_F(DecisionLoggingTest, NoEntryGoesBeforeItsRewardIsKept) {
  const std::shared_ptr<server::HostedModel> model = Open(Spec());
  std::vector<Decision> decisions;
  for (int i = 0; i < 20; ++i) decisions.push_back(Select(model));
  for (const Decision& decision : decisions) {
    Report(*model, decision, 0.25);
  }
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(model->Checkpoint(), IsOk());
    Report(*model, Select(model), 0.75);
  }
  const std::string killed = Copy("killed");
  options_.stepped = true;
  auto again = server::HostedModel::Open(Spec(), killed, clock_, options_);
  ASSERT_THAT(again, IsOk());
  const std::vector<LoggedDecision> lines = Lines(killed);
  ASSERT_GE(lines.size(), 22u) << "at most the last moment's decision is lost";
  for (const LoggedDecision& line : lines) {
    EXPECT_EQ(line.slots[0].state, RewardState::kKnown);
  }
}

// The model's log is older than the decision log: rewards of a future that was lost go.
TEST_F(DecisionLoggingTest, AStoreThatWasPutBackHasNoRewardsOfItsLostFuture) {
  options_.stepped = true;
  std::string before;
  {
    const std::shared_ptr<server::HostedModel> model = Open(Spec());
    const Decision first = Select(model);
    const Decision second = Select(model);
    Report(*model, first, 0.25);
    model->Step();
    before = Copy("before");
    Report(*model, second, 0.75);
    model->Step();
    ASSERT_EQ(Lines(folder_.path())[1].slots[0].state, RewardState::kKnown);
  }
  const std::string decisions = "/" + std::string(server::kDecisionFolder);
  fs::remove_all(before + decisions);
  fs::copy(folder_.path() + decisions, before + decisions, fs::copy_options::recursive);
  const auto again = server::HostedModel::Open(Spec(), before, clock_, options_);
  ASSERT_THAT(again, IsOk());
  const std::vector<LoggedDecision> lines = Lines(before);
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(lines[0].slots[0].reward, 0.25);
  EXPECT_EQ(lines[1].slots[0].state, RewardState::kPending);
}

TEST_F(DecisionLoggingTest, TsallisRewardsAreTheRewards) {
  options_.stepped = true;
  const std::shared_ptr<server::HostedModel> model =
      Open(SpecOf("name: 'm' dimension: 2 arms {} mode: NON_PRIVATE decision_log {}"));
  v1::SelectRequest request;
  request.set_model("m");
  request.set_user("ann");
  for (const double x : {1.0, 0.0, 0.0, 1.0}) {
    request.mutable_arms()->mutable_inline_arms()->add_features(x);
  }
  v1::SelectResponse response;
  ASSERT_THAT(server::Select({.model = model, .alias = nullptr}, request, 100, clock_.Now(),
                             tokens_, response),
              IsOk());
  Report(*model, *tokens_.Open(response.token()), 0.875);
  model->Step();
  const std::vector<LoggedDecision> lines = Lines(folder_.path());
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_NEAR(lines[0].slots[0].reward, 0.875, 1e-15);
  EXPECT_THAT(lines[0].slots[0].q, IsEmpty()) << "its scores are no expectations";
  EXPECT_EQ(lines[0].slots[0].chosen_p, response.propensities(0));
}

}  // namespace
}  // namespace bandana::testing
