// The arms that users were shown, as a hosted model keeps them: from decisions alone, through
// restarts, until the user is deleted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/base/file.h"
#include "common/model/state/seen_arms.h"
#include "tests/support/hosted_model_fixture.h"

namespace bandana::testing {
namespace {

using server::HostedModel;

constexpr char kWindow[] =
    "reporting { reward_window { duration { seconds: 60 } default_reward: 0.25 } } ";
constexpr char kPrivacy[] = "privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } ";

class SeenServedTest : public HostedModelTest {
 protected:
  SeenServedTest() {
    options_.stepped = true;
    const std::array<std::byte, 32> key{};
    options_.noise_key = std::make_shared<const NoiseKey>(*NoiseKey::FromBytes(key));
  }
  static ModelSpec Spec(const std::string& more, const std::string& seen = "") {
    return SpecOf("name: 'm' dimension: 2 effects { standard {} user_groups: 'plan' seen { " +
                  seen + " } } " + more);
  }
  static ModelSpec OpenSpec() { return Spec("mode: NON_PRIVATE "); }

  Decision For(const HostedModel& model, const std::string& user, std::uint32_t arm) {
    Decision decision = DecisionOf(model, clock_, ++number_, {0.6, 0.8});
    decision.arms[0].keys = {UserKey(user), kAbsent, ArmKey(arm)};
    return decision;
  }
  // As Select records a decision.
  Decision Show(HostedModel& model, const std::string& user, std::uint32_t arm) {
    const Decision decision = For(model, user, arm);
    EXPECT_THAT(model.RecordDecision(decision), IsOk());
    model.Step();
    clock_.Advance(absl::Seconds(1));
    return decision;
  }
  void Report(HostedModel& model, const Decision& decision, double reward) {
    std::optional<absl::StatusOr<std::vector<ReportResult>>> results;
    model.Report({{.decision = decision, .shown = 0, .reward = reward}},
                 [&](absl::StatusOr<std::vector<ReportResult>> answer) { results = answer; });
    model.Step();
    ASSERT_THAT(*results, IsOk());
    EXPECT_EQ((*results)->front().code, v1::APPLIED);
  }
  static std::vector<std::uint32_t> Arms(const HostedModel& model, const std::string& user,
                                         SeenKind kind = SeenKind::kShown) {
    std::vector<std::uint32_t> arms;
    for (const auto& arm : model.seen()->Of(kind, UserKey(user), absl::InfinitePast())) {
      arms.push_back(arm.arm);
    }
    return arms;
  }

  std::uint64_t number_ = 0;
};

TEST_F(SeenServedTest, EveryModeKeepsWhatWasDecided) {
  for (const std::string& more :
       {std::string("mode: NON_PRIVATE "), std::string("mode: NON_PRIVATE ") + kWindow,
        std::string("mode: LOCAL_REWARD reporting { one_per_decision: true } ") + kPrivacy,
        std::string("mode: LOCAL_REWARD ") + kWindow + kPrivacy,
        std::string("mode: CENTRAL_REWARD ") + kWindow + kPrivacy}) {
    const TempDir folder;
    const auto open = [&] {
      return *HostedModel::Open(Spec(more), folder.path(), clock_, options_);
    };
    auto model = open();
    Show(*model, "ann", 7);
    Show(*model, "bob", 9);
    Show(*model, "ann", 8);
    for (const bool again : {false, true}) {
      EXPECT_THAT(Arms(*model, "ann"), ElementsAre(7, 8)) << more;
      EXPECT_THAT(Arms(*model, "bob"), ElementsAre(9)) << more;
      EXPECT_THAT(Arms(*model, "ann", SeenKind::kRewarded), IsEmpty()) << more;
      if (again) break;
      model.reset();
      model = open();
    }
  }
}

TEST_F(SeenServedTest, RewardsAreKeptWhereTheyArePublicAlone) {
  auto model = Open(OpenSpec());
  Report(*model, Show(*model, "ann", 7), 0);
  Report(*model, Show(*model, "ann", 8), 0.5);
  EXPECT_THAT(Arms(*model, "ann", SeenKind::kRewarded), ElementsAre(8));
  EXPECT_THAT(Arms(*model, "ann"), ElementsAre(7, 8));
  model.reset();
  model = Open(OpenSpec());
  EXPECT_THAT(Arms(*model, "ann", SeenKind::kRewarded), ElementsAre(8));
}

TEST_F(SeenServedTest, WithAWindowARewardAboveTheDefaultCountsAtItsClose) {
  const auto model = Open(Spec(std::string("mode: NON_PRIVATE ") + kWindow));
  Report(*model, Show(*model, "ann", 7), 0.2);
  Report(*model, Show(*model, "ann", 8), 0.9);
  Show(*model, "ann", 9);
  EXPECT_THAT(Arms(*model, "ann", SeenKind::kRewarded), IsEmpty());
  clock_.Advance(absl::Minutes(2));
  model->Step();
  EXPECT_THAT(Arms(*model, "ann", SeenKind::kRewarded), ElementsAre(8));
}

TEST_F(SeenServedTest, ACentralModelKeepsNoReward) {
  const auto model = Open(Spec(std::string("mode: CENTRAL_REWARD ") + kWindow + kPrivacy));
  Report(*model, Show(*model, "ann", 7), 1);
  clock_.Advance(absl::Minutes(2));
  model->Step();
  EXPECT_THAT(Arms(*model, "ann", SeenKind::kRewarded), IsEmpty());
  EXPECT_THAT(Arms(*model, "ann"), ElementsAre(7));
}

TEST_F(SeenServedTest, SlotsAreAllShown) {
  const auto model = Open(OpenSpec());
  std::vector<Decision> slots = {For(*model, "ann", 3), For(*model, "ann", 4)};
  ASSERT_THAT(model->RecordSlots(slots), IsOk());
  model->Step();
  EXPECT_THAT(Arms(*model, "ann"), ElementsAre(3, 4));
}

TEST_F(SeenServedTest, ACheckpointHasThemAndTheLogGoesOn) {
  auto model = Open(OpenSpec());
  Show(*model, "ann", 1);
  ASSERT_THAT(model->Checkpoint(), IsOk());
  Show(*model, "ann", 2);
  model.reset();
  model = Open(OpenSpec());
  EXPECT_THAT(Arms(*model, "ann"), ElementsAre(1, 2));
}

TEST_F(SeenServedTest, AModelMayBeginToKeepThemAndCease) {
  const ModelSpec without = SpecOf(
      "name: 'm' dimension: 2 effects { standard {} user_groups: 'plan' } "
      "mode: NON_PRIVATE ");
  auto model = Open(without);
  EXPECT_EQ(model->seen(), nullptr);
  EXPECT_THAT(model->RecordDecision(For(*model, "ann", 1)), IsOk());
  model->Step();
  EXPECT_EQ(model->Stats().log_sequence(), 0);
  model.reset();
  model = Open(OpenSpec());
  EXPECT_THAT(Arms(*model, "ann"), IsEmpty());
  Show(*model, "ann", 2);
  ASSERT_THAT(model->Checkpoint(), IsOk());
  Show(*model, "ann", 3);
  model.reset();
  model = Open(without);
  EXPECT_EQ(model->seen(), nullptr);
  EXPECT_EQ(model->Stats().log_sequence(), 2);
  ASSERT_THAT(model->Checkpoint(), IsOk());
  model.reset();
  model = Open(OpenSpec());
  EXPECT_THAT(Arms(*model, "ann"), IsEmpty());
}

TEST_F(SeenServedTest, SmallerBoundsHoldFromTheRestartOn) {
  auto model = Open(OpenSpec());
  for (std::uint32_t arm = 1; arm <= 5; ++arm) Show(*model, "ann", arm);
  ASSERT_THAT(model->Checkpoint(), IsOk());
  model.reset();
  model = Open(Spec("mode: NON_PRIVATE ", "arms_per_user: 2"));
  EXPECT_THAT(Arms(*model, "ann"), ElementsAre(4, 5));
}

TEST_F(SeenServedTest, TheUsersOwnExportHasThem) {
  const auto model = Open(OpenSpec());
  Report(*model, Show(*model, "ann", 7), 1);
  Show(*model, "bob", 9);
  const auto exported = model->ExportUser("ann");
  ASSERT_THAT(exported, IsOk());
  ASSERT_EQ(exported->seen_size(), 2);
  EXPECT_EQ(exported->seen(0).id(), 7);
  EXPECT_FALSE(exported->seen(0).rewarded());
  EXPECT_EQ(exported->seen(1).id(), 7);
  EXPECT_TRUE(exported->seen(1).rewarded());
  int entries = 0;
  for (const v1::UserEntry& entry : exported->entries()) entries += entry.kind() == "seen" ? 1 : 0;
  EXPECT_EQ(entries, 1);
}

TEST_F(SeenServedTest, ADeletedUserHasSeenNothing) {
  auto model = Open(OpenSpec());
  Show(*model, "ann", 7);
  Show(*model, "bob", 9);
  const Decision before = For(*model, "ann", 8);
  clock_.Advance(absl::Seconds(1));
  ASSERT_THAT(model->DeleteUsers(std::vector<std::string>{"ann"}), IsOk());
  // A decision that was on its way when the user was deleted.
  EXPECT_THAT(model->RecordDecision(before), IsOk());
  model->Step();
  EXPECT_THAT(Arms(*model, "ann"), IsEmpty());
  EXPECT_THAT(Arms(*model, "bob"), ElementsAre(9));
  model.reset();
  const EffectKey key = UserKey("ann");
  const std::string bytes(reinterpret_cast<const char*>(&key), sizeof key);
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder_.path())) {
    if (!file.is_regular_file()) continue;
    const auto text = ReadFile(file.path().string(), std::uint64_t{1} << 30);
    ASSERT_THAT(text, IsOk());
    EXPECT_EQ(text->find(bytes), text->npos) << file.path();
  }
  model = Open(OpenSpec());
  EXPECT_THAT(Arms(*model, "ann"), IsEmpty());
  EXPECT_THAT(Arms(*model, "bob"), ElementsAre(9));
  // Whoever comes back is a new user.
  clock_.Advance(absl::Seconds(1));
  Show(*model, "ann", 8);
  EXPECT_THAT(Arms(*model, "ann"), ElementsAre(8));
}

class ColdServedTest : public SeenServedTest {
 protected:
  static ModelSpec ColdSpec(const std::string& more, int events = 2) {
    return SpecOf("name: 'm' dimension: 2 effects { standard {} user_groups: 'plan' cold_arms { " +
                  ("events: " + std::to_string(events)) + " share: 0.1 } } " + more);
  }
  static std::vector<std::uint8_t> Cold(const HostedModel& model) {
    const std::vector<EffectKey> keys = {ArmKey(7), ArmKey(8), kAbsent};
    std::vector<std::uint8_t> cold;
    model.arm_events()->FindCold(keys, 1, cold);
    return cold;
  }
};

TEST_F(ColdServedTest, ArmsAreColdUntilTheyHadTheirEvents) {
  auto model = Open(ColdSpec("mode: NON_PRIVATE "));
  EXPECT_EQ(model->seen(), nullptr);
  EXPECT_THAT(Cold(*model), ElementsAre(1, 1, 0));
  Report(*model, Show(*model, "ann", 7), 0);
  Report(*model, Show(*model, "bob", 8), 1);
  EXPECT_THAT(Cold(*model), ElementsAre(1, 1, 0));
  ASSERT_THAT(model->Checkpoint(), IsOk());
  Report(*model, Show(*model, "bob", 7), 1);
  EXPECT_THAT(Cold(*model), ElementsAre(0, 1, 0));
  for (const bool checkpoint : {false, true}) {
    ASSERT_THAT(checkpoint ? model->Checkpoint().status() : absl::OkStatus(), IsOk());
    model.reset();
    model = Open(ColdSpec("mode: NON_PRIVATE "));
    EXPECT_THAT(Cold(*model), ElementsAre(0, 1, 0));
  }
  Show(*model, "ann", 8);  // without a report it is no event
  EXPECT_THAT(Cold(*model), ElementsAre(0, 1, 0));
}

TEST_F(ColdServedTest, WithAWindowADecisionCountsAtItsCloseReactedToOrNot) {
  const auto model = Open(ColdSpec(std::string("mode: NON_PRIVATE ") + kWindow, 1));
  Report(*model, Show(*model, "ann", 7), 1);
  Show(*model, "ann", 8);
  EXPECT_THAT(Cold(*model), ElementsAre(1, 1, 0));
  clock_.Advance(absl::Minutes(2));
  model->Step();
  EXPECT_THAT(Cold(*model), ElementsAre(0, 0, 0));
}

TEST_F(ColdServedTest, ANewBoundCountsOn) {
  auto model = Open(ColdSpec("mode: NON_PRIVATE ", 9));
  Report(*model, Show(*model, "ann", 7), 0);
  ASSERT_THAT(model->Checkpoint(), IsOk());
  model.reset();
  model = Open(ColdSpec("mode: NON_PRIVATE ", 1));
  EXPECT_THAT(Cold(*model), ElementsAre(0, 1, 0));
}

}  // namespace
}  // namespace bandana::testing
