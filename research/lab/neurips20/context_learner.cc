#include "research/lab/neurips20/context_learner.h"

#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/promise/mechanism.h"
#include "research/lab/host.h"
#include "research/lab/neurips20/law_learner.h"

namespace bandana::lab {
namespace {

constexpr RefreshRule kRefresh{.share = 0.01};

class Reported final : public ContextLearner {
 public:
  explicit Reported(std::unique_ptr<Host> host) : host_(std::move(host)) {}

  const NodePosterior& Posterior() override { return host_->Posterior(0); }
  absl::Status Learn(std::span<const double> x, double reward) override {
    return host_->Learn(0, x, reward);
  }
  std::string mechanism() const override { return MechanismWords(host_->spec()); }
  std::uint64_t repairs() const override { return host_->grams_repaired(); }

 private:
  std::unique_ptr<Host> host_;
};

class Unperturbed final : public ContextLearner {
 public:
  Unperturbed(Link link, std::unique_ptr<Host> host) : link_(link), host_(std::move(host)) {}

  const NodePosterior& Posterior() override { return host_->Posterior(0); }
  absl::Status Learn(std::span<const double> x, double reward) override {
    const std::vector<double>& mean = Posterior().mean;
    double predictor = 0;
    for (std::size_t i = 0; i < x.size(); ++i) predictor += x[i] * mean[i];
    const StraightEvent event =
        Straighten(link_, {x.begin(), x.end()}, reward, predictor / LinkSlope(link_, 0));
    return host_->Learn(0, event.features, event.reward);
  }
  std::string mechanism() const override { return "none"; }
  std::uint64_t repairs() const override { return 0; }

 private:
  const Link link_;
  std::unique_ptr<Host> host_;
};

v1::ModelConfig Unspecified(const ContextTask& task) {
  v1::ModelConfig config;
  config.set_name("lab");
  config.set_dimension(static_cast<std::uint32_t>(task.dimension));
  config.set_reward_stddev(task.reward_stddev);
  config.mutable_exploration()->set_alpha(task.alpha);
  config.mutable_refresh_interval();  // the host's rule
  config.mutable_shared();
  return config;
}

bool ByLaw(const ContextTask& task, const ModelSpec& spec) {
  const bool seeds = spec.public_spec.made->contexts()->seed_size() > 0;
  if (!seeds || task.draws == PrivUnitDraws::kSeeds) return false;
  return task.draws == PrivUnitDraws::kLaw || SeedsOf(spec) > kSeedsMax;
}

}  // namespace

v1::ModelConfig ConfigOf(const ContextTask& task, v1::Mechanism mechanism) {
  v1::ModelConfig config = Unspecified(task);
  const bool linear = task.link == Link::kLinear;
  config.set_link(linear ? v1::LINEAR : v1::LOGISTIC);
  config.set_reward_min(linear ? -1 : 0);
  config.set_reward_max(1);
  config.set_prior_stddev(task.prior_stddev);
  config.set_mode(v1::LOCAL_CONTEXT);
  config.mutable_reporting()->set_one_per_decision(true);
  v1::Privacy& privacy = *config.mutable_privacy();
  privacy.set_research(true);
  privacy.set_epsilon(task.epsilon.value);
  privacy.set_delta(task.delta.value);  // allowed; a pure mechanism spends none
  privacy.set_mechanism(mechanism);
  privacy.set_planned_events_per_user(task.horizon);
  return config;
}

absl::StatusOr<std::unique_ptr<ContextLearner>> MakeReported(const ContextTask& task,
                                                             v1::Mechanism mechanism) {
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<Host> host,
                           Host::Create(ConfigOf(task, mechanism), task.seed, kRefresh));
  if (ByLaw(task, host->spec())) return MakeLawLearner(task, host->spec());
  return std::make_unique<Reported>(std::move(host));
}

absl::StatusOr<std::unique_ptr<ContextLearner>> MakeUnperturbed(const ContextTask& task) {
  v1::ModelConfig config = Unspecified(task);
  const double half = task.link == Link::kLinear ? 1 : 0.5;
  config.set_reward_min(-half);
  config.set_reward_max(half);
  config.set_prior_stddev(LinkSlope(task.link, 0) * task.prior_stddev);
  config.set_mode(v1::NON_PRIVATE);
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<Host> host, Host::Create(config, task.seed, kRefresh));
  return std::make_unique<Unperturbed>(task.link, std::move(host));
}

}  // namespace bandana::lab
