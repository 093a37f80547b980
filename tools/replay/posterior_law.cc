#include "tools/replay/posterior_law.h"

#include <cstring>
#include <memory>

#include "common/bandits/joint/posterior_draws.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/random/real_samplers.h"
#include "common/ranking/policies/selection_rules.h"

namespace bandana {
namespace {

const SelectionRule& RuleOf(const ModelSpec& spec) {
  static const auto& ucb = *new std::shared_ptr<const SelectionRule>(MakeUcbRule());
  return spec.policy == nullptr ? *ucb : *spec.policy;
}

}  // namespace

absl::Status PosteriorLaw::Of(const ServedPosterior& posterior, const Whom& whom,
                              const ArmsOnOffer& arms, const std::vector<std::uint8_t>& taken,
                              std::vector<double>& law) {
  posterior.Score(whom, arms, scratch_, scores_);
  const SelectionRule& rule = RuleOf(spec_);
  draws_.clear();
  if (rule.draws() > 0) {
    RealSampler sampler(noise_);
    BANDANA_RETURN_IF_ERROR(
        DrawRewards(posterior, whom, arms, rule.draws(), sampler, scratch_, draws_));
  }
  const std::size_t n = arms.features.size();
  left_.clear();
  for (std::size_t arm = 0; arm < n; ++arm) {
    if (taken.empty() || taken[arm] == 0) left_.push_back(static_cast<int>(arm));
  }
  rule.Law({.means = scores_.means, .scores = scores_.scores, .draws = draws_}, left_, law_);
  law.assign(n, 0);
  for (std::size_t i = 0; i < left_.size(); ++i) {
    law[static_cast<std::size_t>(left_[i])] = law_[i];
  }
  return absl::OkStatus();
}

absl::StatusOr<KeyedStream> SeededNoise(std::string_view purpose) {
  const Sha256Digest digest = Sha256Of(purpose);
  KeyedStream::PublicSeed seed{};
  std::memcpy(seed.data(), digest.data(), seed.size());
  return KeyedStream::FromPublicSeed(seed);
}

}  // namespace bandana
