// Models whose events the server puts into counters.
#pragma once

#include <utility>
#include <vector>

#include "common/design/server_mechanism.h"
#include "common/model/paths/central_path.h"
#include "common/model/paths/covered_contexts.h"

namespace bandana {

// One event is one step of one stream.
class StreamPath : public CentralPath {
 public:
  absl::Status Use(const SeenEvent& event, double reward, const Applying& to) const final;
  Released<NodeRelease> ReleaseOf(const ModelState& state, int stream) const final;
  void CloseStreams(ModelState& state) const final;
  absl::Status RestoreCentral(std::string_view central, ModelState& state) const final;

 protected:
  // `design`: of the mechanism that `facts` has.
  StreamPath(PathFacts facts, const EventIntake& intake, KeyedNoise noise,
             const CounterDesign& design)
      : CentralPath(std::move(facts), intake, std::move(noise)), design_(design) {}
  const CounterDesign& design() const { return design_; }

 private:
  // The stream that takes the node's events.
  virtual int StreamOf(int node) const { return node; }
  // The event's increment of that stream. Errors: DATA_LOSS the state lacks what it takes; INTERNAL
  // ours.
  virtual absl::StatusOr<ClippedIncrement> IncrementOf(int node, std::vector<double> features,
                                                       double reward,
                                                       const ModelState& state) const = 0;
  // Enters the rest of the event, once its step is taken; `releases`: the stream's release has
  // moved.
  virtual void Enter(int node, std::string_view features, bool releases,
                     const Applying& to) const = 0;

  const CounterDesign& design_;
};

// CENTRAL_REWARD: one stream per node, of x (r - mid); contexts are public.
class CounterPath final : public StreamPath {
 public:
  CounterPath(PathFacts facts, const EventIntake& intake, KeyedNoise noise,
              const RewardCounter& counter)
      : StreamPath(std::move(facts), intake, std::move(noise), counter.design),
        contexts_(counter.centre) {}
  absl::StatusOr<std::unique_ptr<Learner>> MakeLearner(
      const ModelSpec& spec, const ModelState& state,
      std::vector<NodeStatistics> statistics) const override;

 private:
  absl::StatusOr<ClippedIncrement> IncrementOf(int node, std::vector<double> features,
                                               double reward,
                                               const ModelState& state) const override;
  void Enter(int node, std::string_view features, bool releases, const Applying& to) const override;

  const CoveredContexts contexts_;
};

// CENTRAL_REWARD: one stream over all nodes of a graph, shaped by it (UserShape).
class ShapedPath final : public StreamPath {
 public:
  ShapedPath(PathFacts facts, const EventIntake& intake, KeyedNoise noise,
             const ShapedCounter& counter)
      : StreamPath(std::move(facts), intake, std::move(noise), counter.design),
        contexts_(counter.centre) {}
  int streams(int) const override { return 1; }
  absl::StatusOr<std::optional<std::string>> Opening(const ModelSpec& spec,
                                                     const ModelState& state) const override;
  absl::Status CheckGraphChange(std::string_view model) const override;
  absl::StatusOr<std::unique_ptr<Learner>> MakeLearner(
      const ModelSpec& spec, const ModelState& state,
      std::vector<NodeStatistics> statistics) const override;

 protected:
  absl::Status TakeShape(const ShapeRecord& record, const Applying& to) const override;

 private:
  int StreamOf(int) const override { return 0; }
  absl::StatusOr<ClippedIncrement> IncrementOf(int node, std::vector<double> features,
                                               double reward,
                                               const ModelState& state) const override;
  void Enter(int node, std::string_view features, bool releases, const Applying& to) const override;

  const CoveredContexts contexts_;
};

// JOINT: one stream per node, of (x x', r x).
class JointPath final : public StreamPath {
 public:
  JointPath(PathFacts facts, const EventIntake& intake, KeyedNoise noise,
            const JointCounter& counter)
      : StreamPath(std::move(facts), intake, std::move(noise), counter.design()), joint_(counter) {}
  absl::StatusOr<std::unique_ptr<Learner>> MakeLearner(
      const ModelSpec& spec, const ModelState& state,
      std::vector<NodeStatistics> statistics) const override;

 private:
  absl::StatusOr<ClippedIncrement> IncrementOf(int node, std::vector<double> features,
                                               double reward,
                                               const ModelState& state) const override;
  void Enter(int node, std::string_view features, bool releases, const Applying& to) const override;

  const JointCounter& joint_;
};

}  // namespace bandana
