#include "research/rounds/sphere_rounds.h"

#include <algorithm>
#include <cmath>

#include "common/base/status.h"
#include "research/rounds/sphere_lanes.h"
#include "tools/environments/random.h"
#include "tools/environments/vectors.h"

namespace bandana {
namespace {

constexpr int kRounds = SphereRounds::kBlockRounds;
static_assert(kRounds % kSphereLanes == 0);

}  // namespace

absl::StatusOr<SphereRounds> SphereRounds::Create(const Options& options) {
  if (options.dimension < 2 || options.dimension > kDimensionMax) {
    return InvalidArgument("dimension must be in [2, ", kDimensionMax, "], got ",
                           options.dimension);
  }
  if (options.pool < 1 || options.pool > kPoolMax)
    return InvalidArgument("pool must be in [1, ", kPoolMax, "], got ", options.pool);
  if (!(options.theta_l2 >= 1e-3 && options.theta_l2 <= 1))
    return InvalidArgument("theta_l2 must be in [0.001, 1], got ", options.theta_l2);
  if (!(options.gap >= 0 && options.gap <= options.theta_l2)) {
    return InvalidArgument("gap must be in [0, theta_l2 = ", options.theta_l2, "], got ",
                           options.gap);
  }
  return SphereRounds(options);
}

SphereRounds::SphereRounds(const Options& options)
    : options_(options), theta_(static_cast<std::size_t>(options.dimension)) {
  SeededStream stream(options.seed, StreamPurpose::kUserParameter, 0);
  DrawDirection(stream, options.theta_l2, theta_);
}

void SphereRounds::Fill(std::uint64_t index, SphereBlock& block) const {
  const std::size_t pool = options_.pool;
  const std::size_t d = options_.dimension;
  block.first = index * kRounds;
  block.stride = kRounds * pool;
  block.x.resize(block.stride * d + kSphereLanes);  // a reader may look past the last arm
  block.expected.resize(block.stride);
  block.uniform.resize(kRounds);

  // Fixed arms are the first round of block 0 of a run with fresh ones.
  LaneGenerator arms(
      SeededStream(options_.seed, StreamPurpose::kDecision, options_.fixed_arms ? 0 : index));
  DrawDirections(arms, options_.dimension, block.stride, block.stride, block.x.data());
  if (options_.fixed_arms) {
    for (std::size_t c = 0; c < d; ++c) {
      float* column = block.x.data() + c * block.stride;
      for (std::size_t t = 1; t < kRounds; ++t) std::copy_n(column, pool, column + t * pool);
    }
  }
  std::vector<float> theta(theta_.begin(), theta_.end());
  DotColumns(theta.data(), options_.dimension, block.stride, block.stride, block.x.data(),
             block.expected.data());
  if (options_.gap > 0) KeepGap(block);

  LaneGenerator rewards(SeededStream(options_.seed, StreamPurpose::kReward, index));
  DrawUniforms(rewards, kRounds, block.uniform.data());
}

void SphereRounds::KeepGap(SphereBlock& block) const {
  const std::size_t pool = options_.pool;
  const double length = options_.theta_l2;
  for (std::size_t round = 0; round < kRounds; ++round) {
    float* expected = block.expected.data() + round * pool;
    const std::size_t best = std::max_element(expected, expected + pool) - expected;
    const double below = std::max(expected[best] - options_.gap, -length);
    for (std::size_t a = 0; a < pool; ++a) {
      if (a == best || expected[a] <= below) continue;
      // x = t theta* / |theta*|^2 + a part orthogonal to it, which keeps the length at 1.
      const double t = expected[a];
      const double stretch =
          std::sqrt((length * length - below * below) / std::max(length * length - t * t, 1e-12));
      const double along = (below - t * stretch) / (length * length);
      for (int c = 0; c < options_.dimension; ++c) {
        float& x = block.x[c * block.stride + round * pool + a];
        x = static_cast<float>(x * stretch + theta_[c] * along);
      }
      expected[a] = static_cast<float>(below);
    }
  }
}

}  // namespace bandana
