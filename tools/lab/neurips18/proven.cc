#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/bandits/joint/joint_choice.h"
#include "common/bandits/joint/joint_model.h"
#include "common/bandits/joint/thompson.h"
#include "common/base/status.h"
#include "tools/environments/random.h"
#include "tools/lab/neurips18/policy.h"
#include "tools/lab/noise.h"
#include "tools/published/compact/column_scoring.h"

namespace bandana::lab {
namespace {

JointModel::Options ModelOptions(const PolicyOptions& options, CounterKind kind) {
  JointModel::Options model;
  model.counter.dimension = options.dimension;
  model.counter.epsilon = options.epsilon;
  model.counter.delta = options.delta;
  model.counter.kind = kind;
  model.counter.horizon = options.horizon;
  model.prior_stddev = options.prior_stddev;
  model.reward_stddev = options.reward_stddev;
  model.theta_l2_max = options.theta_l2_max;
  model.alpha = options.exploration == Exploration::kUcb ? options.scale : 0;
  model.refresh_share = kind == CounterKind::kBlt ? 1e-3 : 0;
  return model;
}

class Proven final : public RoundPolicy {
 public:
  Proven(const PolicyOptions& options, std::unique_ptr<JointModel> model,
         std::unique_ptr<LabNoise> bits)
      : options_(options),
        model_(std::move(model)),
        bits_(std::move(bits)),
        draws_(options.seed, StreamPurpose::kArrival, 0),
        sampler_(model_->posterior(), 0),
        normals_(options.dimension, 0.0),
        theta_(options.dimension, 0.0) {
    TakePosterior();
  }

  absl::StatusOr<int> Choose(const float* x, std::size_t stride, int arms) override {
    if (options_.exploration == Exploration::kThompson) {
      for (double& normal : normals_) normal = draws_.Normal();
      sampler_.Draw(normals_, theta_);
      scorer_.Set(theta_, {}, 0);
    }
    return scorer_.Best(x, stride, arms);
  }

  absl::Status Learn(std::span<const double> x, double reward) override {
    BANDANA_ASSIGN_OR_RETURN(const bool changed,
                             model_->Apply(RawInteraction({x.begin(), x.end()}, reward), *bits_));
    if (changed) TakePosterior();
    return absl::OkStatus();
  }

  std::string mechanism() const override {
    return absl::StrCat(ToAbsl(CounterKindName(model_->counter().options().kind)), " counter, ",
                        options_.exploration == Exploration::kThompson ? "Thompson " : "UCB ",
                        options_.scale);
  }
  std::uint64_t grams_repaired() const override { return model_->grams_repaired(); }

 private:
  void TakePosterior() {
    const NodePosterior& posterior = model_->posterior();
    if (options_.exploration == Exploration::kThompson) {
      sampler_ = ThompsonSampler(posterior, options_.scale);
    } else {
      scorer_.Set(posterior.mean, posterior.covariance, posterior.alpha);
    }
  }

  PolicyOptions options_;
  std::unique_ptr<JointModel> model_;
  std::unique_ptr<LabNoise> bits_;
  SeededStream draws_;  // of the policy; it knows no data
  ThompsonSampler sampler_;
  ColumnScorer scorer_;
  std::vector<double> normals_, theta_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RoundPolicy>> MakeProven(const PolicyOptions& options,
                                                        std::string_view label) {
  CounterKind kind = label == "blt" ? CounterKind::kBlt : CounterKind::kEpochs;
  if (label == "auto") {
    BANDANA_ASSIGN_OR_RETURN(kind,
                             ChooseJointCounter(ModelOptions(options, kind), options.horizon));
  }
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<JointModel> model,
                           JointModel::Create(ModelOptions(options, kind)));
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<LabNoise> bits, LabNoise::Create(options.seed, 0));
  return std::make_unique<Proven>(options, std::move(model), std::move(bits));
}

}  // namespace bandana::lab
