#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/bandits/joint/thompson.h"
#include "common/base/status.h"
#include "research/compact/column_scoring.h"
#include "research/lab/host.h"
#include "research/lab/neurips18/policy.h"
#include "tools/environments/random.h"

namespace bandana::lab {
namespace {

// A posterior of the millionth round may be a thousand rounds old.
constexpr RefreshRule kRefresh{.share = 1e-3};

// Bound, prior and noise as the algorithms know them; rewards lie in [-1, 1].
v1::ModelConfig ConfigOf(const PolicyOptions& options, std::string_view label) {
  v1::ModelConfig config;
  config.set_name("lab");
  config.set_dimension(static_cast<std::uint32_t>(options.dimension));
  config.set_reward_min(-1);
  config.set_reward_max(1);
  config.set_reward_stddev(options.reward_stddev);
  config.set_prior_stddev(options.prior_stddev);
  config.mutable_exploration()->mutable_confidence()->set_theta_l2_max(options.theta_l2_max);
  config.mutable_refresh_interval();  // the host's rule
  config.mutable_shared();
  config.set_mode(v1::JOINT);
  config.mutable_reporting()->set_one_per_decision(true);
  v1::Privacy& privacy = *config.mutable_privacy();
  privacy.set_research(true);
  privacy.set_epsilon(options.epsilon.value);
  privacy.set_delta(options.delta.value);
  privacy.set_mechanism(label == "auto" ? v1::AUTO : v1::COUNTER);
  privacy.set_planned_events_per_user(options.horizon);
  privacy.mutable_counter()->set_horizon(options.horizon);
  privacy.mutable_counter()->set_steps_max(options.horizon);
  if (label != "auto") {
    privacy.mutable_counter()->set_kind(label == "blt" ? v1::BLT : v1::EPOCHS);
  }
  return config;
}

class Proven final : public RoundPolicy {
 public:
  Proven(const PolicyOptions& options, std::unique_ptr<Host> host)
      : options_(options),
        host_(std::move(host)),
        draws_(options.seed, StreamPurpose::kArrival, 0),
        sampler_(host_->Posterior(0), 0),
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
    const std::uint64_t before = host_->published();
    BANDANA_RETURN_IF_ERROR(host_->Learn(0, x, reward));
    if (host_->published() != before) TakePosterior();
    return absl::OkStatus();
  }

  std::string mechanism() const override {
    return absl::StrCat(MechanismWords(host_->spec()), ", ",
                        options_.exploration == Exploration::kThompson ? "Thompson " : "UCB ",
                        options_.scale);
  }
  std::uint64_t grams_repaired() const override { return host_->grams_repaired(); }

 private:
  void TakePosterior() {
    const NodePosterior& posterior = host_->Posterior(0);
    if (options_.exploration == Exploration::kThompson) {
      sampler_ = ThompsonSampler(posterior, options_.scale);
    } else {
      scorer_.Set(posterior.mean, posterior.covariance, options_.scale);
    }
  }

  PolicyOptions options_;
  std::unique_ptr<Host> host_;
  SeededStream draws_;  // of the policy; it knows no data
  ThompsonSampler sampler_;
  ColumnScorer scorer_;
  std::vector<double> normals_, theta_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RoundPolicy>> MakeProven(const PolicyOptions& options,
                                                        std::string_view label) {
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<Host> host,
                           Host::Create(ConfigOf(options, label), options.seed, kRefresh));
  return std::make_unique<Proven>(options, std::move(host));
}

}  // namespace bandana::lab
