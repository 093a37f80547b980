#include "research/lab/neurips20/glm_learner.h"

#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "common/bandits/statistics.h"
#include "common/base/status.h"
#include "common/design/model_spec.h"
#include "common/promise/mechanism.h"
#include "common/random/real_samplers.h"
#include "research/lab/neurips20/linear_learner.h"
#include "research/lab/noise.h"

namespace bandana::lab {
namespace {

double DotProduct(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// S theta of a packed lower triangle.
std::vector<double> Times(std::span<const double> gram, std::span<const double> theta) {
  const int d = static_cast<int>(theta.size());
  std::vector<double> product(theta.size(), 0.0);
  for (int i = 0; i < d; ++i) {
    for (int j = 0; j <= i; ++j) {
      const double entry = gram[PackedIndex(i, j)];
      product[i] += entry * theta[j];
      if (j < i) product[j] += entry * theta[i];
    }
  }
  return product;
}

// One device's report, as the server reads it.
struct GlmReport {
  std::vector<double> gram;      // x x'
  std::vector<double> moment;    // z x
  std::vector<double> gradient;  // g / C
};

class Glm final : public ContextLearner {
 public:
  // Without a mechanism the noise is the published one.
  Glm(const ContextTask& task, const PublishedWidth& width,
      std::shared_ptr<const Mechanism> mechanism, std::unique_ptr<LabNoise> noise)
      : task_(task),
        width_(width),
        bound_(task.link == Link::kLinear ? 1 + task.theta_l2_max : 1),
        step_(task.theta_l2_max / std::sqrt(static_cast<double>(task.horizon) *
                                            (1 + task.dimension * width.sigma * width.sigma))),
        mechanism_(std::move(mechanism)),
        noise_(std::move(noise)),
        sampler_(*noise_),
        theta_hat_(static_cast<std::size_t>(task.dimension), 0.0),
        gram_(static_cast<std::size_t>(PackedIndex(task.dimension, 0)), 0.0),
        moment_(theta_hat_) {
    posterior_.mean = moment_;
    posterior_.covariance.assign(moment_.size() * moment_.size(), 0.0);
  }

  const NodePosterior& Posterior() override { return posterior_; }

  absl::Status Learn(std::span<const double> x, double reward) override {
    BANDANA_ASSIGN_OR_RETURN(const GlmReport report, Report(x, reward));
    for (std::size_t i = 0; i < gram_.size(); ++i) gram_[i] += report.gram[i];
    for (std::size_t i = 0; i < moment_.size(); ++i) {
      moment_[i] += report.moment[i];
      theta_hat_[i] -= step_ * report.gradient[i];
    }
    const double norm = std::sqrt(DotProduct(theta_hat_, theta_hat_));
    if (norm > task_.theta_l2_max) {
      for (double& value : theta_hat_) value *= task_.theta_l2_max / norm;
    }
    repairs_ += SolvePublished(width_, ++round_, gram_, moment_, posterior_) ? 1 : 0;
    return absl::OkStatus();
  }

  std::string mechanism() const override {
    return mechanism_ == nullptr ? "split gaussian" : "joint gaussian";
  }
  std::uint64_t repairs() const override { return repairs_; }

 private:
  absl::StatusOr<GlmReport> Report(std::span<const double> x, double reward) {
    const double z = DotProduct(x, theta_hat_);
    const double residual = (LinkMean(task_.link, z) - reward) / bound_;
    if (mechanism_ != nullptr) {
      BANDANA_ASSIGN_OR_RETURN(JointEstimate sent, JointReport(x, residual));
      std::vector<double> moment = Times(sent.gram, theta_hat_);
      return GlmReport{std::move(sent.gram), std::move(moment), std::move(sent.moment)};
    }
    GlmReport report;
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t j = 0; j <= i; ++j) report.gram.push_back(x[i] * x[j]);
      report.moment.push_back(z * x[i]);
      report.gradient.push_back(residual * x[i]);
    }
    for (std::vector<double>* part : {&report.gram, &report.moment, &report.gradient}) {
      std::vector<double> draws(part->size());
      BANDANA_RETURN_IF_ERROR(sampler_.FillNormal(draws));
      for (std::size_t i = 0; i < draws.size(); ++i) (*part)[i] += width_.sigma * draws[i];
    }
    return report;
  }

  // As a device draws it and a server reads it.
  absl::StatusOr<JointEstimate> JointReport(std::span<const double> x, double residual) {
    const ContextReports& reports = *mechanism_->contexts();
    BANDANA_ASSIGN_OR_RETURN(
        const PerturbedContext drawn,
        reports.Draw(reports.statistic().Clip({std::vector<double>(x.begin(), x.end()), residual}),
                     *noise_));
    return reports.Decode({.values = std::get<PerturbedStatistics>(drawn).grid()});
  }

  ContextTask task_;
  PublishedWidth width_;
  double bound_;  // C
  double step_;   // zeta C
  std::shared_ptr<const Mechanism> mechanism_;
  std::unique_ptr<LabNoise> noise_;
  RealSampler sampler_;
  std::vector<double> theta_hat_;
  std::vector<double> gram_;
  std::vector<double> moment_;
  std::uint64_t round_ = 0;
  std::uint64_t repairs_ = 0;
  NodePosterior posterior_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ContextLearner>> MakePublishedGlm(const ContextTask& task,
                                                                 GlmCalibration calibration) {
  if (!(task.epsilon.value > 0) || !(task.delta.value > 0 && task.delta.value < 1))
    return InvalidArgument("Algorithm 3 needs epsilon > 0 and delta in (0, 1), got ",
                           task.epsilon.value, " and ", task.delta.value);
  PublishedWidth width{6 * std::sqrt(2 * std::log(3.75 / task.delta.value)) / task.epsilon.value,
                       task.dimension, task.horizon};
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<LabNoise> noise, LabNoise::Create(task.seed, 0));
  std::shared_ptr<const Mechanism> mechanism;
  if (calibration == GlmCalibration::kJoint) {
    ContextTask linear = task;
    linear.link = Link::kLinear;  // what is sent lies in [-1, 1]
    std::vector<ConfigError> errors;
    const std::optional<ModelSpec> spec =
        ParseModelConfig(ConfigOf(linear, v1::JOINT_GAUSSIAN), "", /*allow_files=*/false, errors);
    if (!spec) return InvalidArgument(errors.front().field, " ", errors.front().message);
    mechanism = spec->public_spec.made;
    width.sigma = std::sqrt(mechanism->contexts()->variance().moment);
  }
  return std::make_unique<Glm>(task, width, std::move(mechanism), std::move(noise));
}

}  // namespace bandana::lab
