#include "common/model/learners/effects_sink.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/bytes.h"
#include "common/base/status.h"

namespace bandana {
namespace {

// The model as it stands when it is read, under the version that it was published at.
class ServedEffects final : public ServedPosterior {
 public:
  ServedEffects(std::shared_ptr<const EffectsPosterior> effects, std::uint64_t version)
      : effects_(std::move(effects)), version_(version) {}

  std::uint64_t version() const override { return version_; }
  int nodes() const override { return 1; }
  const NodePosterior& Of(const Whom& whom, NodePosterior& scratch) const override {
    effects_->Sum(whom.keys, scratch);
    return scratch;
  }
  void Score(const Whom& whom, const ArmsOnOffer& arms, NodePosterior& scratch,
             ArmScores& out) const override {
    effects_->Score(whom.keys, arms, scratch, out);
  }
  std::vector<std::string> effect_names() const override {
    std::vector<std::string> names;
    for (const Effect& effect : effects_->options().effects) names.push_back(effect.name);
    return names;
  }
  void Explain(const Whom& whom, const ArmsOnOffer& arms,
               std::vector<EffectShare>& out) const override {
    effects_->Explain(whom.keys, arms, out);
  }
  std::size_t PartsOfArms(const Whom& whom, const ArmsOnOffer& arms,
                          std::vector<ArmPart>& out) const override {
    return effects_->PartsOfArms(whom.keys, arms, out);
  }
  std::vector<EffectLook> Look(std::size_t count) const override { return effects_->Look(count); }
  std::optional<ScoreLaw> Law(const Whom& whom, NodePosterior& scratch) const override {
    return effects_->Law(whom.keys, scratch);
  }
  ArmShare ShareOf(std::span<const EffectKey> arm) const override {
    const EffectsModel::Belief share = effects_->ArmBelief(arm);
    return {.mean = share.mean, .variance = share.variance};
  }

 private:
  const std::shared_ptr<const EffectsPosterior> effects_;
  const std::uint64_t version_;
};

EffectsPosterior::Options OptionsOf(const ModelSpec& spec) {
  const EffectsSpec& effects = *spec.effects;
  EffectsPosterior::Options options{.dimension = spec.public_spec.dimension,
                                    .user_parts = 1 + static_cast<int>(effects.user_groups.size()),
                                    .arm_parts = 1 + static_cast<int>(effects.arm_groups.size()),
                                    .reward_variance = spec.reward_stddev * spec.reward_stddev,
                                    .pairs_max = effects.pairs_max,
                                    .learn_scales = effects.learn_scales,
                                    .weights = effects.weights,
                                    .exploration = spec.bandit.exploration};
  for (const EffectTerm& term : effects.terms) {
    options.effects.push_back(term.effect);
    options.scopes.push_back(term.scope);
  }
  return options;
}

template <typename Number>
std::vector<Number> Unpacked(std::string_view bytes) {
  std::vector<Number> numbers(bytes.size() / sizeof(Number));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(Number));
  return numbers;
}

class EffectEvents final : public RewardEvents {
 public:
  explicit EffectEvents(EffectsPosterior::Options options) : options_(std::move(options)) {}

  // Beside its blocks a node has its number of events alone.
  int statistics_dimension(int) const override { return 0; }

  absl::Status Begin(ModelState& state) const override {
    BANDANA_ASSIGN_OR_RETURN(state.effects, EffectsPosterior::Create(options_));
    return absl::OkStatus();
  }

  absl::Status Restore(std::string_view effects, ModelState& state) const override {
    BANDANA_RETURN_IF_ERROR(Begin(state));
    ByteReader in(effects);
    BANDANA_RETURN_IF_ERROR(state.effects->Decode(in));
    if (!in.Done()) return DataLoss("checkpoint: the effects have a wrong length");
    return absl::OkStatus();
  }

  // PROOF: effects begin
  absl::Status Add(const SeenEvent& event, const Released<double>& reward, ModelState& state,
                   EventSink& sink) const override {
    const std::size_t parts = static_cast<std::size_t>(options_.user_parts) +
                              static_cast<std::size_t>(options_.arm_parts);
    if (event.keys.size() != parts * sizeof(EffectKey)) {
      return DataLoss("an event has ", event.keys.size() / sizeof(EffectKey), " keys, the model ",
                      parts);
    }
    state.effects->Add({.parts = Unpacked<EffectKey>(event.keys),
                        .features = Unpacked<double>(event.features),
                        .reward = reward.value(),
                        .variance = event.variance});
    PartOf<StreamEvents>(sink).Count(event.node);
    return absl::OkStatus();
  }

  absl::Status Free(std::string_view keys, ModelState& state) const override {
    FreedKeys freed{.keys = Unpacked<EffectKey>(keys)};
    const auto wrong = [](EffectKey key) { return key == kAbsent || key == kEverybody; };
    if (freed.keys.empty() || std::any_of(freed.keys.begin(), freed.keys.end(), wrong)) {
      return DataLoss("an entry frees the effects of nobody or of everybody");
    }
    state.effects->Free(std::move(freed));
    return absl::OkStatus();
  }
  // PROOF: effects end

  void Settle(ModelState& state) const override { state.effects->Show(); }

  absl::StatusOr<std::unique_ptr<Learner>> MakeLearner(
      const ModelSpec&, const ModelState& state, double,
      std::vector<NodeStatistics> statistics) const override {
    return EffectsSink::Create(state, std::move(statistics));
  }

 private:
  const EffectsPosterior::Options options_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<EffectsSink>> EffectsSink::Create(
    const ModelState& state, std::vector<NodeStatistics> counted) {
  if (counted.size() != 1) return DataLoss("a model of effects has ", counted.size(), " nodes");
  return std::unique_ptr<EffectsSink>(new EffectsSink(state.effects, std::move(counted.front())));
}

NodePosterior EffectsSink::Prior() const {
  const EffectsPosterior::Options& options = effects_->options();
  const auto d = static_cast<std::size_t>(options.dimension);
  NodePosterior prior{.mean = std::vector<double>(d),
                      .covariance = std::vector<double>(d * d),
                      .alpha = options.exploration.alpha};
  for (std::size_t t = 0; t < options.effects.size(); ++t) {
    if (!options.effects[t].vector || options.scopes[t] != EffectScope{}) continue;
    for (std::size_t i = 0; i < d; ++i) {
      prior.covariance[i * (d + 1)] += options.effects[t].prior_variance;
    }
  }
  return prior;
}

NodePosterior EffectsSink::Posterior(int) const {
  NodePosterior posterior;
  effects_->Sum({}, posterior);
  return posterior;
}

std::vector<int> EffectsSink::TakeChangedNodes() {
  const bool changed = std::exchange(first_, false) || effects_->waiting();
  return changed ? std::vector<int>{0} : std::vector<int>{};
}

std::shared_ptr<const ServedPosterior> EffectsSink::Show(std::uint64_t version,
                                                         const std::vector<int>&) {
  effects_->Show();
  return std::make_shared<const ServedEffects>(effects_, version);
}

std::unique_ptr<const RewardEvents> MakeEffectEvents(const ModelSpec& spec) {
  return std::make_unique<EffectEvents>(OptionsOf(spec));
}

}  // namespace bandana
