#include "tools/lab/neurips20/context_learner.h"

#include <algorithm>
#include <utility>

#include "common/bandits/graph.h"
#include "common/bandits/model.h"
#include "common/base/status.h"

namespace bandana::lab {
namespace {

class Reported final : public ContextLearner {
 public:
  Reported(const ContextTask& task, std::unique_ptr<BanditModel> model,
           std::unique_ptr<ContextMechanism> mechanism)
      : task_(task),
        slope_(LinkSlope(task.link, 0)),
        mechanism_(std::move(mechanism)),
        model_(std::move(model)),
        sum_(NoReports(task.dimension)),
        posterior_(model_->Posterior(0)) {}

  const NodePosterior& Posterior() override { return posterior_; }

  absl::Status Learn(std::span<const double> x, double reward) override {
    double mean = 0;
    for (std::size_t i = 0; i < x.size(); ++i) mean += x[i] * posterior_.mean[i];
    const StraightEvent event =
        Straighten(task_.link, std::vector<double>(x.begin(), x.end()), reward, mean / slope_);
    BANDANA_ASSIGN_OR_RETURN(const JointEstimate report,
                             mechanism_->Report(event.features, event.reward));
    BANDANA_RETURN_IF_ERROR(AddReport(report.gram, report.moment, mechanism_->variance(), sum_));
    if (sum_.events < next_refresh_) return absl::OkStatus();
    next_refresh_ = sum_.events + std::max<std::uint64_t>(1, sum_.events / 100);
    BANDANA_ASSIGN_OR_RETURN(RepairedStatistics repaired,
                             RepairStatistics(sum_, slope_ * task_.theta_l2_max));
    repairs_ += repaired.eigenvalues_clipped > 0 ? 1 : 0;
    BANDANA_RETURN_IF_ERROR(model_->SetReleased(0, std::move(repaired.statistics)));
    model_->Refresh();
    posterior_ = model_->Posterior(0);
    return absl::OkStatus();
  }

  std::string mechanism() const override { return mechanism_->name(); }
  std::uint64_t repairs() const override { return repairs_; }

 private:
  ContextTask task_;
  double slope_;  // the model's parameter is slope_ theta
  std::unique_ptr<ContextMechanism> mechanism_;
  std::unique_ptr<BanditModel> model_;
  NoisyStatistics sum_;
  NodePosterior posterior_;
  std::uint64_t next_refresh_ = 1;
  std::uint64_t repairs_ = 0;
};

}  // namespace

ContextPlanRequest PlanRequestOf(const ContextTask& task) {
  const double slope = LinkSlope(task.link, 0);
  return {.dimension = task.dimension,
          .context_l2_max = 1,
          .reward_abs_max = task.link == Link::kLinear ? 1 : 0.5,
          .theta_l2_max = slope * task.theta_l2_max,
          .reward_stddev = task.reward_stddev,
          .prior_stddev = slope * task.prior_stddev,
          .reports = task.horizon,
          .epsilon = task.epsilon,
          .delta = task.delta};
}

absl::StatusOr<std::unique_ptr<ContextLearner>> MakeReported(
    const ContextTask& task, std::unique_ptr<ContextMechanism> mechanism) {
  const ContextPlanRequest request = PlanRequestOf(task);
  BANDANA_ASSIGN_OR_RETURN(
      std::unique_ptr<BanditModel> model,
      BanditModel::Create({.dimension = task.dimension,
                           .observation_variance = task.reward_stddev * task.reward_stddev,
                           .prior_variance = request.prior_stddev * request.prior_stddev,
                           .exploration = {.alpha = task.alpha}},
                          Coupling::Shared()));
  return std::make_unique<Reported>(task, std::move(model), std::move(mechanism));
}

}  // namespace bandana::lab
