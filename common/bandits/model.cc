#include "common/bandits/model.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "common/bandits/component.h"
#include "common/bandits/effective.h"
#include "common/bandits/fading.h"
#include "common/bandits/independent_model.h"
#include "common/bandits/rebuild_beside.h"
#include "common/bandits/statistics.h"
#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana {
namespace {

constexpr double kVarianceMin = 1e-30;

absl::Status CheckRange(std::string_view name, double value, double min, double max) {
  if (value >= min && value <= max) return absl::OkStatus();
  return InvalidArgument(ToAbsl(name), " must be in [", min, ", ", max, "], got ", value);
}

absl::Status CheckPositive(std::string_view name, double value, double max) {
  if (value > 0 && value <= max) return absl::OkStatus();
  return InvalidArgument(ToAbsl(name), " must be in (0, ", max, "], got ", value);
}

absl::Status CheckExploration(const ExplorationRule& rule) {
  if (rule.kind != ExplorationRule::Kind::kConfidence)
    return CheckRange("exploration.alpha", rule.alpha, 0, 1e6);
  if (!(rule.failure_probability > 0) || !(rule.failure_probability < 1)) {
    return InvalidArgument("exploration.failure_probability must be in (0, 1), got ",
                           rule.failure_probability);
  }
  return CheckPositive("exploration.theta_l2_max", rule.theta_l2_max, 1e6);
}

absl::Status CheckOptions(const BanditModel::Options& options) {
  if (options.dimension < 1 || options.dimension > kDimensionMax) {
    return InvalidArgument("dimension must be in [1, ", kDimensionMax, "], got ",
                           options.dimension);
  }
  BANDANA_RETURN_IF_ERROR(
      CheckRange("observation_variance", options.observation_variance, kVarianceMin, kVarianceMax));
  BANDANA_RETURN_IF_ERROR(
      CheckRange("prior_variance", options.prior_variance, kVarianceMin, kVarianceMax));
  return CheckExploration(options.exploration);
}

absl::Status CheckCoupling(const Coupling& coupling, int dimension) {
  for (const CouplingComponent& component : coupling.components()) {
    if (component.nodes.size() * dimension > static_cast<std::size_t>(kComponentRowsMax)) {
      return InvalidArgument("coupling: a component of ", component.nodes.size(),
                             " nodes at dimension ", dimension,
                             " exceeds nodes x dimension <= ", kComponentRowsMax,
                             "; effects { standard {} } takes any number of users, with the "
                             "clusters of the graph as a user group (docs/design/effects.md)");
    }
  }
  return absl::OkStatus();
}

// The nodes of a graph, or the one node of all users.
class CoupledModel final : public BanditModel {
 public:
  CoupledModel(const Options& options, const Coupling& coupling)
      : options_(options),
        scale_{options.dimension, options.observation_variance, options.prior_variance} {
    statistics_.assign(coupling.nodes(), EmptyStatistics(options.dimension));
    SetComponents(coupling);
  }

  int dimension() const override { return options_.dimension; }
  int nodes() const override { return static_cast<int>(statistics_.size()); }
  std::uint64_t events() const override { return events_; }
  std::uint64_t events(int node) const override { return statistics(node).events; }
  const NodeStatistics& statistics(int node) const override {
    BANDANA_CHECK(node >= 0 && node < nodes());
    return statistics_[node];
  }

  absl::StatusOr<int> AddNode() override;
  void Apply(std::span<const Event> events) override;
  absl::Status SetReleased(int node, NodeStatistics statistics) override;
  void Refresh() override;
  void Rebuild() override;
  void BeginRebuild() override;
  void SwapRebuilt() override;
  void FadeTo(std::uint64_t steps) override;
  absl::Status Restore(std::vector<NodeStatistics> statistics) override;
  absl::Status SetCoupling(Coupling coupling) override;
  NodePosterior Posterior(int node) const override;
  NodePosterior Prior() const override;
  std::vector<int> TakeChangedNodes() override;

 private:
  // A node whose statistics the posterior does not have yet, and those it has.
  struct Stale {
    int node = 0;
    EffectiveStatistics seen;
  };
  struct Component {
    std::vector<int> nodes;
    std::shared_ptr<const ComponentPrior> prior;
    ComponentPosterior posterior;
    bool changed = false;
    std::vector<Stale> stale;
  };
  struct Place {
    int component = 0;
    int position = 0;
  };

  void SetComponents(const Coupling& coupling);
  // The node's statistics at the present step.
  EffectiveStatistics Seen(int node) const;
  void ApplyBatches(int index, std::span<const ComponentEvent> events);
  std::vector<EffectiveStatistics> StatisticsOf(const Component& component) const;
  void RebuildComponent(int index);
  void RefreshComponent(int index);
  void MarkStale(int node);
  void MarkChanged(int component);

  const Options options_;
  const ComponentScale scale_;
  std::vector<NodeStatistics> statistics_;
  std::vector<Component> components_;
  std::vector<Place> places_;          // by node
  std::vector<bool> stale_;            // by node
  std::vector<int> changed_;           // components
  std::vector<int> stale_components_;  // those with stale nodes, and some rebuilt since
  std::uint64_t events_ = 0;
  std::uint64_t steps_ = 0;  // the present one
  ComponentScratch scratch_;
  std::unique_ptr<RebuildBeside> beside_;  // between BeginRebuild and SwapRebuilt
};

void CoupledModel::SetComponents(const Coupling& coupling) {
  beside_.reset();
  components_.clear();  // first, so that old and new never share the memory
  changed_.clear();
  stale_components_.clear();
  places_.assign(statistics_.size(), {});
  stale_.assign(statistics_.size(), false);
  for (const CouplingComponent& part : coupling.components()) {
    const int index = static_cast<int>(components_.size());
    for (std::size_t i = 0; i < part.nodes.size(); ++i)
      places_[part.nodes[i]] = {index, static_cast<int>(i)};
    auto prior = MakeComponentPrior(part);
    components_.push_back({part.nodes, prior, ComponentPosterior(prior, scale_), false, {}});
    MarkChanged(index);
  }
}

absl::StatusOr<int> CoupledModel::AddNode() {
  return FailedPrecondition("only a model with independent users can add nodes");
}

void CoupledModel::Apply(std::span<const Event> events) {
  // Events of one component stay in order and become runs; order between components does not
  // matter.
  std::vector<std::pair<int, ComponentEvent>> by_component;
  by_component.reserve(events.size());
  for (const Event& event : events) {
    BANDANA_CHECK(event.node >= 0 && event.node < nodes());
    BANDANA_CHECK(event.features.size() == static_cast<std::size_t>(dimension()));
    const Place place = places_[event.node];
    // The change of H_u is of rank one only without noise, and only from what the posterior has.
    if (stale_[event.node] || statistics_[event.node].moment_variance > 0) {
      MarkStale(event.node);
    } else {
      by_component.push_back(
          {place.component, {place.position, event.features.data(), event.reward}});
    }
    bandana::FadeTo(steps_, statistics_[event.node]);
    AddEvent(event, statistics_[event.node]);
  }
  events_ += events.size();
  std::stable_sort(by_component.begin(), by_component.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });

  std::vector<ComponentEvent> run;
  for (std::size_t i = 0; i < by_component.size();) {
    const int index = by_component[i].first;
    run.clear();
    for (; i < by_component.size() && by_component[i].first == index; ++i)
      run.push_back(by_component[i].second);
    ApplyBatches(index, run);
    MarkChanged(index);
  }
}

void CoupledModel::ApplyBatches(int index, std::span<const ComponentEvent> events) {
  ComponentPosterior& posterior = components_[index].posterior;
  const std::size_t batch = posterior.batch_events();
  for (std::size_t i = 0; i < events.size(); i += batch) {
    const auto part = events.subspan(i, std::min(batch, events.size() - i));
    // The statistics hold all of `events` already.
    if (!posterior.Apply(part, scratch_)) return RebuildComponent(index);
    if (beside_ != nullptr) beside_->Apply(index, part);
  }
}

std::vector<EffectiveStatistics> CoupledModel::StatisticsOf(const Component& component) const {
  std::vector<EffectiveStatistics> statistics;
  statistics.reserve(component.nodes.size());
  for (int node : component.nodes) statistics.push_back(Seen(node));
  return statistics;
}

void CoupledModel::RebuildComponent(int index) {
  Component& component = components_[index];
  component.posterior.Rebuild(StatisticsOf(component));
  if (beside_ != nullptr) beside_->Drop(index);
  for (const Stale& stale : component.stale) stale_[stale.node] = false;
  component.stale.clear();
}

absl::Status CoupledModel::SetReleased(int node, NodeStatistics statistics) {
  if (node < 0 || node >= nodes())
    return InvalidArgument("node must be in [0, ", nodes(), "), got ", node);
  BANDANA_RETURN_IF_ERROR(ValidateStatistics(statistics, dimension()));
  MarkStale(node);
  events_ += statistics.events - statistics_[node].events;
  statistics_[node] = std::move(statistics);
  return absl::OkStatus();
}

void CoupledModel::Refresh() {
  for (const int index : stale_components_) {
    if (components_[index].stale.empty()) continue;  // rebuilt since
    RefreshComponent(index);
    MarkChanged(index);
  }
  stale_components_.clear();
}

void CoupledModel::RefreshComponent(int index) {
  Component& component = components_[index];
  // A rebuild costs as much as an update of every node, about, and leaves no drift.
  if (2 * component.stale.size() >= component.nodes.size() && component.nodes.size() > 2)
    return RebuildComponent(index);
  for (const Stale& stale : component.stale) {
    const EffectiveStatistics next = Seen(stale.node);
    const int position = places_[stale.node].position;
    if (!component.posterior.Update(position, stale.seen, next, scratch_))
      return RebuildComponent(index);
    if (beside_ != nullptr) beside_->Update(index, position, stale.seen, next);
    stale_[stale.node] = false;
  }
  component.stale.clear();
}

void CoupledModel::MarkStale(int node) {
  if (stale_[node]) return;
  stale_[node] = true;
  const int index = places_[node].component;
  std::vector<Stale>& stale = components_[index].stale;
  if (stale.empty()) stale_components_.push_back(index);
  stale.push_back({node, Seen(node)});
}

EffectiveStatistics CoupledModel::Seen(int node) const {
  const NodeStatistics& held = statistics_[node];
  if (held.steps == steps_) return Effective(held, options_.observation_variance);
  NodeStatistics faded = held;
  bandana::FadeTo(steps_, faded);
  return Effective(faded, options_.observation_variance);
}

void CoupledModel::FadeTo(std::uint64_t steps) {
  BANDANA_CHECK(steps >= steps_);
  if (std::exchange(steps_, steps) == steps || events_ == 0) return;
  for (int index = 0; index < static_cast<int>(components_.size()); ++index) {
    const Component& component = components_[index];
    if (component.posterior.events() == 0 && component.stale.empty()) continue;
    RebuildComponent(index);
    MarkChanged(index);
  }
}

void CoupledModel::Rebuild() {
  beside_.reset();
  for (int index = 0; index < static_cast<int>(components_.size()); ++index) {
    RebuildComponent(index);
    MarkChanged(index);
  }
}

void CoupledModel::BeginRebuild() {
  beside_.reset();
  Refresh();
  std::vector<RebuildBeside::Job> jobs;
  for (int index = 0; index < static_cast<int>(components_.size()); ++index) {
    const Component& component = components_[index];
    jobs.push_back({index, component.prior, StatisticsOf(component)});
  }
  beside_ = std::make_unique<RebuildBeside>(std::move(jobs), scale_);
}

void CoupledModel::SwapRebuilt() {
  const std::unique_ptr<RebuildBeside> beside = std::move(beside_);
  if (beside == nullptr) return;
  for (RebuildBeside::Rebuilt& rebuilt : beside->Take()) {
    if (rebuilt.posterior) {
      components_[rebuilt.component].posterior = *std::move(rebuilt.posterior);
    } else {
      RebuildComponent(rebuilt.component);
    }
    MarkChanged(rebuilt.component);
  }
}

absl::Status CoupledModel::Restore(std::vector<NodeStatistics> statistics) {
  if (statistics.size() != statistics_.size()) {
    return InvalidArgument("statistics of ", statistics.size(), " nodes, the model has ",
                           statistics_.size());
  }
  for (std::size_t i = 0; i < statistics.size(); ++i) {
    BANDANA_RETURN_IF_ERROR(Annotate(ValidateStatistics(statistics[i], dimension()),
                                     absl::StrCat("statistics of node ", i)));
    BANDANA_RETURN_IF_ERROR(CheckSteps(statistics[i], steps_));
  }
  statistics_ = std::move(statistics);
  events_ = 0;
  for (const NodeStatistics& node : statistics_) events_ += node.events;
  Rebuild();
  return absl::OkStatus();
}

absl::Status CoupledModel::SetCoupling(Coupling coupling) {
  if (coupling.independent()) return IndependentModel::NoGraph();
  if (coupling.nodes() != nodes()) {
    return InvalidArgument("coupling: must have ", nodes(), " nodes, got ", coupling.nodes());
  }
  BANDANA_RETURN_IF_ERROR(CheckCoupling(coupling, dimension()));
  SetComponents(coupling);
  Rebuild();
  return absl::OkStatus();
}

NodePosterior CoupledModel::Posterior(int node) const {
  BANDANA_CHECK(node >= 0 && node < nodes());
  const Place place = places_[node];
  const ComponentPosterior& component = components_[place.component].posterior;
  NodePosterior posterior;
  component.CopyNode(place.position, posterior);
  posterior.alpha = AlphaOf(options_.exploration, options_.prior_variance,
                            {component.events(), component.log_det_ratio()});
  return posterior;
}

NodePosterior CoupledModel::Prior() const {
  const std::size_t d = options_.dimension;
  NodePosterior prior;
  prior.mean.assign(d, 0.0);
  prior.covariance.assign(d * d, 0.0);
  for (std::size_t i = 0; i < d; ++i) prior.covariance[i * d + i] = options_.prior_variance;
  prior.alpha = AlphaOf(options_.exploration, options_.prior_variance, {});
  return prior;
}

void CoupledModel::MarkChanged(int component) {
  if (std::exchange(components_[component].changed, true)) return;
  changed_.push_back(component);
}

std::vector<int> CoupledModel::TakeChangedNodes() {
  std::vector<int> nodes;
  for (int index : changed_) {
    Component& component = components_[index];
    component.changed = false;
    nodes.insert(nodes.end(), component.nodes.begin(), component.nodes.end());
  }
  changed_.clear();
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<BanditModel>> BanditModel::Create(const Options& options,
                                                                 const Coupling& coupling) {
  BANDANA_RETURN_IF_ERROR(CheckOptions(options));
  BANDANA_RETURN_IF_ERROR(CheckCoupling(coupling, options.dimension));
  if (coupling.independent()) return IndependentModel::Create(options);
  return std::make_unique<CoupledModel>(options, coupling);
}

}  // namespace bandana
