// A model as any server of a store has it, owned or followed: decisions are answered from it, and
// its state can be read. Everything here is transport-free.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bandana/v1/admin.pb.h"
#include "bandana/v1/recommender.pb.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/decisions/stored_decision.h"
#include "common/design/model_spec.h"
#include "common/features/value_log.h"
#include "common/model/entries/decision.h"
#include "common/model/state/arm_notes.h"
#include "common/ranking/effect_key.h"
#include "common/ranking/served_posterior.h"
#include "server/decisions/decision_export.h"
#include "server/models/admission/budget_use.h"
#include "server/models/admission/refusals.h"
#include "server/models/admission/report_totals.h"
#include "server/models/catalogue/catalogue.h"
#include "server/models/learnt_rewards.h"
#include "server/models/replicas/part_question.h"
#include "server/models/replicas/standing.h"

namespace bandana::server {

class HostedModel;

// Takes the slots of a decision, to be recorded by the model's owner at this address.
using HandDecision = std::function<void(const std::string& owner, const PublicSpec& model,
                                        std::span<const Decision> slots)>;

// Whether what ObservedModel::Health says is no reason to open the model anew.
inline bool Passes(const absl::Status& health) {
  return absl::IsResourceExhausted(health) || absl::IsUnknown(health) || absl::IsAborted(health);
}

// Answers decisions, from published snapshots: it waits for nobody's work. Threads: all methods are
// safe.
class SelectingModel {
 public:
  virtual ~SelectingModel() = default;

  virtual const ModelSpec& spec() const = 0;
  // The hash of its public promises (PublicSpec::PolicyHash).
  virtual const Sha256Digest& policy() const = 0;
  virtual const std::array<std::byte, 16>& instance() const = 0;
  virtual std::uint64_t epoch() const = 0;
  // The model's time, by which its decisions are stamped and judged, where the server's clock says
  // `now`: LogClock.
  virtual absl::Time TimeAt(absl::Time now) const { return now; }
  virtual std::shared_ptr<const ServedPosterior> posterior() const = 0;
  virtual std::shared_ptr<const Catalogue> catalogue() const = 0;

  // The node that serves this user, -1 for an independent user never seen. Errors: INVALID_ARGUMENT
  // on the id's length, NOT_FOUND unknown user of a graph model.
  virtual absl::StatusOr<int> ResolveUser(std::string_view user) const = 0;

  // The parts of this user's key: the user, then the value of each declared group, kAbsent where
  // there is none. Empty for models without effects.
  virtual void UserParts(std::string_view user, std::vector<EffectKey>& out) const = 0;

  // The arms that users were shown, where the model keeps them (EffectsSpec::seen); else null.
  virtual std::shared_ptr<const SeenArms> seen() const { return nullptr; }
  // The events of arms, where the model counts them (EffectsSpec::cold_events); else null.
  virtual std::shared_ptr<const ArmEventCounts> arm_events() const { return nullptr; }

  // Gives a decision its number, where the mode numbers decisions: `id` was drawn at random.
  virtual void NumberDecision(DecisionId& id) = 0;

  // Models whose windows the server closes (reward_window, mode not local): appends the decision,
  // with a cell beside the log that holds the default reward, without waiting for the disk. A
  // decision that the log refuses (user limit, stream exhausted), or loses before it is durable,
  // never becomes an event. Other models that keep the arms that users were shown note them, as far
  // as the log takes it. Others: does nothing. Errors: UNAVAILABLE the log is down, its queue
  // full, or decisions_open_max reached (then Select must fail too, so that no shown decision is
  // lost).
  absl::Status RecordDecision(const Decision& decision) { return RecordSlots({&decision, 1}); }
  // As above for the slots of one decision, at least one, of one user: all of them or none.
  virtual absl::Status RecordSlots(std::span<const Decision> slots) = 0;

  // Models with a decision log: keeps the decision, which was answered with its tokens, of this
  // user, or drops it whole. Waits for nobody. Others: does nothing.
  virtual void LogDecision(const StoredDecision& /*decision*/, std::string_view /*user*/) {}

  // A decision, or slot, with a baseline is shown: whether the model would have chosen the same.
  virtual void CountBaseline(bool agreed) = 0;

  // An arm that the caller sent by name was chosen. Pages show the name; not where contexts are
  // private.
  virtual void NoteName(EffectKey key, std::string_view name) = 0;
  // A decision that is learnt from was answered: whether it explores, where that is known
  // (ChoiceCounts::Decided). Private models count none.
  virtual void CountChoice(std::optional<bool> explored) = 0;

  // Adds outcomes that the service rejected on its own (tokens that do not open) to the statistics;
  // not where reports are hidden (HidesReports).
  virtual void CountRejected(v1::OutcomeCode code, v1::RejectReason reason,
                             std::uint64_t count) = 0;
  // Vectors that the caller of a decision made, and those of them that were scaled; named values,
  // by field of the schema. Nothing of them is counted where contexts are private.
  virtual void CountVectors(std::uint64_t arms, std::uint64_t clipped) = 0;
  virtual void CountValues(std::span<const FieldCount> counts) = 0;
};

// Says how it is. Threads: all methods are safe.
class ObservedModel {
 public:
  virtual ~ObservedModel() = default;

  virtual v1::GetStatsResponse Stats() const = 0;
  // The largest values in a model of effects (ServedPosterior::Look), with names; else nothing.
  virtual std::vector<EffectLook> Look(std::size_t /*count*/) const { return {}; }
  // The rewards that a non-private model was told; a private one keeps none.
  virtual std::optional<RewardTotals> rewards() const { return std::nullopt; }
  // See LearntRewards; nothing where they are not to be told, or none came.
  virtual std::optional<RewardSums> learnt_rewards() const { return std::nullopt; }
  // Where released values lie in their windows; nothing before the first that has one.
  virtual std::optional<WindowPlaces> places() const { return std::nullopt; }
  virtual v1::GetLedgerResponse Ledger() const = 0;
  // See ReportGate::budget.
  virtual std::optional<BudgetUse> Budget() const = 0;
  // OK; one that Passes: reports are refused meanwhile, and selections go on from what was
  // published before (RESOURCE_EXHAUSTED the disk is full, UNKNOWN the log's database does not
  // answer, ABORTED another server owns the model); or why no report will be taken until a restart.
  virtual absl::Status Health() const = 0;
  // Why reports are refused now, Health included; empty while all are taken that should be.
  virtual std::vector<LastingRefusal> Refusals() const = 0;
  // Records that wait for the disk, at most kAppendQueueMax.
  virtual int log_queue() const = 0;
};

// Has a decision log, or this server's part of one. Threads: all methods are safe.
class LoggedModel {
 public:
  virtual ~LoggedModel() = default;

  struct DecisionFiles {
    DecisionExport files;
    absl::Time now;                    // of the model's clock
    std::string server;                // whose part it is; servers that share nothing: the instance
    std::vector<std::string> servers;  // that have parts; none where they share nothing
  };
  // The files of this range at this moment. Errors: FAILED_PRECONDITION the model keeps none;
  // UNAVAILABLE it is not known who was deleted meanwhile.
  virtual absl::StatusOr<DecisionFiles> ExportDecisions(const DecisionExport::Range& range) = 0;
  // Asked by another server. Errors: FAILED_PRECONDITION none is kept here; UNAVAILABLE.
  virtual absl::StatusOr<PartAnswer> AnswerPart(const PartQuestion& /*question*/) {
    return FailedPrecondition("no other server has a part of this decision log");
  }
  // Follows the deletions of other servers. Errors: UNAVAILABLE.
  virtual absl::Status FollowDeletions() { return absl::OkStatus(); }
};

// Threads: all methods are safe.
class ServedModel : public SelectingModel, public ObservedModel, public LoggedModel {
 public:
  // The model with all that its owner can do; null: another server owns it. Then it is for
  // selecting alone, and RecordSlots hands decisions on.
  virtual HostedModel* owned() = 0;
  // Where the owner is reached; empty: nobody owns the model now. Nothing: this server owns it.
  virtual std::optional<std::string> owner() const = 0;
  // The inputs of the noise of its newest releases (Standing::released).
  virtual std::vector<ReleasedBy> Released() const { return {}; }

  // For the registry that keeps the model.

  // Whether a model of `spec` can take the folder over from this one. Errors: INVALID_ARGUMENT
  // naming every field that cannot change; UNAVAILABLE I/O.
  virtual absl::Status CheckUpdate(const ModelSpec& spec) const = 0;
  // Gives the folder up: writes a checkpoint, finishes changes and reports that are under way, and
  // refuses those that come from now on as UNAVAILABLE. The published posterior stays readable, so
  // that selections go on until another model is opened in the folder; RecordDecision fails. Call
  // once.
  virtual void Retire() = 0;
  // Stepped models: does on the caller's thread all that is due by the clock, until nothing is
  // left: transactions, applying, time entries, checkpoints. Calls that wait do it themselves. Work
  // that fails for a full disk is tried once per Step. Others: nothing.
  virtual void Step() {}
};

// Says that the caller must go to the owner: UNAVAILABLE.
inline absl::Status OwnedElsewhere(const ServedModel& model) {
  return Unavailable("another server owns model ", model.spec().public_spec.name,
                     " now; try again");
}

}  // namespace bandana::server
