// The part of a served model that is alike whether this server owns it or follows its owner: what
// the log has made of it, and the counts of this server.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/model/entries/counters.h"
#include "common/model/entries/user_index.h"
#include "common/model/state/event_path.h"
#include "common/promise/mode.h"
#include "server/decisions/decision_log.h"
#include "server/log/state/state_store.h"
#include "server/models/admission/apprentice.h"
#include "server/models/admission/decision_numbers.h"
#include "server/models/admission/open_counts.h"
#include "server/models/admission/sent_names.h"
#include "server/models/admission/value_counts.h"
#include "server/models/apply_loop.h"
#include "server/models/catalogue/arm_catalogue.h"
#include "server/models/decision_answers.h"
#include "server/models/decision_logging.h"
#include "server/models/folder/recovery.h"
#include "server/models/hosted_model.h"
#include "server/models/learnt_rewards.h"
#include "server/models/lift.h"
#include "server/models/log_clock.h"
#include "server/models/model_stats.h"

namespace bandana::server {

// `Interface`: ServedModel, or HostedModel. Whoever is one ends the loop before its log goes.
template <typename Interface>
class LogModel : public Interface {
 public:
  const ModelSpec& spec() const override { return spec_; }
  const Sha256Digest& policy() const override { return policy_; }
  const InstanceId& instance() const override { return instance_; }
  std::vector<ReleasedBy> Released() const override { return loop_->released(); }
  absl::Time TimeAt(absl::Time /*now*/) const override { return clock_.Now(); }
  std::shared_ptr<const ServedPosterior> posterior() const override { return loop_->posterior(); }
  std::shared_ptr<const Catalogue> catalogue() const override { return arms_->catalogue(); }
  std::shared_ptr<const SeenArms> seen() const override { return arm_notes_.seen; }
  std::shared_ptr<const ArmEventCounts> arm_events() const override { return arm_notes_.events; }
  void NumberDecision(DecisionId& id) override { numbers_->Put(id); }
  void LogDecision(const StoredDecision& decision, std::string_view user) override {
    if (decisions_ == nullptr) return;
    std::string bytes;
    bytes.reserve(512);
    EncodeDecision(decision, bytes);
    if (lift_ != nullptr) lift_->Decided(decision, bytes);
    decisions_->Add(std::move(bytes), user, decision.deferred);
  }
  absl::StatusOr<LoggedModel::DecisionFiles> ExportDecisions(
      const DecisionExport::Range& range) override {
    return ReadDecisions().Files(range);
  }
  absl::StatusOr<PartAnswer> AnswerPart(const PartQuestion& question) override {
    return ReadDecisions().Answer(question, *loop_);
  }
  absl::Status FollowDeletions() override {
    return part_ == nullptr ? absl::OkStatus() : part_->CatchUp().status();
  }
  void CountBaseline(bool agreed) override { apprentice_.Decided(agreed); }
  void NoteName(EffectKey key, std::string_view name) override { sent_names_.Note(key, name); }
  void CountChoice(std::optional<bool> explored) override { choices_.Decided(explored); }
  void CountRejected(v1::OutcomeCode code, v1::RejectReason reason, std::uint64_t count) override {
    counts_.Rejected(code, reason, count);
  }
  void CountVectors(std::uint64_t arms, std::uint64_t clipped) override {
    if (clipped > 0) counts_.FeaturesClipped(clipped);
    if (values_.AddRaw(arms, clipped)) warn_(ClippedText(spec_));
  }
  void CountValues(std::span<const FieldCount> counts) override { values_.Add(counts); }
  absl::Status CheckUpdate(const ModelSpec& spec) const override {
    return CheckStored(*state_, spec);
  }

 protected:
  LogModel(ModelSpec spec, std::string folder, const Clock& clock,
           const HostedModelOptions& options)
      : spec_(std::move(spec)),
        folder_(std::move(folder)),
        clock_(clock, options.clock_ahead_max),
        warn_(options.warn ? options.warn : [](const std::string&) {}) {}

  // `freed_before`: keys, by entries that were replayed.
  void FillStats(const LogReader& log, std::uint64_t freed_before,
                 v1::GetStatsResponse& stats) const {
    FillCounters(counters_.Get(), stats);
    values_.FillStats(stats);
    FillProgress(*loop_, log, stats);
    stats.set_arms(static_cast<std::uint32_t>(catalogue()->size()));
    FillEffects(spec_, effects_.get(), freed_before, stats);
    FillRefusals(this->Refusals(), stats);
    FillDecisionLog(decisions_.get(), stats);
    FillLift(spec_, lift_.get(), clock_.Now(), *stats.mutable_lift());
    if (auto apprentice = apprentice_.Stats()) {
      *stats.mutable_apprentice() = *std::move(apprentice);
    }
    if (auto choices = choices_.Stats()) *stats.mutable_choices() = *std::move(choices);
  }

  // Opens the decision log of a state in which `applied` entries are, and the lift. `log` as
  // DecisionLogPlace.
  absl::Status OpenDecisions(const LogReader& log, std::uint64_t applied,
                             const HostedModelOptions& options) {
    BANDANA_ASSIGN_OR_RETURN(OpenedDecisions opened,
                             OpenDecisionLog({.spec = spec_,
                                              .folder = folder_,
                                              .instance = instance_,
                                              .log = log,
                                              .applied = applied,
                                              .issuer = numbers_->issuer(),
                                              .now = [this] { return clock_.Now(); }},
                                             options));
    decisions_ = std::move(opened.log);
    part_ = std::move(opened.part);
    lift_ = decisions_ == nullptr ? nullptr : Lift::Of(spec_, FactsOf(spec_, instance_));
    return absl::OkStatus();
  }
  // ApplyLoop::Hooks::applied; null where nothing is kept.
  std::function<void(std::span<const LogEntry>)> RewardHook() {
    if (decisions_ == nullptr) return nullptr;
    return [this](std::span<const LogEntry> entries) {
      if (entries.empty()) return;
      const RowRule rule{.dimension = spec_.public_spec.dimension,
                         .openings = decisions_->deferred(),
                         .part = part_.get()};
      std::vector<RewardRow> rows;
      for (const LogEntry& entry : entries) AppendRows(entry, rule, rows);
      decisions_->AddRewards(rows, entries.back().position.sequence);
      if (lift_ != nullptr) lift_->Rewarded(rows, clock_.Now());
    };
  }
  // Another object may open the folder on return.
  void CloseDecisions() {
    if (part_ != nullptr) part_->Close();
    if (decisions_ != nullptr) decisions_->Close();
  }
  DecisionAnswers ReadDecisions() {
    return DecisionAnswers(spec_, instance_, decisions_.get(), part_.get(), clock_);
  }

  const ModelSpec spec_;
  const Sha256Digest policy_{spec_.public_spec.PolicyHash()};
  const std::string folder_;
  LogClock clock_;
  const WarningSink warn_;

  InstanceId instance_{};
  std::unique_ptr<const EventPath> path_;
  std::shared_ptr<StateStore> state_;
  UserIndex users_;
  Counters counters_;
  OpenCounts counts_{spec_, counters_};
  ValueCounts values_{spec_.public_spec};
  Apprentice apprentice_{spec_, clock_.Now()};
  ChoiceCounts choices_{!IsPrivateMode(spec_.public_spec.mode)};
  SentNames sent_names_{!HidesContexts(spec_.public_spec.mode)};
  std::unique_ptr<ArmCatalogue> arms_;
  std::shared_ptr<const EffectsPosterior> effects_;  // of models of effects
  ArmNotes::Parts arm_notes_;
  std::unique_ptr<DecisionNumbers> numbers_;
  std::unique_ptr<DecisionLog> decisions_;  // null: the model keeps none
  std::unique_ptr<DecisionPart> part_;      // null: all of it is here
  std::unique_ptr<Lift> lift_;              // null: it can show none
  std::unique_ptr<ApplyLoop> loop_;
};

}  // namespace bandana::server
