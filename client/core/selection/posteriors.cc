#include "client/core/selection/posteriors.h"

#include <cmath>
#include <utility>

#include "client/core/features.h"
#include "common/base/own_number.h"
#include "common/base/status.h"
#include "common/ranking/scoring.h"

namespace bandana::device {

absl::StatusOr<UserPosterior> ParsePosterior(const PosteriorResponse& response, int dimension) {
  const auto d = static_cast<std::size_t>(dimension);
  if (response.means.size() != d || response.covariances.size() != d * (d + 1) / 2 ||
      response.alphas.size() != 1) {
    return Internal("the server's posterior does not have the model's dimension ", dimension);
  }
  UserPosterior posterior;
  posterior.version = response.version;
  posterior.node.mean = response.means;
  posterior.node.alpha = response.alphas[0];
  posterior.node.covariance.resize(d * d);
  posterior.constant = {.mean = response.constant_mean, .variance = response.constant_variance};
  bool finite = std::isfinite(posterior.node.alpha) && std::isfinite(posterior.constant.mean) &&
                std::isfinite(posterior.constant.variance);
  for (const double mean : posterior.node.mean) finite = finite && std::isfinite(mean);
  std::size_t next = 0;
  for (int row = 0; row < dimension; ++row) {
    for (int column = 0; column <= row; ++column) {
      const double entry = response.covariances[next++];
      finite = finite && std::isfinite(entry);
      posterior.node.covariance[row * dimension + column] = entry;
      posterior.node.covariance[column * dimension + row] = entry;
    }
  }
  if (!finite) return Internal("the server's posterior is not finite");
  if (posterior.constant.variance < 0) {
    return Internal("the server's posterior has a variance below 0");
  }
  return posterior;
}

namespace {

// As the server scores them (ServedPosterior::Score).
ArmScores ScoreHere(const UserPosterior& posterior, const ArmsHere& arms) {
  ArmScores scores;
  ScoreArms(posterior.node, arms.features, scores);
  const ArmShare& all = posterior.constant;
  for (std::size_t a = 0; a < scores.scores.size(); ++a) {
    const ArmShare own = arms.shares.empty() ? ArmShare() : arms.shares[a];
    AddToArm(a, all.mean + own.mean, all.variance + own.variance, posterior.node.alpha, scores);
  }
  return scores;
}

}  // namespace

// PROOF: context_release begin
Ranking RankOnDevice(const UserPosterior& posterior, Link link, const ArmsHere& arms, int top_k,
                     std::uint64_t tie_key) {
  const int dimension = static_cast<int>(posterior.node.mean.size());
  const double slope = LinkSlope(link, 0);
  const ArmScores scores = ScoreHere(posterior, arms);
  Ranking ranking;
  ranking.posterior_version = posterior.version;
  const double share = ShareOfBest(scores.scores);
  const std::vector<int> ranked = RankArms(scores.scores, top_k, tie_key);
  for (const int position : ranked) {
    const double predictor = scores.means[position] / slope;
    ranking.arms.push_back(
        {.position = position,
         .arm_id = 0,
         .score = LinkMean(link, scores.scores[position] / slope),
         .mean = LinkMean(link, predictor),
         .width = LinkSlope(link, predictor) * scores.widths[position] / slope,
         .propensity = FirstProbability(ranking.arms.size(), scores.scores[position],
                                        scores.scores[ranked[0]], share)});
    const auto x = FeaturesOfRow(arms.features, position, dimension);
    ranking.features += PackFeatures(StraightFeatures(link, {x.begin(), x.end()}, predictor));
  }
  return ranking;
}
// PROOF: context_release end

std::shared_ptr<const UserPosterior> PosteriorCache::Find(const std::string& user) {
  const auto found = by_user_.find(user);
  if (found == by_user_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->posterior;
}

void PosteriorCache::Put(const std::string& user, UserPosterior posterior) {
  if (const auto found = by_user_.find(user); found != by_user_.end()) {
    const std::uint64_t before = found->second->posterior->version;
    if (OfOneModel(before, posterior.version) && before > posterior.version) return;
    entries_.erase(found->second);
    by_user_.erase(found);
  }
  entries_.push_front({user, std::make_shared<const UserPosterior>(std::move(posterior))});
  by_user_[user] = entries_.begin();
  if (entries_.size() > kUsersMax) {
    by_user_.erase(entries_.back().user);
    entries_.pop_back();
  }
}

}  // namespace bandana::device
