#include "research/lab/neurips20/context_world.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "common/base/limits.h"
#include "common/base/status.h"
#include "tools/environments/random.h"
#include "tools/environments/vectors.h"

namespace bandana::lab {

absl::StatusOr<ContextWorld> ContextWorld::Create(Link link, double theta_l2, Settings& settings,
                                                  std::uint64_t seed) {
  Options options{.link = link, .seed = seed};
  BANDANA_ASSIGN_OR_RETURN(options.dimension, settings.TakeInt("dimension", 5, 1, 64));
  BANDANA_ASSIGN_OR_RETURN(options.arms, settings.TakeInt("arms", 10, 1, 10'000));
  BANDANA_ASSIGN_OR_RETURN(options.theta_l2, settings.TakeDouble("theta_l2", theta_l2, 1e-3, 1000));
  BANDANA_ASSIGN_OR_RETURN(options.noise, settings.TakeDouble("noise", 0.05, 1e-6, 10));
  return ContextWorld(options);
}

ContextWorld::ContextWorld(const Options& options) : options_(options), theta_(options.dimension) {
  SeededStream stream(options.seed, StreamPurpose::kUserParameter, 0);
  DrawDirection(stream, options.theta_l2, theta_);
}

void ContextWorld::RoundAt(std::uint64_t index, Round& out) const {
  const auto d = static_cast<std::size_t>(options_.dimension);
  out.features.resize(options_.arms * d);
  out.expected.resize(options_.arms);
  SeededStream stream(options_.seed, StreamPurpose::kDecision, index);
  for (int a = 0; a < options_.arms; ++a) {
    const auto x = std::span(out.features).subspan(a * d, d);
    DrawDirection(stream, 1, x);
    out.expected[a] = LinkMean(options_.link, Dot(x, theta_));
  }
}

double ContextWorld::RewardAt(std::uint64_t index, const Round& round, int arm) const {
  SeededStream stream(options_.seed, StreamPurpose::kReward, index);
  if (options_.link == Link::kLogistic) return stream.Uniform() < round.expected[arm] ? 1 : 0;
  return std::clamp(round.expected[arm] + options_.noise * stream.Normal(), -1.0, 1.0);
}

}  // namespace bandana::lab
