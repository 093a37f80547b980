#include "research/lab/neurips20/linear_learner.h"

#include <Eigen/Dense>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "common/bandits/statistics.h"
#include "common/base/status.h"
#include "common/random/real_samplers.h"
#include "research/lab/noise.h"

namespace bandana::lab {
namespace {

constexpr double kAlpha = 0.05;  // failure probability of the paper's bounds

class PublishedLinear final : public ContextLearner {
 public:
  PublishedLinear(const PublishedWidth& width, std::unique_ptr<LabNoise> noise)
      : width_(width),
        noise_(std::move(noise)),
        sampler_(*noise_),
        gram_(static_cast<std::size_t>(PackedIndex(width.dimension, 0)), 0.0),
        moment_(static_cast<std::size_t>(width.dimension), 0.0),
        draws_(gram_.size() + moment_.size()) {
    // V_0 + c_0 I = 0: any arm.
    posterior_.mean = moment_;
    posterior_.covariance.assign(moment_.size() * moment_.size(), 0.0);
  }

  const NodePosterior& Posterior() override { return posterior_; }

  absl::Status Learn(std::span<const double> x, double reward) override {
    BANDANA_RETURN_IF_ERROR(sampler_.FillNormal(draws_));
    std::size_t next = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      moment_[i] += reward * x[i] + width_.sigma * draws_[gram_.size() + i];
      for (std::size_t j = 0; j <= i; ++j, ++next)
        gram_[next] += x[i] * x[j] + width_.sigma * draws_[next];
    }
    repairs_ += SolvePublished(width_, ++round_, gram_, moment_, posterior_) ? 1 : 0;
    return absl::OkStatus();
  }

  std::string mechanism() const override { return "split gaussian"; }
  std::uint64_t repairs() const override { return repairs_; }

 private:
  PublishedWidth width_;
  std::unique_ptr<LabNoise> noise_;
  RealSampler sampler_;
  std::vector<double> gram_;
  std::vector<double> moment_;
  std::vector<double> draws_;
  std::uint64_t round_ = 0;
  std::uint64_t repairs_ = 0;
  NodePosterior posterior_;
};

}  // namespace

double PublishedWidth::Shift(std::uint64_t round) const {
  return sigma * std::sqrt(static_cast<double>(round)) *
         (4 * std::sqrt(static_cast<double>(dimension)) +
          2 * std::log(2 * static_cast<double>(horizon) / kAlpha));
}

double PublishedWidth::Beta(std::uint64_t round) const {
  const double d = dimension;
  const double log = std::log(static_cast<double>(horizon));
  const double shift = Shift(round);
  return 2 * sigma * std::sqrt(d * log) +
         (std::sqrt(3 * shift) + sigma * std::sqrt(d * static_cast<double>(round) / shift)) * d *
             log;
}

bool SolvePublished(const PublishedWidth& width, std::uint64_t round,
                    const std::vector<double>& gram, const std::vector<double>& moment,
                    NodePosterior& posterior) {
  const int d = width.dimension;
  const double shift = width.Shift(round);
  Eigen::MatrixXd v(d, d);
  for (int i = 0; i < d; ++i) {
    for (int j = 0; j <= i; ++j) v(i, j) = v(j, i) = gram[PackedIndex(i, j)];
    v(i, i) += 2 * shift;
  }
  Eigen::MatrixXd least = v;
  least.diagonal().array() -= shift;
  const bool repaired = Eigen::LLT<Eigen::MatrixXd>(least).info() != Eigen::Success;
  if (repaired) {
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(v);
    v = solver.eigenvectors() * solver.eigenvalues().cwiseMax(shift).asDiagonal() *
        solver.eigenvectors().transpose();
  }
  const Eigen::MatrixXd inverse =
      Eigen::LLT<Eigen::MatrixXd>(v).solve(Eigen::MatrixXd::Identity(d, d));
  const Eigen::VectorXd theta = inverse * Eigen::Map<const Eigen::VectorXd>(moment.data(), d);
  posterior.mean.assign(theta.data(), theta.data() + d);
  posterior.covariance.assign(inverse.data(), inverse.data() + inverse.size());
  posterior.alpha = width.Beta(round);
  return repaired;
}

absl::StatusOr<std::unique_ptr<ContextLearner>> MakePublishedLinear(const ContextTask& task) {
  if (!(task.epsilon.value > 0) || !(task.delta.value > 0 && task.delta.value < 1))
    return InvalidArgument("the published form needs epsilon > 0 and delta in (0, 1), got ",
                           task.epsilon.value, " and ", task.delta.value);
  const PublishedWidth width{
      6 * std::sqrt(2 * std::log(2.5 / task.delta.value)) / task.epsilon.value, task.dimension,
      task.horizon};
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<LabNoise> noise, LabNoise::Create(task.seed, 0));
  return std::make_unique<PublishedLinear>(width, std::move(noise));
}

}  // namespace bandana::lab
