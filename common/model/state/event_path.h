// The handling of log entries in a model of one kind: one object per mechanism and mode.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "common/accounting/composition.h"
#include "common/accounting/types.h"
#include "common/bandits/model.h"
#include "common/design/model_spec.h"
#include "common/design/user_nodes.h"
#include "common/model/entries/records.h"
#include "common/model/entries/released.h"
#include "common/model/entries/user_index.h"
#include "common/model/state/arm_notes.h"
#include "common/model/state/cell_codec.h"
#include "common/model/state/debit_policy.h"
#include "common/model/state/event_sink.h"
#include "common/model/state/reward_events.h"
#include "common/promise/mechanism.h"

namespace bandana {

class Learner;
struct ModelState;

// The objects that an entry acts on, and its place in the log.
struct Applying {
  ModelState& state;
  const LogPosition& position;  // of the entry
  UserIndex& users;
  EventSink& sink;
};

// The facts that all paths are made with.
struct PathFacts {
  std::shared_ptr<const Mechanism> mechanism;
  int dimension = 0;
  int nodes = 0;  // at the start
  const UserNodes& users;
  std::shared_ptr<const RewardEvents> events;  // of paths that read rewards
  std::shared_ptr<const DebitPolicy> debits;
  // The cost of one event where nothing is debited; nullopt: nothing is promised..
  std::optional<PrivacyCost> event_cost;
  std::optional<Rho> stream_cost;           // zCDP cost of a stream; nullopt: there are no streams
  std::optional<ArmNotesFacts> notes = {};  // nothing: the model keeps none of arms
};

// Time, epochs, graphs, debits and deleted users mean the same to every model; freed effects are
// the family's. A path has all other entries of its kind alone: it overrides their methods, and the
// rest answer DATA_LOSS here. So an entry of another kind of model reaches no state. Immutable.
// Threads: const methods are safe.
class EventPath {
 public:
  explicit EventPath(PathFacts facts) : facts_(std::move(facts)) {}
  virtual ~EventPath() = default;
  EventPath(const EventPath&) = delete;
  EventPath& operator=(const EventPath&) = delete;

  // Whether an event counts was decided at its admission; here it only takes effect. Errors:
  // DATA_LOSS the entry does not fit the model or its state; UNAVAILABLE noise could not be drawn:
  // the state is not to be used any more.
  absl::Status Apply(const Record& record, const Applying& to) const;

  int dimension() const { return facts_.dimension; }
  // Dimension of the sums that are kept for a node: 0 where only its events are counted.
  virtual int statistics_dimension() const {
    return facts_.events->statistics_dimension(facts_.dimension);
  }
  // Statistics of a model without events, by node.
  std::vector<NodeStatistics> NoStatistics() const;

  // The stream's releases so far; nothing where no streams release. A node's stream has its number,
  // a stream over all nodes is 0.
  virtual Released<NodeRelease> ReleaseOf(const ModelState& state, int stream) const;
  virtual int streams(int nodes) const { return nodes; }
  // Ends all streams; what they have released stands.
  virtual void CloseStreams(ModelState&) const {}
  // The parts of a checkpoint that only this path can read: ModelState::central and ::sparse,
  // encoded. Errors: DATA_LOSS; FAILED_PRECONDITION of another design.
  virtual absl::Status RestoreCentral(std::string_view, ModelState&) const;
  virtual absl::Status RestoreSparse(std::string_view, ModelState&) const;
  // As above for ModelState::effects; a state that comes from no checkpoint begins. Errors:
  // DATA_LOSS; INVALID_ARGUMENT the model's options.
  absl::Status RestoreEffects(std::string_view effects, ModelState& state) const {
    return facts_.events->Restore(effects, state);
  }
  absl::Status Begin(ModelState& state) const {
    BeginNotes(state);
    return facts_.events->Begin(state);
  }
  // As above for ModelState::notes. Errors: DATA_LOSS.
  absl::Status RestoreNotes(std::string_view notes, ModelState& state) const;
  // Lets what was applied take effect while nobody reads the model.
  void Settle(ModelState& state) const { facts_.events->Settle(state); }
  // The reports of the decisions that are open, as far as a copy of the model has them: what `read`
  // gives, or nothing where it is private. Errors: those of `read`.
  virtual absl::StatusOr<WindowValues> ReportsToCopy(
      absl::FunctionRef<absl::StatusOr<WindowValues>()> read) const;
  // Makes it the state of a copy, in an epoch of its own without streams and windows. Context
  // reports name an epoch only: in the copy's they are foreign, and none counts in both. Requires
  // that the streams are restored. `reported`: ReportsToCopy. Errors: DATA_LOSS an open window has
  // not the shape of the model.
  virtual absl::Status BeginCopy(const WindowValues& reported, ModelState& state,
                                 std::vector<NodeStatistics>& statistics) const;

  // The entry that must stand before the first event, encoded, where the state lacks it. Errors: as
  // ShapeOf.
  virtual absl::StatusOr<std::optional<std::string>> Opening(const ModelSpec& spec,
                                                             const ModelState& state) const;
  // Why the graph may not be replaced.
  virtual absl::Status CheckGraphChange(std::string_view model) const;

  // The learner of the model, at `state`, whose statistics (those of its contexts, with a counter)
  // are given by node. Its posterior holds everything that is applied. `spec` and the path must
  // outlive it. Errors: DATA_LOSS statistics that no events can have.
  virtual absl::StatusOr<std::unique_ptr<Learner>> MakeLearner(
      const ModelSpec& spec, const ModelState& state,
      std::vector<NodeStatistics> statistics) const = 0;

  // Who pays for what the model releases.
  const std::shared_ptr<const DebitPolicy>& debits() const { return facts_.debits; }
  // The cost of one event where nothing is debited; nullopt: nothing is promised..
  const std::optional<PrivacyCost>& event_cost() const { return facts_.event_cost; }
  // zCDP cost of a stream; nullopt: there are no streams.
  const std::optional<Rho>& stream_cost() const { return facts_.stream_cost; }

  // The server sees raw values and draws the noise: entries go as soon as a checkpoint covers them.
  virtual bool draws_noise() const { return false; }
  // Comes before anything is shown that the entries so far have changed. Where the server draws the
  // noise, `persist` makes their position durable first. Errors: those of `persist`.
  virtual absl::Status BeforeShown(absl::FunctionRef<absl::Status()> persist) const;
  // The key that seals the cells of open decisions of this instance; nullopt for models that keep
  // no rewards secret. Errors: UNAVAILABLE the cipher failed.
  virtual absl::StatusOr<std::optional<CellKey>> MakeCellKey() const;
  // 32 hex digits that only this key gives for this instance; "" without a key.
  virtual absl::StatusOr<std::string> KeyFingerprint() const { return std::string(); }

  // Says which steps of a device's stream its release covers; nullptr: each step by itself.
  virtual const CounterDesign* device_counter() const { return nullptr; }

  // The node that an entry names, made for a user who is seen first. Errors: DATA_LOSS there is no
  // such node; RESOURCE_EXHAUSTED.
  absl::StatusOr<int> NodeOf(std::int32_t node, std::string_view user, const Applying& to) const;

 protected:
  const RewardEvents& events() const { return *facts_.events; }
  virtual absl::Status TakeDecision(const DecisionRecord&, const Applying&) const;
  virtual absl::Status TakeOutcome(const OutcomeRecord&, const Applying&) const;
  virtual absl::Status TakeClose(const CloseRecord&, const Applying&) const;
  virtual absl::Status TakeShown(const ShownRecord&, const Applying&) const;
  virtual absl::Status TakeCounter(const CounterRecord&, const Applying&) const;
  virtual absl::Status TakeContext(const ContextRecord&, const Applying&) const;
  virtual absl::Status TakeShape(const ShapeRecord&, const Applying&) const;
  // Events before it have faded up to the step.
  virtual absl::Status Fade(std::uint64_t steps, EventSink&) const;

 private:
  struct Taker;
  absl::Status TakeGraph(const GraphRecord&, const Applying&) const;
  absl::Status TakeEpoch(const EpochRecord&, const Applying&) const;
  absl::Status TakeDelete(const DeleteRecord&, const Applying&) const;
  absl::Status ForgetNode(int node, const Applying&) const;
  absl::Status TakeFade(const FadeRecord&, const Applying&) const;
  void BeginNotes(ModelState& state) const;

  const PathFacts facts_;
};

// The error of a path for an entry that models of its kind do not have: of `kind`, with its
// article.
absl::Status NoSuchEntry(std::string_view kind);

}  // namespace bandana
