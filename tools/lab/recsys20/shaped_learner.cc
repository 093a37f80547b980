#include "tools/lab/recsys20/shaped_learner.h"

#include <utility>
#include <vector>

#include "common/accounting/zcdp.h"
#include "common/bandits/shaped.h"
#include "common/bandits/statistics.h"
#include "common/base/status.h"
#include "common/mechanisms/counters/counter_decoder.h"
#include "common/mechanisms/counters/counter_encoder.h"
#include "common/bandits/noise_shape.h"
#include "tools/lab/noise.h"
#include "tools/lab/recsys20/model_learner.h"

namespace bandana::lab {
namespace {

class ShapedLearner final : public Learner {
 public:
  ShapedLearner(Coupling coupling, std::vector<NoiseShape> shapes, BanditModel::Options model,
                const CounterDesign& design, double middle, std::unique_ptr<LabNoise> noise)
      : coupling_(std::move(coupling)),
        shapes_(std::move(shapes)),
        model_(model),
        encoder_(design),
        decoder_(design),
        middle_(middle),
        noise_(std::move(noise)),
        places_(coupling_.nodes()),
        statistics_(coupling_.nodes(), EmptyStatistics(model.dimension)),
        posteriors_(coupling_.nodes()) {
    for (std::size_t c = 0; c < coupling_.components().size(); ++c) {
      const std::vector<int>& nodes = coupling_.components()[c].nodes;
      for (std::size_t i = 0; i < nodes.size(); ++i) places_[nodes[i]] = {c, i};
    }
  }

  // The prior of each node, before the first refresh.
  void SetPriors() {
    const std::size_t d = model_.dimension;
    for (const CouplingComponent& component : coupling_.components()) {
      for (std::size_t i = 0; i < component.nodes.size(); ++i) {
        NodePosterior& prior = posteriors_[component.nodes[i]];
        prior.mean.assign(d, 0.0);
        prior.covariance.assign(d * d, 0.0);
        for (std::size_t j = 0; j < d; ++j) {
          prior.covariance[j * d + j] =
              model_.prior_variance * component.prior[i * component.nodes.size() + i];
        }
        prior.alpha = model_.exploration.alpha;
      }
    }
  }

  const NodePosterior& Posterior(int node) override { return posteriors_[node]; }

  absl::Status Learn(int node, std::span<const double> x, double reward) override {
    const std::size_t d = x.size();
    const Place place = places_[node];
    const std::vector<int>& nodes = coupling_.components()[place.component].nodes;
    const std::vector<double>& root = shapes_[place.component].root;
    std::vector<double> increment(d * posteriors_.size(), 0.0);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const double weight = root[place.position * nodes.size() + i] * (reward - middle_);
      for (std::size_t j = 0; j < d; ++j) increment[nodes[i] * d + j] = weight * x[j];
    }
    BANDANA_ASSIGN_OR_RETURN(const ClippedIncrement clipped,
                             ClippedIncrement::Clip(increment, encoder_.design().grid()));
    BANDANA_ASSIGN_OR_RETURN(const CounterRelease release, encoder_.Step(clipped, *noise_));
    BANDANA_RETURN_IF_ERROR(decoder_.Push(release));
    AddEvent({node, x, middle_}, statistics_[node]);
    return decoder_.step() % kShapedRefresh == 0 ? Refresh() : absl::OkStatus();
  }

  std::string mechanism() const override { return "shaped blt counter"; }

 private:
  struct Place {
    std::size_t component = 0;
    std::size_t position = 0;
  };

  absl::Status Refresh() {
    const std::size_t d = model_.dimension;
    const std::vector<double> estimate = decoder_.Estimate();
    for (std::size_t c = 0; c < shapes_.size(); ++c) {
      const CouplingComponent& component = coupling_.components()[c];
      const std::size_t n = component.nodes.size();
      ShapedRelease release{shapes_[c].root, std::vector<double>(n * d, 0.0), decoder_.Variance()};
      std::vector<NodeStatistics> statistics;
      for (std::size_t u = 0; u < n; ++u) {
        statistics.push_back(statistics_[component.nodes[u]]);
        for (std::size_t j = 0; j < d; ++j) {
          release.values[u * d + j] += estimate[component.nodes[u] * d + j];
          // What the middle of the range adds to every reward is public.
          for (std::size_t v = 0; v < n; ++v) {
            release.values[u * d + j] +=
                release.root[u * n + v] * statistics_[component.nodes[v]].moment[j];
          }
        }
      }
      BANDANA_ASSIGN_OR_RETURN(std::vector<NodePosterior> posteriors,
                               ShapedPosterior(component, model_, statistics, release));
      for (std::size_t u = 0; u < n; ++u)
        posteriors_[component.nodes[u]] = std::move(posteriors[u]);
    }
    return absl::OkStatus();
  }

  Coupling coupling_;
  std::vector<NoiseShape> shapes_;  // by component
  BanditModel::Options model_;
  CounterEncoder encoder_;
  CounterDecoder decoder_;
  double middle_;  // of the reward range
  std::unique_ptr<LabNoise> noise_;
  std::vector<Place> places_;               // by node
  std::vector<NodeStatistics> statistics_;  // moments: middle * sum x
  std::vector<NodePosterior> posteriors_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Learner>> MakeShaped(const World& world,
                                                    const LearnerOptions& options) {
  const EnvironmentInfo& info = world.info();
  const Tuning tuning = world.TuningOf(options.family, options.epsilon);
  const RewardRange range = EnforcedRange(world, options);
  BANDANA_ASSIGN_OR_RETURN(Coupling coupling,
                           world.MakeCoupling(options.family, tuning.laplacian_weight));
  std::vector<NoiseShape> shapes;
  for (const CouplingComponent& component : coupling.components()) {
    BANDANA_ASSIGN_OR_RETURN(NoiseShape shape,
                             ShapeNoise(component.prior, static_cast<int>(component.nodes.size())));
    shapes.push_back(std::move(shape));
  }
  BanditModel::Options model;
  model.dimension = info.dimension;
  model.observation_variance = tuning.reward_stddev * tuning.reward_stddev;
  model.prior_variance = tuning.prior_stddev * tuning.prior_stddev * options.prior_factor;
  model.exploration.alpha = tuning.alpha * options.alpha_factor;

  CounterOptions counter;
  counter.kind = CounterKind::kBlt;
  counter.dimension = static_cast<std::size_t>(coupling.nodes()) * info.dimension;
  counter.norm_bound = info.feature_l2_max * range.width() / 2;
  BANDANA_ASSIGN_OR_RETURN(counter.rho, CalibrateZcdp(options.epsilon, options.delta));
  counter.horizon = options.horizon;
  counter.step_cap = options.horizon;
  BANDANA_ASSIGN_OR_RETURN(const CounterDesign design, CounterDesign::Create(counter));
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<LabNoise> noise, LabNoise::Create(options.seed, 0));
  auto learner =
      std::make_unique<ShapedLearner>(std::move(coupling), std::move(shapes), model, design,
                                      (range.min + range.max) / 2, std::move(noise));
  learner->SetPriors();
  return learner;
}

}  // namespace bandana::lab
