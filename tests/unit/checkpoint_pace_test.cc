#include "server/models/folder/checkpoint_pace.h"

#include <gtest/gtest.h>

namespace bandana::testing {
namespace {

using server::CheckpointPace;

constexpr auto kSecondsBytes = static_cast<std::size_t>(CheckpointPace::kBytesPerSecond);

TEST(CheckpointPaceTest, KeepsTheRateWhileTheLogGrows) {
  CheckpointPace pace;
  absl::Time now = absl::UnixEpoch();
  std::uint64_t sequence = 1;
  EXPECT_EQ(pace.WaitAfter(kSecondsBytes, sequence, now), absl::ZeroDuration());
  const absl::Time start = now;
  for (int i = 0; i < 40; ++i) now += pace.WaitAfter(kSecondsBytes / 4, ++sequence, now);
  EXPECT_NEAR(absl::ToDoubleSeconds(now - start), 10, 1e-6);
  // A disk that was slow is not made up for.
  now += absl::Seconds(0.9);
  EXPECT_NEAR(absl::ToDoubleSeconds(pace.WaitAfter(kSecondsBytes, ++sequence, now)), 1, 1e-6);
}

TEST(CheckpointPaceTest, DoesNotWaitForALogThatRests) {
  CheckpointPace pace;
  absl::Time now = absl::UnixEpoch();
  EXPECT_EQ(pace.WaitAfter(kSecondsBytes, 7, now), absl::ZeroDuration());
  EXPECT_EQ(pace.WaitAfter(kSecondsBytes, 7, now), absl::ZeroDuration());
  EXPECT_GT(pace.WaitAfter(kSecondsBytes, 8, now), absl::ZeroDuration());
  now += CheckpointPace::kRests;
  EXPECT_EQ(pace.WaitAfter(kSecondsBytes, 8, now), absl::ZeroDuration());
}

}  // namespace
}  // namespace bandana::testing
