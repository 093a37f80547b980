// The meaning of an error of the log for a model of which this machine has published something.
#include "server/models/folder/recovery.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "server/models/folder/publication.h"
#include "tests/support/hosted_model_fixture.h"

namespace bandana::testing {
namespace {

constexpr char kCentral[] =
    "name: 'm' dimension: 2 mode: CENTRAL_REWARD shared {} refresh_interval {}"
    " privacy { epsilon: 2 delta: 1e-6 mechanism: COUNTER } reporting { one_per_decision: true }";

class BrokenReader final : public server::LogReader {
 public:
  explicit BrokenReader(absl::Status error) : error_(std::move(error)) {}
  absl::Status Read(const LogPosition&, int, std::vector<LogEntry>&) const override {
    return error_;
  }
  absl::Status ReadLeft(std::uint64_t, int, std::vector<LogEntry>&) const override {
    return error_;
  }
  LogPosition last() const override { return {.sequence = 3}; }
  std::uint64_t trimmed() const override { return 0; }

 private:
  const absl::Status error_;
};

class RecoveryTest : public HostedModelTest {
 protected:
  RecoveryTest() {
    std::array<std::byte, 32> key{};
    key.fill(std::byte{1});
    options_.noise_key = std::make_shared<const NoiseKey>(*NoiseKey::FromBytes(key));
  }
};

TEST_F(RecoveryTest, ALogThatCannotBeReadIsNoOtherHistory) {
  const ModelSpec spec = SpecOf(kCentral);
  {
    const std::unique_ptr<HostedModel> model = Open(spec);
    for (std::uint64_t i = 1; i <= 3; ++i) {
      ASSERT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, i, {0.6, 0.8}), 1)),
                v1::APPLIED);
    }
  }
  for (const absl::Status& error : {absl::UnavailableError("away"), absl::DataLossError("torn")}) {
    for (const bool accept_lost : {false, true}) {
      UserIndex users;
      Counters counters;
      const auto recovered = server::RecoverFollowed(
          spec, folder_.path(), BrokenReader(error), /*vouched=*/true,
          {.noise_key = options_.noise_key, .accept_lost = accept_lost}, users, counters);
      EXPECT_EQ(recovered.status().code(), error.code()) << recovered.status();
      EXPECT_FALSE(server::IsNeedsEpoch(recovered.status()));
    }
  }
}

}  // namespace
}  // namespace bandana::testing
