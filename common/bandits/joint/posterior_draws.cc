#include "common/bandits/joint/posterior_draws.h"

#include <cstddef>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "common/bandits/joint/thompson.h"
#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana {
namespace {

// The arms' own effects beside their features: one normal per effect and key, for all arms that
// have it.
class OwnParts {
 public:
  OwnParts(const ServedPosterior& posterior, const Whom& whom, const ArmsOnOffer& arms) {
    std::vector<ArmPart> parts;
    columns_ = posterior.PartsOfArms(whom, arms, parts);
    BANDANA_CHECK(parts.size() == columns_ * arms.features.size());
    absl::flat_hash_map<std::pair<std::size_t, EffectKey>, std::size_t> known;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const ArmPart& part = parts[i];
      const std::size_t column = i % columns_;
      const std::size_t normal = known.try_emplace({column, part.key}, known.size()).first->second;
      parts_.push_back({.mean = part.mean, .width = part.width, .normal = normal});
    }
    normals_.resize(known.size());
  }

  absl::Status Draw(RealSampler& sampler) { return sampler.FillNormal(normals_); }
  double Of(std::size_t arm) const {
    double sum = 0;
    for (std::size_t c = 0; c < columns_; ++c) {
      const Part& part = parts_[arm * columns_ + c];
      sum += part.mean + part.width * normals_[part.normal];
    }
    return sum;
  }

 private:
  struct Part {
    double mean = 0;
    double width = 0;
    std::size_t normal = 0;
  };
  std::size_t columns_ = 0;
  std::vector<Part> parts_;
  std::vector<double> normals_;
};

}  // namespace

absl::Status DrawRewards(const ServedPosterior& posterior, const Whom& whom,
                         const ArmsOnOffer& arms, int draws, RealSampler& sampler,
                         NodePosterior& scratch, std::vector<double>& out) {
  const NodePosterior& node = posterior.Of(whom, scratch);
  const ThompsonSampler thompson(node, 1);
  OwnParts own(posterior, whom, arms);
  const std::size_t d = node.mean.size();
  const std::size_t n = arms.features.size();
  std::vector<double> normals(d);
  std::vector<double> theta(d);
  out.resize(static_cast<std::size_t>(draws) * n);
  for (int draw = 0; draw < draws; ++draw) {
    BANDANA_RETURN_IF_ERROR(sampler.FillNormal(normals));
    BANDANA_RETURN_IF_ERROR(own.Draw(sampler));
    thompson.Draw(normals, theta);
    double* const row = out.data() + static_cast<std::size_t>(draw) * n;
    for (std::size_t a = 0; a < n; ++a) {
      row[a] = std::inner_product(theta.begin(), theta.end(), arms.features[a], own.Of(a));
    }
  }
  return absl::OkStatus();
}

}  // namespace bandana
