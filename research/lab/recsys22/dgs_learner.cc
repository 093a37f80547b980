#include "research/lab/recsys22/dgs_learner.h"

#include <Eigen/Dense>
#include <bit>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/random/real_samplers.h"
#include "research/lab/noise.h"

namespace bandana::lab {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

struct DgsUser {
  Matrix inverse;  // A^-1
  Vector b;
  DgsNoise noise;
};

class DgsLearner final : public Learner {
 public:
  DgsLearner(std::vector<DgsUser> users, double alpha, bool horizon_known,
             std::unique_ptr<LabNoise> bits)
      : users_(std::move(users)),
        horizon_known_(horizon_known),
        bits_(std::move(bits)),
        sampler_(*bits_) {
    posterior_.alpha = alpha;
  }

  const NodePosterior& Posterior(int node) override {
    const DgsUser& user = users_[node];
    Vector theta = user.inverse * user.b;
    theta += Eigen::Map<const Vector>(user.noise.sum().data(), theta.size());
    posterior_.mean.assign(theta.data(), theta.data() + theta.size());
    posterior_.covariance.assign(user.inverse.data(), user.inverse.data() + user.inverse.size());
    return posterior_;
  }

  absl::Status Learn(int node, std::span<const double> x, double reward) override {
    DgsUser& user = users_[node];
    const Eigen::Map<const Vector> features(x.data(), static_cast<Eigen::Index>(x.size()));
    const Vector k = user.inverse * features;
    user.inverse.noalias() -= k * (k / (1 + features.dot(k))).transpose();
    user.b += reward * features;
    return user.noise.Step(sampler_);
  }

  std::string mechanism() const override {
    return horizon_known_ ? "tree on theta" : "hybrid on theta";
  }

 private:
  std::vector<DgsUser> users_;
  bool horizon_known_;
  std::unique_ptr<LabNoise> bits_;
  RealSampler sampler_;
  NodePosterior posterior_;
};

}  // namespace

DgsNoise::DgsNoise(int dimension, double epsilon, double scale_of_one, std::uint64_t horizon,
                   bool horizon_known)
    : epsilon_(epsilon),
      scale_of_one_(scale_of_one),
      horizon_(horizon),
      horizon_known_(horizon_known),
      whole_(static_cast<std::size_t>(dimension), 0.0),
      sum_(whole_) {}

int DgsNoise::LevelAt(std::uint64_t round) const {
  const std::uint64_t step = horizon_known_ ? round : round - std::bit_floor(round);
  return std::countr_zero(step);
}

double DgsNoise::ScaleAt(std::uint64_t round) const {
  const double sensitivity = scale_of_one_ / static_cast<double>(round);
  if (horizon_known_) return std::bit_width(horizon_) * sensitivity / epsilon_;
  // bit_width = k + 1 for rounds in [2^k, 2^(k+1)).
  const int levels = std::has_single_bit(round) ? 1 : std::bit_width(round);
  return levels * sensitivity / (epsilon_ / 2);
}

int DgsNoise::NodesAt(std::uint64_t round) const {
  if (horizon_known_) return std::popcount(round);
  // One draw of each power of two up to round, and a tree's nodes since.
  return std::bit_width(round) + std::popcount(round - std::bit_floor(round));
}

absl::Status DgsNoise::Step(RealSampler& sampler) {
  ++round_;
  std::vector<double> fresh(sum_.size());
  for (double& value : fresh) {
    BANDANA_ASSIGN_OR_RETURN(const double draw, sampler.Laplace());
    value = ScaleAt(round_) * draw;
  }
  if (!horizon_known_ && std::has_single_bit(round_)) {
    for (std::size_t i = 0; i < fresh.size(); ++i) whole_[i] += fresh[i];
    levels_.clear();
  } else {
    const auto level = static_cast<std::size_t>(LevelAt(round_));
    if (level >= levels_.size()) levels_.resize(level + 1, std::vector<double>(sum_.size(), 0.0));
    for (std::size_t below = 0; below < level; ++below) levels_[below].assign(sum_.size(), 0.0);
    levels_[level] = std::move(fresh);
  }
  sum_ = whole_;
  for (const std::vector<double>& node : levels_) {
    for (std::size_t i = 0; i < node.size(); ++i) sum_[i] += node[i];
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Learner>> MakeDgs(const World& world, const LearnerOptions& options,
                                                 const DgsOptions& dgs) {
  if (!(options.epsilon.value > 0))
    return InvalidArgument("epsilon must be above 0, got ", options.epsilon.value);
  if (!(dgs.lambda_0 > 0)) return InvalidArgument("lambda_0 must be above 0, got ", dgs.lambda_0);
  const EnvironmentInfo& info = world.info();
  const double scale =
      dgs.sensitivity == DgsSensitivity::kPrinted ? 32 * info.feature_l2_max / dgs.lambda_0 : 1;
  const int n = world.nodes();
  const DgsUser fresh{Matrix::Identity(info.dimension, info.dimension) / dgs.lambda,
                      Vector::Zero(info.dimension),
                      DgsNoise(info.dimension, options.epsilon.value, scale,
                               (options.horizon + n - 1) / n, dgs.horizon_known)};
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<LabNoise> bits, LabNoise::Create(options.seed, 0));
  return std::make_unique<DgsLearner>(std::vector<DgsUser>(n, fresh), dgs.alpha, dgs.horizon_known,
                                      std::move(bits));
}

}  // namespace bandana::lab
