// A model as it was exported, as a policy: its law, and the decisions that it may have learnt from.
#include "tools/replay/exported_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "common/base/file.h"
#include "common/decisions/joined_decision.h"
#include "common/judging/judge.h"
#include "common/judging/row.h"
#include "server/models/folder/export.h"
#include "tests/support/model_harness.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/replay/export_origin.h"

namespace bandana::testing {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(ExportOrigin, KnowsWhichDecisionsItCannotHaveLearnt) {
  const absl::Time written = absl::FromUnixSeconds(1000);
  const ExportOrigin origin{.instance = "ab", .sequence = 7, .written = written};
  const auto learnt = [&](const std::string& instance, std::uint64_t version, absl::Time time) {
    LoggedDecision decision;
    decision.instance = instance;
    decision.version = version;
    decision.time = time;
    return MayHaveLearnt(origin, decision);
  };
  // Its own: by the version, whatever clocks say.
  EXPECT_TRUE(learnt("ab", 6, written + absl::Hours(1)));
  EXPECT_FALSE(learnt("ab", 7, written - absl::Hours(1)));
  EXPECT_TRUE(learnt("ab", 0, written + absl::Hours(1)));  // no version is known
  // Others: by the time alone.
  for (const std::string instance : {"", "cd"}) {
    EXPECT_TRUE(learnt(instance, 100, written));
    EXPECT_TRUE(learnt(instance, 100, written + kExportClockError));
    EXPECT_FALSE(learnt(instance, 0, written + kExportClockError + absl::Nanoseconds(1)));
  }
  EXPECT_FALSE(MayHaveLearnt({.instance = "ab", .sequence = 0, .written = written}, {}));
}

class ExportedPolicyTest : public ::testing::Test {
 protected:
  // Opens a model and has it learn that the first feature brings `rewards`.
  void Make(const ModelSpec& spec, int rewards) {
    auto model = server::HostedModel::Open(spec, folder_.File("model"), clock_, {.stepped = true});
    ASSERT_THAT(model, IsOk());
    model_ = *std::move(model);
    for (int i = 0; i < rewards; ++i) {
      std::vector<ReportResult> results;
      model_->Report(
          {{.decision = DecisionOf(*model_, clock_, static_cast<std::uint64_t>(i), {1, 0}, "ann"),
            .reward = 1}},
          [&](auto got) { results = *got; });
      model_->Step();
      ASSERT_EQ(results.size(), 1);
      ASSERT_EQ(results[0].code, v1::APPLIED);
    }
  }
  absl::StatusOr<std::unique_ptr<JudgedPolicy>> Policy() {
    const auto exported = model_->Export();
    EXPECT_THAT(exported, IsOk());
    return Policy(*exported);
  }
  absl::StatusOr<std::unique_ptr<JudgedPolicy>> Policy(const std::string& bytes) {
    EXPECT_THAT(WriteFileDurably(folder_.File("m.bandana"), bytes, 0600), IsOk());
    return MakeExportedPolicy("model:m", folder_.File("m.bandana"), 1);
  }
  // Arms 1 and 2, the unit vectors, as the line or as the catalogue has them.
  LoggedDecision Decision(std::uint64_t version, bool features) const {
    LoggedDecision decision;
    decision.id = absl::StrCat("d", version);
    decision.instance = HexOf(model_->instance());
    decision.version = version;
    LoggedSlot& slot = decision.slots.emplace_back();
    slot.offered = 2;
    slot.ids = {1, 2};
    if (features) slot.x = {0, 1, 1, 0};
    slot.p = {0.5, 0.5};
    slot.chosen_p = 0.5;
    slot.state = RewardState::kKnown;
    return decision;
  }
  std::vector<double> LawOf(JudgedPolicy& policy, const LoggedDecision& decision) {
    std::vector<double> law;
    const auto defined = policy.Law({.decision = &decision, .at = 0, .taken = {}}, law);
    EXPECT_THAT(defined, IsOk());
    return defined.ok() && *defined ? law : std::vector<double>();
  }

  const TempDir folder_;
  FakeClock clock_;
  std::unique_ptr<server::HostedModel> model_;
};

constexpr char kMix[] = "policy { uniform_mix { uniform_share: 0.2 } }";

TEST_F(ExportedPolicyTest, ChoosesByTheExportedPosterior) {
  Make(SharedSpec(kMix), 20);
  const auto policy = Policy();
  ASSERT_THAT(policy, IsOk());
  const std::uint64_t last = model_->posterior()->version();
  // Arm 2 has the feature that was rewarded.
  EXPECT_THAT(LawOf(**policy, Decision(last, true)),
              ::testing::ElementsAre(::testing::DoubleEq(0.1), ::testing::DoubleEq(0.9)));
  LoggedDecision other = Decision(last, true);
  other.slots[0].x = {1, 0, 0, 1};
  EXPECT_THAT(LawOf(**policy, other),
              ::testing::ElementsAre(::testing::DoubleEq(0.9), ::testing::DoubleEq(0.1)));
}

TEST_F(ExportedPolicyTest, TakesFeaturesOfTheExportedCatalogue) {
  Make(SharedSpec(kMix), 20);
  v1::PutArmsResponse response;
  ASSERT_THAT(model_->PutArms(std::vector<server::CatalogueArm>{{1, {0, 1}, {}}, {2, {1, 0}, {}}},
                              &response),
              IsOk());
  const auto policy = Policy();
  ASSERT_THAT(policy, IsOk());
  LoggedDecision decision = Decision(model_->posterior()->version(), false);
  EXPECT_THAT(LawOf(**policy, decision),
              ::testing::ElementsAre(::testing::DoubleEq(0.1), ::testing::DoubleEq(0.9)));
  decision.slots[0].ids = {1, 3};
  std::vector<double> law;
  EXPECT_THAT((*policy)->Law({.decision = &decision, .at = 0, .taken = {}}, law),
              StatusIs(absl::StatusCode::kFailedPrecondition, "model:m: decision d"));
}

TEST_F(ExportedPolicyTest, LeavesOutWhatItHasLearntAndSaysSo) {
  Make(SharedSpec(kMix), 20);
  auto policy = Policy();
  ASSERT_THAT(policy, IsOk());
  const std::uint64_t last = model_->posterior()->version();
  EXPECT_EQ((*policy)->Note(), "");
  EXPECT_THAT(LawOf(**policy, Decision(last - 1, true)), ::testing::IsEmpty());
  EXPECT_THAT((*policy)->Note(), ::testing::HasSubstr("has learnt from 1 of the decisions"));
  EXPECT_THAT((*policy)->Note(), ::testing::HasSubstr(absl::StrCat("before version ", last)));
  LoggedDecision elsewhere = Decision(last, true);
  elsewhere.instance = "";
  elsewhere.time = absl::Now();
  EXPECT_THAT(LawOf(**policy, elsewhere), ::testing::IsEmpty());
  elsewhere.time = absl::Now() + absl::Hours(1);
  EXPECT_THAT(LawOf(**policy, elsewhere), ::testing::SizeIs(2));
}

TEST_F(ExportedPolicyTest, ALogThatItHasLearntIsNoRow) {
  Make(SharedSpec(kMix), 20);
  std::vector<std::unique_ptr<JudgedPolicy>> policies;
  auto policy = Policy();
  ASSERT_THAT(policy, IsOk());
  policies.push_back(*std::move(policy));
  Judge judge({.used = 300}, std::move(policies), {{0}});
  for (std::uint64_t i = 0; i < 300; ++i) judge.Add(Decision(i % 20, true));
  judge.Finish();
  const JudgementRow row = MakeRow(judge, 0, {});
  EXPECT_FALSE(row.judged);
  EXPECT_FALSE(row.value.has_value());
  EXPECT_THAT(row.note, ::testing::HasSubstr("has learnt from 300 of the decisions"));
}

TEST_F(ExportedPolicyTest, RefusesModelsThatTellUsersApart) {
  Make(IndependentSpec(kMix), 3);
  EXPECT_THAT(Policy(), StatusIs(kInvalid, "model:m: the model tells users apart"));
}

TEST_F(ExportedPolicyTest, RefusesModelsThatForget) {
  Make(SharedSpec("half_life { seconds: 3600 }"), 3);
  EXPECT_THAT(Policy(), StatusIs(kInvalid, "model:m: half_life: must not be set"));
}

TEST_F(ExportedPolicyTest, RefusesFilesThatAreNoExport) {
  Make(SharedSpec(kMix), 3);
  std::string bytes = *model_->Export();
  EXPECT_THAT(Policy(bytes.substr(0, bytes.size() - 1)), StatusIs(absl::StatusCode::kDataLoss));
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  EXPECT_THAT(Policy(bytes), StatusIs(absl::StatusCode::kDataLoss, "model:m: export"));
  EXPECT_THAT(Policy("nonsense"), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(MakeExportedPolicy("model:n", folder_.File("n"), 1),
              StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace bandana::testing
