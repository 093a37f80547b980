// Noise of central models is bound to the data that it hides: what other data meet is other noise,
// or a refusal. (Every setting and mechanism: audit_replay_test.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "common/model/paths/make_path.h"
#include "server/log/state/folder_state.h"
#include "server/models/folder/export.h"
#include "server/models/folder/recovery.h"
#include "tests/support/hosted_model_fixture.h"

namespace bandana::testing {
namespace {

constexpr char kOnce[] = " reporting { one_per_decision: true }";

std::string JointText(const std::string& l2) {
  return "name: 'm' dimension: 2 mode: JOINT shared {} refresh_interval {} reward_min: -1"
         " reward_max: 1 feature_l2_max: " +
         l2 +
         " privacy { epsilon: 0.1 delta: 1e-6 mechanism: COUNTER counter { horizon: 100"
         " steps_max: 200 } }" +
         kOnce;
}

constexpr char kCounter[] =
    "name: 'm' dimension: 2 mode: CENTRAL_REWARD shared {} refresh_interval {}"
    " privacy { epsilon: 1 delta: 1e-6 mechanism: COUNTER counter { horizon: 100 } }"
    " reporting { one_per_decision: true }";

class NoiseBindingTest : public HostedModelTest {
 protected:
  NoiseBindingTest() {
    options_.noise_key = std::make_shared<const NoiseKey>(
        *NoiseKey::FromBytes(std::vector<std::byte>(32, std::byte{11})));
  }

  std::vector<double> ReleaseOf(HostedModel& model) {
    auto exported = *server::DecodeExport(*model.Export());
    const auto path = *MakePath(model.spec(), model.instance(), options_.noise_key);
    EXPECT_THAT(server::RestoreStreams(*path, exported.checkpoint), IsOk());
    return path->ReleaseOf(exported.checkpoint.state, 0).value().moment;
  }

  void TakeOne(HostedModel& model, std::uint64_t number) {
    const Decision decision = DecisionOf(model, clock_, number, {0.6, -0.3});
    ASSERT_EQ(CodeOf(ReportOne(model, decision, 0.7)), v1::APPLIED);
    WaitApplied(model);
  }

  // The identity as servers wrote it whose addresses did not name the data.
  void MakeFormer() {
    Identity identity = StoredIdentity();
    std::erase_if(identity.fixed, [](const auto& field) {
      return field.first == "noise" || field.first == "feature_l2_max";
    });
    ASSERT_THAT(server::WriteIdentity(*server::StateInFolder(folder_.path()), identity), IsOk());
  }
  Identity StoredIdentity() {
    return *ParseIdentity(*server::ReadIdentityFile(*server::StateInFolder(folder_.path())));
  }
};

// Issue 15, H1: with entries behind the newest checkpoint, the same noise met phi(x / 2, r) after
// phi(x, r), and the difference of the two releases was the event.
TEST_F(NoiseBindingTest, AnotherFeatureBoundOfAJointModelIsRefused) {
  { TakeOne(*Open(SpecOf(JointText("1"))), 1); }
  EXPECT_THAT(TryOpen(SpecOf(JointText("2"))),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "feature_l2_max is 1 in the stored state and 2 in the configuration"));
}

// As above by identities that do not name the bound: the noise is that of other data.
TEST_F(NoiseBindingTest, NoiseOfOtherIncrementsIsIndependent) {
  std::vector<double> first;
  {
    const auto model = Open(SpecOf(JointText("1")));
    TakeOne(*model, 1);
    first = ReleaseOf(*model);
  }
  Identity identity = StoredIdentity();
  for (auto& [name, value] : identity.fixed) {
    if (name == "feature_l2_max") value = "2";
  }
  ASSERT_THAT(server::WriteIdentity(*server::StateInFolder(folder_.path()), identity), IsOk());
  const std::vector<double> second = ReleaseOf(*Open(SpecOf(JointText("2"))));
  ASSERT_EQ(first.size(), second.size());
  // Sigma is about 100, what the data moved at most 0.3: that all five are so near by chance has
  // probability below (0.01)^5.
  double moved = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    moved = std::max(moved, std::abs(first[i] - second[i]));
  }
  EXPECT_GT(moved, 1);
}

TEST_F(NoiseBindingTest, TheSameIncrementsMeetTheSameNoise) {
  std::vector<double> first;
  {
    const auto model = Open(SpecOf(JointText("1")));
    TakeOne(*model, 1);
    ASSERT_THAT(model->Checkpoint(), IsOk());
    TakeOne(*model, 2);
    first = ReleaseOf(*model);
  }
  EXPECT_EQ(ReleaseOf(*Open(SpecOf(JointText("1")))), first);
}

TEST_F(NoiseBindingTest, FormerFoldersAreTakenOverWhenNothingStandsBehindTheCheckpoint) {
  { Open(SpecOf(kCounter)); }
  MakeFormer();
  { TakeOne(*Open(SpecOf(kCounter)), 1); }
  EXPECT_THAT(warnings_, ::testing::Contains(::testing::HasSubstr("of a former version")));
  EXPECT_THAT(StoredIdentity().fixed, ::testing::Contains(::testing::Pair("noise", "2")));
  // Servers that do not know the field read version 1 only.
  EXPECT_THAT(*server::ReadIdentityFile(*server::StateInFolder(folder_.path())),
              ::testing::StartsWith("bandana-model 2\n"));
  EXPECT_THAT(TryOpen(SpecOf(kCounter)), IsOk());
}

TEST_F(NoiseBindingTest, FormerFoldersWithEntriesBehindTheCheckpointAreRefused) {
  { TakeOne(*Open(SpecOf(kCounter)), 1); }
  MakeFormer();
  const Identity before = StoredIdentity();
  EXPECT_THAT(TryOpen(SpecOf(kCounter)),
              StatusIs(absl::StatusCode::kFailedPrecondition, "stop it cleanly"));
  EXPECT_EQ(StoredIdentity().fixed, before.fixed);
}

TEST_F(NoiseBindingTest, FormerJointFoldersAreRefused) {
  { Open(SpecOf(JointText("1"))); }
  MakeFormer();
  EXPECT_THAT(TryOpen(SpecOf(JointText("1"))),
              StatusIs(absl::StatusCode::kFailedPrecondition, "import it here as a new model"));
}

}  // namespace
}  // namespace bandana::testing
