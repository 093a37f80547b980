// Raw rewards of central models: once a checkpoint holds their events, their bytes are in no file
// of the log any more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "server/models/folder/checkpoint_store.h"
#include "tests/support/hosted_model_fixture.h"

namespace bandana::testing {
namespace {

// No noise, sum or time gives these 8 bytes by chance.
constexpr double kMarker = 1.2345678901234567;

std::shared_ptr<const NoiseKey> Key() {
  std::array<std::byte, 32> bytes{};
  bytes.fill(std::byte{5});
  return std::make_shared<const NoiseKey>(*NoiseKey::FromBytes(bytes));
}

struct Case {
  const char* name;
  const char* privacy;
  const char* reporting;
  bool windowed;
};

const Case kCases[] = {
    {"Counter", "delta: 1e-6 mechanism: COUNTER", "one_per_decision: true", false},
    {"Randomizer", "mechanism: REWARD_RANDOMIZER", "one_per_decision: true", false},
    {"Window", "delta: 1e-6 mechanism: COUNTER",
     "reward_window { duration { seconds: 60 } default_reward: 0.25 }", true},
};

class RawRewardTest : public HostedModelTest, public ::testing::WithParamInterface<Case> {
 protected:
  RawRewardTest() {
    options_.noise_key = Key();
    options_.tick_max = absl::Milliseconds(2);
  }
  static ModelSpec Spec() {
    return SpecOf(std::string("name: 'm' dimension: 2 mode: CENTRAL_REWARD shared {}"
                              " refresh_interval {} reward_min: -1 reward_max: 3 privacy {"
                              " epsilon: 2 ") +
                  GetParam().privacy + " } reporting { " + GetParam().reporting + " }");
  }
  // Files of the model's folder that hold the marker, the catalogue and the checkpoints among them.
  static std::vector<std::string> FilesWithMarker(const std::string& folder) {
    char bytes[sizeof kMarker];
    std::memcpy(bytes, &kMarker, sizeof kMarker);
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string all{std::istreambuf_iterator<char>(file), {}};
      if (all.find(std::string_view(bytes, sizeof bytes)) != std::string::npos) {
        found.push_back(entry.path().filename().string());
      }
    }
    return found;
  }
  void Fill(HostedModel& model, std::uint64_t first) {
    const std::uint64_t before = StatisticsOf(model)[0].events;
    for (std::uint64_t i = first; i < first + 300; ++i) {
      const auto decision = DecisionOf(model, clock_, i, {0.6, 0.8});
      ASSERT_THAT(model.RecordDecision(decision), IsOk());
      ASSERT_EQ(CodeOf(ReportOne(model, decision, kMarker)), v1::APPLIED);
    }
    if (GetParam().windowed) clock_.Advance(absl::Seconds(78));  // window and grace
    ASSERT_TRUE(Eventually([&] { return StatisticsOf(model)[0].events == before + 300; }));
  }
  static bool Gone(const std::string& folder) {
    return Eventually([&] { return FilesWithMarker(folder).empty(); });
  }
};

TEST_P(RawRewardTest, ACheckpointTakesThemOutOfEveryFile) {
  const auto model = Open(Spec());
  for (std::uint64_t round = 0; round < 3; ++round) {
    Fill(*model, 1000 * round);
    if (HasFatalFailure()) return;
    ASSERT_THAT(FilesWithMarker(folder_.path()), ::testing::Not(::testing::IsEmpty()));
    ASSERT_THAT(model->Checkpoint(), IsOk());
    EXPECT_TRUE(Gone(folder_.path())) << ::testing::PrintToString(FilesWithMarker(folder_.path()));
  }
}

TEST_P(RawRewardTest, ACrashBetweenCheckpointAndTrimIsMadeGoodAtTheNextStart) {
  const TempDir copy;
  {
    auto model = Open(Spec());
    Fill(*model, 0);
    if (HasFatalFailure()) return;
    model.reset();  // what is on the disk now: all events in the log
    std::filesystem::copy(folder_.path(), copy.path(),
                          std::filesystem::copy_options::recursive |
                              std::filesystem::copy_options::overwrite_existing);
    model = Open(Spec());
    ASSERT_THAT(model->Checkpoint(), IsOk());
  }
  // The checkpoint beside the log that was not trimmed.
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("checkpoint-") && !name.ends_with(".copy")) {
      std::filesystem::copy(entry.path(), copy.path() + "/" + name);
    }
  }
  const auto model = HostedModel::Open(Spec(), copy.path(), clock_, options_);
  ASSERT_THAT(model, IsOk());
  EXPECT_TRUE(Gone(copy.path())) << ::testing::PrintToString(FilesWithMarker(copy.path()));
}

// The log is trimmed up to the newest checkpoint: a second copy of it must stand in for the older
// one that other models keep.
TEST_P(RawRewardTest, TheCopyOfTheNewestCheckpointStepsIn) {
  {
    const auto model = Open(Spec());
    Fill(*model, 0);
    if (HasFatalFailure()) return;
    ASSERT_THAT(model->Checkpoint(), IsOk());
    ASSERT_TRUE(Gone(folder_.path())) << ::testing::PrintToString(FilesWithMarker(folder_.path()));
  }
  std::vector<std::string> checkpoints;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("checkpoint-")) checkpoints.push_back(name);
  }
  ASSERT_THAT(checkpoints, ::testing::SizeIs(2));
  for (const std::string& name : checkpoints) {
    SCOPED_TRACE(name);
    std::fstream file(folder_.File(name), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(200);
    file.put('\x55');
    file.close();
    auto model = HostedModel::Open(Spec(), folder_.path(), clock_, options_);
    ASSERT_THAT(model, IsOk());
    EXPECT_EQ(StatisticsOf(**model)[0].events, 300);
    ASSERT_THAT((*model)->Checkpoint(), IsOk());  // both copies are whole again
  }
}

INSTANTIATE_TEST_SUITE_P(Mechanisms, RawRewardTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace bandana::testing
