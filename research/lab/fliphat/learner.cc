#include "research/lab/fliphat/learner.h"

#include <cmath>
#include <utility>
#include <vector>

#include "common/bandits/sparse/fliphat.h"
#include "common/base/status.h"
#include "research/lab/fliphat/lasso.h"
#include "research/lab/fliphat/n_iht.h"
#include "research/lab/noise.h"

namespace bandana::lab {
namespace {

SparseEstimate NonZero(std::span<const double> theta) {
  SparseEstimate estimate;
  for (std::size_t j = 0; j < theta.size(); ++j) {
    if (theta[j] != 0) estimate.push_back({static_cast<int>(j), theta[j]});
  }
  return estimate;
}

class Published final : public SparseLearner {
 public:
  Published(const SparseLearnerOptions& options, double lambda_factor,
            std::unique_ptr<LabNoise> noise)
      : options_{.sparsity = options.selected,
                 .epsilon = options.epsilon,
                 .delta = options.delta,
                 .parameter_l1 = options.parameter_l1,
                 .lambda_factor = lambda_factor},
        noise_(std::move(noise)),
        sampler_(*noise_),
        rows_{.dimension = options.dimension} {}

  const SparseEstimate& estimate() const override { return estimate_; }
  std::string mechanism() const override { return "peeling, Laplace"; }

  absl::Status Learn(std::span<const double> x, double reward) override {
    rows_.features.insert(rows_.features.end(), x.begin(), x.end());
    rows_.rewards.push_back(reward);
    if (rows_.rewards.size() < episode_rows_) return absl::OkStatus();
    BANDANA_ASSIGN_OR_RETURN(const std::vector<double> theta, NoisyIht(rows_, options_, sampler_));
    estimate_ = NonZero(theta);
    rows_.features.clear();
    rows_.rewards.clear();
    episode_rows_ *= 2;
    return absl::OkStatus();
  }

 private:
  NoisyIhtOptions options_;
  std::unique_ptr<LabNoise> noise_;
  RealSampler sampler_;
  SparseRows rows_;
  std::uint64_t episode_rows_ = 1;
  SparseEstimate estimate_;
};

class Proven final : public SparseLearner {
 public:
  Proven(Fliphat model, std::unique_ptr<LabNoise> noise)
      : model_(model), state_(model_.Start()), noise_(std::move(noise)) {}

  const SparseEstimate& estimate() const override { return state_.belief.estimate; }
  std::string mechanism() const override { return "exponential selection, discrete Gaussian"; }

  absl::Status Learn(std::span<const double> x, double reward) override {
    return model_.Apply(state_, x, reward, [this](std::uint64_t, const NoiseInput&) {
      return absl::StatusOr<BitSource*>(noise_.get());
    });
  }

 private:
  Fliphat model_;
  FliphatState state_;
  std::unique_ptr<LabNoise> noise_;
};

class Lasso final : public SparseLearner {
 public:
  explicit Lasso(int dimension) : lasso_(dimension) {}

  const SparseEstimate& estimate() const override { return estimate_; }
  std::string mechanism() const override { return "none: lasso bandit"; }

  absl::Status Learn(std::span<const double> x, double reward) override {
    lasso_.Learn(x, reward);
    estimate_ = NonZero(lasso_.theta());
    return absl::OkStatus();
  }

 private:
  LassoBandit lasso_;
  SparseEstimate estimate_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SparseLearner>> MakeSparseLearner(
    std::string_view label, const SparseLearnerOptions& options) {
  if (label == "non-private") {
    if (options.dimension < 1) {
      return InvalidArgument("dimension must be at least 1, got ", options.dimension);
    }
    return std::make_unique<Lasso>(options.dimension);
  }
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<LabNoise> noise, LabNoise::Create(options.seed, 0));
  if (label == "published") return std::make_unique<Published>(options, 1, std::move(noise));
  if (label == "published-repaired") {
    return std::make_unique<Published>(options, options.lambda_factor, std::move(noise));
  }
  if (label != "proven" && label != "proven-forgetting") {
    return InvalidArgument("no label `", ToAbsl(label), "` of fliphat");
  }
  const bool forgetting = label == "proven-forgetting";
  FliphatOptions fliphat = {.dimension = options.dimension,
                            .epsilon = options.epsilon,
                            .delta = options.delta,
                            .form = forgetting ? FliphatForm::kForgetting : FliphatForm::kResidual,
                            .sparsity = options.selected,
                            .reward_abs_max = options.reward_abs_max};
  if (forgetting) fliphat.context_abs_max = std::sqrt(2 * std::log(std::max(2, options.dimension)));
  if (options.context_abs_max > 0) fliphat.context_abs_max = options.context_abs_max;
  BANDANA_ASSIGN_OR_RETURN(Fliphat model, Fliphat::Create(fliphat));
  return std::make_unique<Proven>(model, std::move(noise));
}

}  // namespace bandana::lab
