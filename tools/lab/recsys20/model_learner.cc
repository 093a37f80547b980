#include "tools/lab/recsys20/model_learner.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/accounting/zcdp.h"
#include "common/bandits/model.h"
#include "common/bandits/scoring.h"
#include "common/bandits/statistics.h"
#include "common/base/status.h"
#include "common/mechanisms/centred_window.h"
#include "common/mechanisms/counters/counter_decoder.h"
#include "common/mechanisms/counters/counter_encoder.h"
#include "common/mechanisms/reward_randomizer.h"
#include "tools/lab/noise.h"

namespace bandana::lab {
namespace {

// From this many rows of K on, events reach the posterior in batches, as in the server.
constexpr int kBatchRows = 500;
constexpr int kBatchEvents = 32;

// The model's tuning: of a private model that of its epsilon.
Tuning TuningOf(const World& world, const LearnerOptions& options) {
  if (options.scope == Scope::kNonPrivate) return world.TuningOf(options.family, std::nullopt);
  return world.TuningOf(options.family, options.epsilon);
}

absl::StatusOr<std::unique_ptr<BanditModel>> MakeModel(const World& world,
                                                       const LearnerOptions& options,
                                                       double randomizer_variance) {
  const Tuning tuning = TuningOf(world, options);
  BanditModel::Options model;
  model.dimension = world.info().dimension;
  model.observation_variance = tuning.reward_stddev * tuning.reward_stddev + randomizer_variance;
  model.prior_variance = tuning.prior_stddev * tuning.prior_stddev * options.prior_factor;
  model.exploration.alpha = tuning.alpha * options.alpha_factor;
  model.nodes_max = world.nodes();
  BANDANA_ASSIGN_OR_RETURN(const Coupling coupling,
                           world.MakeCoupling(options.family, tuning.laplacian_weight));
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<BanditModel> made, BanditModel::Create(model, coupling));
  if (options.family == Family::kIndependent) {
    while (made->nodes() < world.nodes()) BANDANA_RETURN_IF_ERROR(made->AddNode().status());
  }
  return made;
}

// The posteriors of all nodes as of the last change of each.
class PosteriorCache {
 public:
  explicit PosteriorCache(BanditModel& model) : model_(model), cached_(model.nodes()) {}

  const NodePosterior& At(int node) {
    for (const int changed : model_.TakeChangedNodes()) cached_[changed].reset();
    if (!cached_[node].has_value()) cached_[node] = model_.Posterior(node);
    return *cached_[node];
  }

 private:
  BanditModel& model_;
  std::vector<std::optional<NodePosterior>> cached_;
};

int NodeIn(const BanditModel& model, int node) { return model.nodes() == 1 ? 0 : node; }

// Rewards one by one: as they are, or randomized.
class DirectLearner final : public Learner {
 public:
  DirectLearner(std::unique_ptr<BanditModel> model, std::optional<RewardRandomizer> randomizer,
                std::unique_ptr<LabNoise> noise)
      : model_(std::move(model)),
        cache_(*model_),
        randomizer_(std::move(randomizer)),
        noise_(std::move(noise)),
        batch_(model_->nodes() * model_->dimension() >= kBatchRows ? kBatchEvents : 1) {
    features_.reserve(batch_);
    events_.reserve(batch_);
  }

  const NodePosterior& Posterior(int node) override { return cache_.At(NodeIn(*model_, node)); }

  absl::Status Learn(int node, std::span<const double> x, double reward) override {
    if (randomizer_.has_value()) {
      BANDANA_ASSIGN_OR_RETURN(
          const PerturbedReward perturbed,
          randomizer_->Randomize(randomizer_->Clip(RawReward(reward), 0), *noise_));
      reward = randomizer_->Value(perturbed.output());
    }
    features_.emplace_back(x.begin(), x.end());
    events_.push_back({NodeIn(*model_, node), features_.back(), reward});
    if (events_.size() < batch_) return absl::OkStatus();
    model_->Apply(events_);
    events_.clear();
    features_.clear();
    return absl::OkStatus();
  }

  std::string mechanism() const override {
    if (!randomizer_.has_value()) return "none";
    switch (randomizer_->kind()) {
      case RandomizerKind::kRandomizedResponse:
        return "randomized response";
      case RandomizerKind::kStochasticRounding:
        return "one-bit randomizer";
      case RandomizerKind::kHybrid:
        break;
    }
    return "hybrid randomizer";
  }

 private:
  std::unique_ptr<BanditModel> model_;
  PosteriorCache cache_;
  std::optional<RewardRandomizer> randomizer_;
  std::unique_ptr<LabNoise> noise_;
  std::size_t batch_;
  std::vector<std::vector<double>> features_;  // of events_, which point into them
  std::vector<Event> events_;
};

// Residuals randomized, MakeCentred.
class CentredLearner final : public Learner {
 public:
  CentredLearner(std::unique_ptr<BanditModel> model, RewardRandomizer randomizer, Epsilon epsilon,
                 double reward_stddev, std::unique_ptr<LabNoise> noise)
      : model_(std::move(model)),
        cache_(*model_),
        randomizer_(std::move(randomizer)),
        epsilon_(epsilon),
        reward_stddev_(reward_stddev),
        noise_(std::move(noise)) {}

  const NodePosterior& Posterior(int node) override { return cache_.At(NodeIn(*model_, node)); }

  absl::Status Learn(int node, std::span<const double> x, double reward) override {
    ScoreArms(Posterior(node), x, scores_);
    const RewardRange window = CentredWindow(randomizer_.range(), scores_.means[0],
                                             scores_.widths[0], reward_stddev_, epsilon_);
    BANDANA_ASSIGN_OR_RETURN(
        const PerturbedReward perturbed,
        randomizer_.Randomize(randomizer_.ClipTo(window, RawReward(reward), 0), *noise_));
    const double scale = EventScale(randomizer_, window, reward_stddev_);
    std::vector<double> features(x.begin(), x.end());
    for (double& value : features) value *= scale;
    const Event event{NodeIn(*model_, node), features,
                      scale * randomizer_.ValueIn(window, perturbed.output())};
    model_->Apply({&event, 1});
    return absl::OkStatus();
  }

  std::string mechanism() const override { return "centred randomizer"; }

 private:
  std::unique_ptr<BanditModel> model_;
  PosteriorCache cache_;
  RewardRandomizer randomizer_;  // of the whole range
  Epsilon epsilon_;
  double reward_stddev_;
  std::unique_ptr<LabNoise> noise_;
  ArmScores scores_;
};

// One user's stream. The sum of the released increments x (r - middle) estimates the moment.
struct Stream {
  CounterEncoder encoder;
  CounterDecoder decoder;
  NodeStatistics pending;  // events since the last release that the posterior saw
  std::unique_ptr<LabNoise> noise;
};

class CountedLearner final : public Learner {
 public:
  CountedLearner(std::unique_ptr<BanditModel> model, std::vector<Stream> streams, double middle)
      : model_(std::move(model)),
        cache_(*model_),
        streams_(std::move(streams)),
        middle_(middle),
        sums_(streams_.size(), std::vector<double>(model_->dimension(), 0.0)) {}

  const NodePosterior& Posterior(int node) override { return cache_.At(node); }

  absl::Status Learn(int node, std::span<const double> x, double reward) override {
    Stream& stream = streams_[node];
    const CounterDesign& design = stream.encoder.design();
    if (stream.encoder.step() == design.step_cap()) return absl::OkStatus();  // exhausted
    std::vector<double> increment(x.begin(), x.end());
    for (double& value : increment) value *= reward - middle_;
    BANDANA_ASSIGN_OR_RETURN(const ClippedIncrement clipped,
                             ClippedIncrement::Clip(increment, design.grid()));
    BANDANA_ASSIGN_OR_RETURN(const CounterRelease release,
                             stream.encoder.Step(clipped, *stream.noise));
    BANDANA_RETURN_IF_ERROR(stream.decoder.Push(release));
    AddEvent({node, x, middle_}, stream.pending);  // S and the public part of beta
    if (release.values.empty()) return absl::OkStatus();

    NodeStatistics next = model_->statistics(node);
    for (std::size_t i = 0; i < next.gram.size(); ++i) next.gram[i] += stream.pending.gram[i];
    next.events += stream.pending.events;
    next.moment = stream.decoder.Estimate();
    for (std::size_t i = 0; i < next.moment.size(); ++i) {
      sums_[node][i] += stream.pending.moment[i];
      next.moment[i] += sums_[node][i];
    }
    next.moment_variance = stream.decoder.Variance();
    stream.pending = EmptyStatistics(model_->dimension());
    BANDANA_RETURN_IF_ERROR(model_->SetReleased(node, std::move(next)));
    model_->Refresh();
    return absl::OkStatus();
  }

  std::string mechanism() const override {
    return absl::StrCat(ToAbsl(CounterKindName(streams_[0].encoder.design().kind())), " counter");
  }

 private:
  std::unique_ptr<BanditModel> model_;
  PosteriorCache cache_;
  std::vector<Stream> streams_;            // by node
  double middle_;                          // of the reward range
  std::vector<std::vector<double>> sums_;  // middle * sum x, by node
};

}  // namespace

RewardRange EnforcedRange(const World& world, const LearnerOptions& options) {
  const EnvironmentInfo& info = world.info();
  const double share = TuningOf(world, options).reward_share * options.clip_factor;
  const double middle = (info.reward_min + info.reward_max) / 2;
  const double half = share * (info.reward_max - info.reward_min) / 2;
  return {middle - half, middle + half};
}

absl::StatusOr<std::unique_ptr<Learner>> MakeNonPrivate(const World& world,
                                                        const LearnerOptions& options) {
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<BanditModel> model, MakeModel(world, options, 0));
  return std::make_unique<DirectLearner>(std::move(model), std::nullopt, nullptr);
}

absl::StatusOr<std::unique_ptr<Learner>> MakeRandomized(const World& world,
                                                        const LearnerOptions& options) {
  const EnvironmentInfo& info = world.info();
  BANDANA_ASSIGN_OR_RETURN(RewardRandomizer randomizer,
                           RewardRandomizer::Create({options.epsilon, EnforcedRange(world, options),
                                                     info.reward_binary}));
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<BanditModel> model,
                           MakeModel(world, options, randomizer.VarianceMax()));
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<LabNoise> noise, LabNoise::Create(options.seed, 0));
  return std::make_unique<DirectLearner>(std::move(model), std::move(randomizer), std::move(noise));
}

absl::StatusOr<std::unique_ptr<Learner>> MakeCentred(const World& world,
                                                     const LearnerOptions& options) {
  const EnvironmentInfo& info = world.info();
  const Tuning tuning = TuningOf(world, options);
  const RewardRange range{info.reward_min, info.reward_max};
  BANDANA_ASSIGN_OR_RETURN(RewardRandomizer randomizer,
                           RewardRandomizer::Create({options.epsilon, range, false}));
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<BanditModel> model,
                           MakeModel(world, options, randomizer.VarianceMax()));
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<LabNoise> noise, LabNoise::Create(options.seed, 0));
  return std::make_unique<CentredLearner>(std::move(model), std::move(randomizer), options.epsilon,
                                          tuning.reward_stddev, std::move(noise));
}

absl::StatusOr<std::unique_ptr<Learner>> MakeCounted(const World& world,
                                                     const LearnerOptions& options,
                                                     CounterKind kind) {
  if (options.family == Family::kShared)
    return InvalidArgument("counters are one a user: a shared model has none");
  const EnvironmentInfo& info = world.info();
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<BanditModel> model, MakeModel(world, options, 0));
  BANDANA_ASSIGN_OR_RETURN(const Rho rho, CalibrateZcdp(options.epsilon, options.delta));
  CounterOptions counter;
  counter.kind = kind;
  counter.dimension = info.dimension;
  counter.norm_bound = info.feature_l2_max * EnforcedRange(world, options).width() / 2;
  counter.rho = rho;
  counter.horizon = (options.horizon + world.nodes() - 1) / world.nodes();
  counter.step_cap = counter.horizon;
  BANDANA_ASSIGN_OR_RETURN(const CounterDesign design, CounterDesign::Create(counter));
  std::vector<Stream> streams;
  for (int node = 0; node < world.nodes(); ++node) {
    BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<LabNoise> noise, LabNoise::Create(options.seed, node));
    streams.push_back({CounterEncoder(design), CounterDecoder(design),
                       EmptyStatistics(info.dimension), std::move(noise)});
  }
  return std::make_unique<CountedLearner>(std::move(model), std::move(streams),
                                          (info.reward_min + info.reward_max) / 2);
}

}  // namespace bandana::lab
