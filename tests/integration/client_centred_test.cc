// Models whose rewards are randomized about what the posterior predicts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bandana/client.h"
#include "client/src/seams.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_recommender.h"
#include "tests/support/mechanisms.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::device {
namespace {

using namespace bandana::testing;

const std::vector<double> kArms = {1, 0, 0, 1};
constexpr RewardRange kWindow{0.25, 0.375};
constexpr RewardRange kSecond{0.375, 0.5};  // of the arm ranked second

PublicSpec CentredSpec() {
  PublicSpec spec = LocalSpec();
  spec.mechanism = MechanismId::kCentredRandomizer;
  return spec;
}

class ClientCentredTest : public ::testing::Test {
 protected:
  std::unique_ptr<Client> MustConnect(FakeRecommender& server, std::uint64_t seed) {
    server.SetWindow(kWindow);
    bits_ = std::make_unique<SeededBits>(seed);
    ClientOptions options;
    options.target = server.target();
    options.model = "fake";
    Seams seams;
    seams.clock = &clock_;
    seams.bits = bits_.get();
    seams.recheck = absl::Milliseconds(2);
    auto client = Connect(options, *DeviceStore::Open(folder_.File("device.db")), seams);
    EXPECT_THAT(client, IsOk());
    return client.ok() ? *std::move(client) : nullptr;
  }
  // The outputs of a device with these bits for the rewards, clipped to the window.
  static std::vector<std::uint32_t> Outputs(const std::vector<std::optional<double>>& rewards,
                                            const RewardRange& window, std::uint64_t seed) {
    const RewardRandomizer randomizer = testing::RandomizerOf(CentredSpec());
    SeededBits bits(seed);
    std::vector<std::uint32_t> outputs;
    for (const auto& reward : rewards) {
      const ClippedReward clipped = randomizer.ClipTo(window, RawReward(reward), 0);
      outputs.push_back(randomizer.Randomize(clipped, bits)->output());
    }
    return outputs;
  }
  static std::vector<std::uint32_t> Sent(const FakeRecommender& server) {
    std::vector<std::uint32_t> outputs;
    for (const v1::PerturbedReport& report : server.applied_reports())
      outputs.push_back(report.output());
    return outputs;
  }

  testing::TempDir folder_;
  FakeClock clock_;
  std::unique_ptr<SeededBits> bits_;
};

// Rewards beside, at and inside the window; the whole range would give other outputs.
const std::vector<std::optional<double>> kRewards = {0.3,  0.26, 1.0,  0.0,   std::nullopt,
                                                     0.37, 0.3,  0.35, 0.251, 0.33};

TEST_F(ClientCentredTest, RandomizesInTheWindowOfTheArmShown) {
  for (const int shown : {0, 1}) {
    FakeRecommender server(CentredSpec());
    const auto client = MustConnect(server, 5);
    for (const auto& reward : kRewards) {
      const auto selection = client->Select("u", Arms::Inline(kArms), 2);
      ASSERT_THAT(selection, IsOk());
      ASSERT_THAT(client->Report(*selection, reward, shown), IsOk());
      ASSERT_TRUE(client->Flush(absl::Seconds(10)));  // reports may overtake one another
    }
    EXPECT_EQ(Sent(server), Outputs(kRewards, shown == 0 ? kWindow : kSecond, 5));
    EXPECT_NE(Sent(server), Outputs(kRewards, CentredSpec().reward_range, 5));
    for (const auto& report : server.applied_reports()) EXPECT_FALSE(report.whole_range());
    EXPECT_DOUBLE_EQ(client->Spent("u")->epsilon_event, 1);
  }
}

// There is no window of an arm that the device chose: its reports say so.
TEST_F(ClientCentredTest, ADecisionOnTheDeviceUsesTheWholeRange) {
  FakeRecommender server(CentredSpec());
  v1::GetPosteriorResponse posterior;
  posterior.set_version(1);
  for (const double mean : {1.0, 0.0}) posterior.add_means(mean);
  for (const double entry : {1.0, 0.0, 1.0}) posterior.add_covariances(entry);
  posterior.add_alphas(0);
  server.SetPosterior(posterior);
  const auto client = MustConnect(server, 6);
  ASSERT_THAT(client->RefreshPosterior("u"), IsOkAndHolds(true));
  for (const auto& reward : kRewards) {
    const auto selection = client->SelectOnDevice("u", Arms::Inline(kArms), 1);
    ASSERT_THAT(selection, IsOk());
    ASSERT_THAT(client->Report(*selection, reward), IsOk());
    ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  }
  EXPECT_EQ(Sent(server), Outputs(kRewards, CentredSpec().reward_range, 6));
  for (const auto& report : server.applied_reports()) EXPECT_TRUE(report.whole_range());
}

// An open decision keeps its window in the store, for the default at its close.
TEST_F(ClientCentredTest, TheDefaultIsDrawnInTheWindowToo) {
  PublicSpec spec = CentredSpec();
  spec.one_per_decision = false;
  spec.reward_window = RewardWindowSpec{absl::Seconds(80), 0.3};
  FakeRecommender server(spec);
  const auto client = MustConnect(server, 7);
  std::vector<std::optional<double>> defaults;
  for (int i = 0; i < 8; ++i) {
    ASSERT_THAT(client->Select("u", Arms::Inline(kArms), 2), IsOk());
    defaults.push_back(0.3);
  }
  clock_.Advance(absl::Seconds(100));
  ASSERT_TRUE(Eventually([&] { return server.applied_reports().size() == defaults.size(); }));
  EXPECT_THAT(Sent(server), ::testing::UnorderedElementsAreArray(Outputs(defaults, kWindow, 7)));
  for (const auto& report : server.applied_reports()) EXPECT_FALSE(report.whole_range());
}

// Nothing is randomized in a window that is not one: the selection fails.
TEST_F(ClientCentredTest, AWindowOutsideTheRangeIsRefused) {
  FakeRecommender server(CentredSpec());
  const auto client = MustConnect(server, 8);
  for (const RewardRange window :
       {RewardRange{-0.1, 0.5}, {0.5, 1.1}, {0.5, 0.5}, {0.6, 0.4}, {std::nan(""), 0.5}}) {
    server.SetWindow(window);
    EXPECT_THAT(client->Select("u", Arms::Inline(kArms)),
                StatusIs(absl::StatusCode::kInternal, "window outside the reward range"));
  }
}

}  // namespace
}  // namespace bandana::device
