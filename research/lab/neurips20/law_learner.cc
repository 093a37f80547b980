#include "research/lab/neurips20/law_learner.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>
#include <vector>

#include "common/bandits/model.h"
#include "common/bandits/noisy_gram.h"
#include "common/base/status.h"
#include "common/promise/mechanism.h"
#include "research/lab/neurips20/cap_law.h"

namespace bandana::lab {
namespace {

double SquaredNorm(std::span<const double> x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return sum;
}

// x / bound, scaled down to length 1 where it is longer; 0 where it is not finite.
std::vector<double> InUnitBall(std::span<const double> x, double bound) {
  std::vector<double> y(x.begin(), x.end());
  double largest = bound;
  for (const double value : y) {
    if (!std::isfinite(value)) return std::vector<double>(x.size(), 0.0);
    largest = std::max(largest, std::abs(value));
  }
  for (double& value : y) value /= largest;
  const double norm = std::sqrt(SquaredNorm(y)) * (largest / bound);  // of x / bound
  for (double& value : y) value *= (largest / bound) / std::max(1.0, norm);
  return y;
}

class LawLearner final : public ContextLearner {
 public:
  LawLearner(const ContextTask& task, const ModelSpec& spec, LawReports reports,
             std::unique_ptr<BanditModel> model)
      : link_(task.link),
        slope_(LinkSlope(task.link, 0)),
        theta_l2_max_(spec.theta_l2_max),
        variance_(spec.public_spec.made->contexts()->variance()),
        reports_(std::move(reports)),
        model_(std::move(model)),
        sum_(NoReports(task.dimension)),
        posterior_(model_->Posterior(0)) {}

  const NodePosterior& Posterior() override { return posterior_; }

  absl::Status Learn(std::span<const double> x, double reward) override {
    double mean = 0;
    for (std::size_t i = 0; i < x.size(); ++i) mean += x[i] * posterior_.mean[i];
    const StraightEvent event =
        Straighten(link_, std::vector<double>(x.begin(), x.end()), reward, mean / slope_);
    BANDANA_ASSIGN_OR_RETURN(const JointEstimate report,
                             reports_.Draw(event.features, event.reward));
    BANDANA_RETURN_IF_ERROR(AddReport(report.gram, report.moment, variance_, sum_));
    if (sum_.events < next_refresh_) return absl::OkStatus();
    next_refresh_ = sum_.events + std::max<std::uint64_t>(1, sum_.events / 100);
    BANDANA_ASSIGN_OR_RETURN(RepairedStatistics repaired, RepairStatistics(sum_, theta_l2_max_));
    repairs_ += repaired.eigenvalues_clipped > 0 ? 1 : 0;
    BANDANA_RETURN_IF_ERROR(model_->SetReleased(0, std::move(repaired.statistics)));
    model_->Refresh();
    posterior_ = model_->Posterior(0);
    return absl::OkStatus();
  }

  std::string mechanism() const override { return "privunit, law"; }
  std::uint64_t repairs() const override { return repairs_; }

 private:
  const Link link_;
  const double slope_;  // the model's parameter is slope_ theta
  const double theta_l2_max_;
  const ReportVariance variance_;
  LawReports reports_;
  std::unique_ptr<BanditModel> model_;
  NoisyStatistics sum_;
  NodePosterior posterior_;
  std::uint64_t next_refresh_ = 1;
  std::uint64_t repairs_ = 0;
};

absl::StatusOr<CapDesign> DesignOf(const ModelSpec& spec) {
  const int size = spec.public_spec.made->contexts()->statistic().size();
  return DesignCap(size + 1, spec.public_spec.epsilon);
}

}  // namespace

double SeedsOf(const ModelSpec& spec) {
  const absl::StatusOr<CapDesign> design = DesignOf(spec);
  return design.ok() ? 1 / design->acceptance : 0;
}

LawReports::LawReports(const JointStatistic& statistic, const CapDesign& design,
                       std::unique_ptr<LabNoise> noise)
    : statistic_(statistic),
      design_(design),
      noise_(std::move(noise)),
      sampler_(std::make_unique<RealSampler>(*noise_)) {}

absl::StatusOr<LawReports> LawReports::Create(const ModelSpec& spec,
                                              std::unique_ptr<LabNoise> noise) {
  BANDANA_ASSIGN_OR_RETURN(const CapDesign design, DesignOf(spec));
  return LawReports(spec.public_spec.made->contexts()->statistic(), design, std::move(noise));
}

absl::StatusOr<JointEstimate> LawReports::Draw(std::span<const double> x, double reward) {
  const std::vector<double> v = Lift(x, reward);
  std::vector<double> u(v.size());
  BANDANA_RETURN_IF_ERROR(DrawCapDirection(design_, v, *sampler_, u));
  u.pop_back();
  for (double& value : u) value *= std::numbers::sqrt2 / design_.mean;
  return statistic_.Unpack(u);
}

std::vector<double> LawReports::Lift(std::span<const double> x, double reward) const {
  const std::vector<double> y = InUnitBall(x, statistic_.context_l2_max());
  const double share = reward / statistic_.reward_abs_max();
  const double r = std::isnan(share) ? 0 : std::clamp(share, -1.0, 1.0);
  std::vector<double> v;
  v.reserve(statistic_.size() + 1);
  for (std::size_t i = 0; i < y.size(); ++i) {
    v.push_back(y[i] * y[i]);
    for (std::size_t j = i + 1; j < y.size(); ++j) v.push_back(std::numbers::sqrt2 * y[i] * y[j]);
  }
  for (const double value : y) v.push_back(r * value);
  v.push_back(std::sqrt(std::max(0.0, 2 - SquaredNorm(v))));
  for (double& value : v) value /= std::numbers::sqrt2;
  return v;
}

absl::StatusOr<std::unique_ptr<ContextLearner>> MakeLawLearner(const ContextTask& task,
                                                               const ModelSpec& spec) {
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<LabNoise> noise, LabNoise::Create(task.seed, 1));
  BANDANA_ASSIGN_OR_RETURN(LawReports reports, LawReports::Create(spec, std::move(noise)));
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<BanditModel> model,
                           BanditModel::Create(spec.bandit, Coupling::Shared()));
  return std::make_unique<LawLearner>(task, spec, std::move(reports), std::move(model));
}

}  // namespace bandana::lab
