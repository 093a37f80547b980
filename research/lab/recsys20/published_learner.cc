#include "research/lab/recsys20/published_learner.h"

#include <Eigen/Dense>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "research/lab/noise.h"

namespace bandana::lab {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

constexpr int kRowsMax = 2000;

// Row u is c_u.
absl::StatusOr<Matrix> FactorOf(const World& world, Family family) {
  const int n = world.nodes();
  if (family == Family::kIndependent) return Matrix(Matrix::Identity(n, n));
  if (family == Family::kColin) {
    Matrix factor = Matrix::Zero(n, n);  // W'
    for (const Graph::Entry& e : world.influence().entries) factor(e.column, e.row) += e.weight;
    return factor;
  }
  if (family != Family::kGoblin)
    return InvalidArgument("the published algorithms are linucb, colin and goblin");
  Matrix g = Matrix::Identity(n, n);  // I + Laplacian
  for (const Graph::Entry& e : world.similarity().entries) {
    if (e.row == e.column) continue;
    g(e.row, e.row) += e.weight;
    g(e.row, e.column) -= e.weight;
  }
  return Matrix(Eigen::SelfAdjointEigenSolver<Matrix>(g).operatorInverseSqrt());
}

// The noise of a binary tree's prefix sums: after step t the nodes of t's set bits are in the sum.
class TreeNoise {
 public:
  TreeNoise(PublishedNoise noise, std::size_t size) : noise_(noise), size_(size) {}

  // Adds what the next step changes of the sum to `sum`.
  absl::Status Step(BitSource& bits, Eigen::Ref<Vector> sum) {
    const int level = std::countr_zero(++step_);
    if (level >= static_cast<int>(levels_.size())) levels_.resize(level + 1, Vector::Zero(size_));
    for (int below = 0; below < level; ++below) {
      sum -= levels_[below];
      levels_[below].setZero();
    }
    BANDANA_RETURN_IF_ERROR(noise_.Sample({levels_[level].data(), size_}, bits));
    sum += levels_[level];
    return absl::OkStatus();
  }

 private:
  PublishedNoise noise_;
  std::size_t size_;
  std::uint64_t step_ = 0;
  std::vector<Vector> levels_;
};

class PublishedLearner final : public Learner {
 public:
  PublishedLearner(Matrix factor, int dimension, const PublishedOptions& options,
                   std::vector<TreeNoise> trees, bool own_entries, std::unique_ptr<LabNoise> noise)
      : factor_(std::move(factor)),
        d_(dimension),
        alpha_(options.alpha),
        l2_norm_(options.noise == PublishedNoiseKind::kL2Norm),
        trees_(std::move(trees)),
        own_entries_(own_entries),
        noise_(std::move(noise)),
        inverse_(Matrix::Identity(factor_.cols() * d_, factor_.cols() * d_) / options.lambda),
        b_(Vector::Zero(inverse_.rows())) {}

  const NodePosterior& Posterior(int node) override {
    const Vector theta = inverse_ * b_;
    const Vector mean =
        Eigen::Map<const Matrix>(theta.data(), d_, factor_.cols()) * factor_.row(node).transpose();
    Matrix projected = Matrix::Zero(inverse_.rows(), d_);  // A^-1 (c_u (x) I)
    for (int j = 0; j < factor_.cols(); ++j) {
      if (factor_(node, j) != 0)
        projected += factor_(node, j) * inverse_.middleCols(static_cast<long>(j) * d_, d_);
    }
    Matrix covariance = Matrix::Zero(d_, d_);
    for (int j = 0; j < factor_.cols(); ++j)
      covariance += factor_(node, j) * projected.middleRows(static_cast<long>(j) * d_, d_);
    posterior_.mean.assign(mean.data(), mean.data() + d_);
    posterior_.covariance.assign(covariance.data(), covariance.data() + covariance.size());
    posterior_.alpha = alpha_;
    return posterior_;
  }

  absl::Status Learn(int node, std::span<const double> x, double reward) override {
    Vector lifted(inverse_.rows());
    const Eigen::Map<const Vector> features(x.data(), d_);
    for (int j = 0; j < factor_.cols(); ++j)
      lifted.segment(static_cast<long>(j) * d_, d_) = factor_(node, j) * features;
    const Vector k = inverse_ * lifted;
    inverse_.noalias() -= k * (k / (1 + lifted.dot(k))).transpose();
    b_ += reward * lifted;
    TreeNoise& tree = trees_[trees_.size() == 1 ? 0 : node];
    if (own_entries_) return tree.Step(*noise_, b_.segment(static_cast<long>(node) * d_, d_));
    return tree.Step(*noise_, b_);
  }

  std::string mechanism() const override {
    return l2_norm_ ? "tree, L2-norm noise" : "tree, coordinate Laplace";
  }

 private:
  Matrix factor_;
  int d_;
  double alpha_;
  bool l2_norm_;
  std::vector<TreeNoise> trees_;  // by node, or one
  bool own_entries_;              // a tree covers its user's entries of b, not all of b
  std::unique_ptr<LabNoise> noise_;
  Matrix inverse_;  // A^-1
  Vector b_;        // b + eta
  NodePosterior posterior_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Learner>> MakePublished(const World& world,
                                                       const LearnerOptions& options,
                                                       const PublishedOptions& published) {
  const EnvironmentInfo& info = world.info();
  const int n = world.nodes();
  const int rows = n * info.dimension;
  if (rows > kRowsMax) {
    return InvalidArgument("the published algorithms keep a dense matrix of users x dimension <= ",
                           kRowsMax, " rows, got ", rows);
  }
  BANDANA_ASSIGN_OR_RETURN(const Matrix factor, FactorOf(world, options.family));
  const bool own_entries = options.family == Family::kIndependent;
  const bool pooled = options.scope == Scope::kCentral && !own_entries;
  const std::size_t size = own_entries ? info.dimension : rows;
  const std::uint64_t steps = pooled ? options.horizon : (options.horizon + n - 1) / n;
  const int levels = std::bit_width(steps);  // floor(log2 T) + 1
  const double bound = info.feature_l2_max * (info.reward_max - info.reward_min);

  std::vector<TreeNoise> trees;
  for (int u = 0; u < (pooled ? 1 : n); ++u) {
    const double influence =
        pooled ? factor.rowwise().norm().maxCoeff() : static_cast<double>(factor.row(u).norm());
    BANDANA_ASSIGN_OR_RETURN(
        PublishedNoise noise,
        PublishedNoise::Create(
            {published.noise, {options.epsilon.value / levels}, size, {bound * influence}}));
    trees.emplace_back(noise, size);
  }
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<LabNoise> noise, LabNoise::Create(options.seed, 0));
  return std::make_unique<PublishedLearner>(factor, info.dimension, published, std::move(trees),
                                            own_entries, std::move(noise));
}

}  // namespace bandana::lab
