#include "common/model/learners/arms_sink.h"

#include <cmath>
#include <utility>

#include "common/bandits/mab/index_policy.h"
#include "common/bandits/mab/lil_ucb.h"
#include "common/bandits/mab/tsallis_inf.h"
#include "common/bandits/statistics.h"
#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana {
namespace {

// Rewards are the released values: their range, or their variance, is what the policies see.
absl::StatusOr<std::unique_ptr<ArmPolicy>> MakePolicy(const ModelSpec& spec, double variance) {
  const int arms = spec.public_spec.dimension;
  const RewardRange& range = spec.public_spec.reward_range;
  const double half = range.width() / 2;
  std::unique_ptr<ArmPolicy> policy;
  switch (spec.arms->policy) {
    case v1::ArmsFamily::KL_UCB: {
      // A bit behind randomized response is Bernoulli on its two values; other released rewards are
      // taken by a sub-Gaussian bound.
      IndexPolicy::Options options{.arms = arms};
      options.kind = spec.public_spec.reward_binary || variance == 0
                         ? IndexPolicy::Kind::kBernoulliKl
                         : IndexPolicy::Kind::kSubGaussian;
      const double reach =
          spec.public_spec.reward_binary ? std::sqrt(half * half + variance) : half;
      options.value_low = range.middle() - reach;
      options.value_high = range.middle() + reach;
      options.variance_proxy = half * half + variance;
      BANDANA_ASSIGN_OR_RETURN(policy, IndexPolicy::Create(options));
      return policy;
    }
    case v1::ArmsFamily::LIL_UCB: {
      BANDANA_ASSIGN_OR_RETURN(
          policy, LilUcb::Create({.arms = arms,
                                  .variance_proxy = half * half + variance,
                                  .failure_probability = spec.arms->failure_probability}));
      return policy;
    }
    default:
      break;
  }
  const double scale = std::sqrt(half * half + variance);
  BANDANA_ASSIGN_OR_RETURN(
      policy, TsallisInf::Create({.arms = arms, .reward_scale = scale, .reward_excess = scale}));
  return policy;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ArmsSink>> ArmsSink::Create(const ModelSpec& spec, double variance,
                                                           std::vector<NodeStatistics> statistics) {
  BANDANA_ASSIGN_OR_RETURN(NodeStatistics sums, TakeOnlyNode(std::move(statistics)));
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<ArmPolicy> policy, MakePolicy(spec, variance));
  std::unique_ptr<ArmsSink> sink(new ArmsSink(spec, std::move(policy), std::move(sums)));
  BANDANA_RETURN_IF_ERROR(AsRecovered(sink->Read()));
  return sink;
}

ArmsSink::ArmsSink(const ModelSpec& spec, std::unique_ptr<ArmPolicy> policy,
                   NodeStatistics statistics)
    : SumSink(spec.public_spec.dimension, std::move(statistics)),
      spec_(spec),
      policy_(std::move(policy)) {}

absl::Status ArmsSink::Read() const {
  const bool losses = spec_.arms->policy == v1::ArmsFamily::TSALLIS_INF;
  std::vector<ArmStatistics> arms(dimension());
  for (int a = 0; a < dimension(); ++a) {
    const double count = sums().gram[PackedIndex(a, a)];
    if (!(count >= 0 && count <= 0x1p53)) return InvalidArgument("arm ", a, " has no count");
    arms[a] = {.sum = losses ? -sums().moment[a] : sums().moment[a],
               .events = static_cast<std::uint64_t>(std::llround(count))};
  }
  return policy_->Restore(std::move(arms));
}

NodePosterior ArmsSink::Posterior(int) const {
  const absl::Status read = Read();
  BANDANA_CHECK(read.ok());  // checked at Create, and events keep the sums finite
  const auto d = static_cast<std::size_t>(dimension());
  NodePosterior posterior{.covariance = std::vector<double>(d * d, 0.0)};
  policy_->Probabilities(posterior.mean);
  return posterior;
}

std::optional<int> ArmsSink::best_arm() const {
  const auto* lil = dynamic_cast<const LilUcb*>(policy_.get());
  return lil == nullptr ? std::nullopt : lil->Decision();
}

}  // namespace bandana
