#include "tools/audit/transcript/mutants.h"

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bandana/v1/recommender.pb.h"
#include "common/base/sha256.h"
#include "server/service/access/capability.h"
#include "tools/audit/transcript/forwarded_handlers.h"
#include "tools/audit/transcript/forwarded_model.h"
#include "tools/audit/transcript/listeners.h"

namespace bandana::audit {
namespace {

using device::EventMechanism;
using device::Payment;
using device::ReportRow;
using device::ReportState;
using device::SecretBytes;
using device::Store;
using server::HostedModel;

// A name that can be guessed, in the form that is asked for where contexts are private.
std::string InForm(const std::string& name) {
  if (name.empty() || name.size() >= server::kCapabilityBytesMin) return name;
  return absl::StrCat("a-name-of-any-form-Zk4q9-", name);
}

// Any name is taken for a decision, also where contexts are private.
class TakesPlainNames final : public ForwardedHandlers {
 public:
  using ForwardedHandlers::ForwardedHandlers;
  absl::Status Select(const v1::SelectRequest& request, v1::SelectResponse& response) override {
    v1::SelectRequest named = request;
    named.set_decision_id(InForm(request.decision_id()));
    return ForwardedHandlers::Select(named, response);
  }
  void Report(const v1::ReportRequest& request, v1::ReportResponse& response,
              server::Finish finish) override {
    const auto named = std::make_shared<v1::ReportRequest>(request);
    for (v1::Outcome& outcome : *named->mutable_outcomes()) {
      outcome.set_decision_id(InForm(outcome.decision_id()));
    }
    ForwardedHandlers::Report(
        *named, response,
        [named, finish = std::move(finish)](absl::Status status) { finish(std::move(status)); });
  }
  void Activate(const v1::ActivateRequest& request, v1::ActivateResponse& response,
                server::Finish finish) override {
    const auto named = std::make_shared<v1::ActivateRequest>(request);
    for (std::string& name : *named->mutable_decision_ids()) name = InForm(name);
    ForwardedHandlers::Activate(
        *named, response,
        [named, finish = std::move(finish)](absl::Status status) { finish(std::move(status)); });
  }
};

std::unique_ptr<server::Handlers> AnyNameIsTaken(server::Handlers& to, const ListenerOfMutant&) {
  return std::make_unique<TakesPlainNames>(to);
}

std::vector<Mutant> CallerMutants() {
  return {
      {.name = "reports-share-the-rate",
       .description = "server: calls of Report take from the rate that selections have",
       .seeds = 504,
       .reports_share_rate = true},
      {.name = "spans-tell-reports",
       .description = "server: traces have spans of calls of Report that must stay unnoticed",
       .seeds = 60,
       .spans_tell_reports = true},
      {.name = "plain-names-are-taken",
       .description = "server: where contexts are private decisions have names that can be guessed",
       .seeds = 168,
       .wrap_handlers = AnyNameIsTaken},
  };
}

void ShowWithReaction(Store::Transaction&, ReportRow& row, const EventMechanism&, std::uint64_t) {
  ++row.opening.shown;
}

void EpochOfReaction(Store::Transaction&, ReportRow& row, const EventMechanism&,
                     std::uint64_t epoch) {
  row.opening.epoch = epoch;
}

// As before the windows had one path: the report is drawn with the reaction, and leaves when it is
// due even if nothing may be drawn by then.
void DrawAtReaction(Store::Transaction& transaction, ReportRow& row,
                    const EventMechanism& mechanism, std::uint64_t) {
  if (!row.token.empty() && !row.features.empty()) return;  // counters always stepped when due
  SecretBytes held = std::move(row.opening.held);
  row.state = ReportState::kReady;
  const auto step = mechanism.Release(transaction, row, held,
                                      {.payment = Payment::kDebited,
                                       .now = row.opening.close,
                                       .forget_at = row.opening.close + absl::Hours(48)});
  if (step.ok() && *step == device::Release::kDone) return;
  row.state = ReportState::kOpen;
  row.opening.held = std::move(held);
}

// Among overdue decisions those with a reaction come before the others.
void LeaveFirst(Store::Transaction&, ReportRow& row, const EventMechanism&, std::uint64_t) {
  row.wake_at = row.opening.close;
}

void LargerCell(Store::Transaction&, ReportRow& row, const EventMechanism&, std::uint64_t) {
  row.report = "reacted";
}

void SetAside(Store::Transaction&, ReportRow& row, const EventMechanism&, std::uint64_t) {
  row.state = ReportState::kOutbound;
}

void MarkAtReaction(Store::Transaction& transaction, ReportRow& row, const EventMechanism&,
                    std::uint64_t) {
  transaction.tables.MarkDrawn(row.number + 1'000'000, row.opening.close);
}

// Reports that reach the model in an open window, that is, reactions.
std::uint64_t Reactions(const HostedModel& model, const std::vector<ReportedOutcome>& outcomes) {
  return model.spec().public_spec.reward_window ? outcomes.size() : 0;
}

// A report has an entry of the log: every number that counts entries counts reactions.
class LogGrows final : public ForwardedModel {
 public:
  using ForwardedModel::ForwardedModel;
  void Report(std::vector<ReportedOutcome> outcomes, server::ReportDone done) override {
    if (Reactions(*this, outcomes) > 0) {
      Decision entry = outcomes.front().decision;
      for (std::byte& byte : entry.id) byte ^= std::byte{0x5a};
      RecordDecision(entry).IgnoreError();  // the second report of a decision finds it open
    }
    ForwardedModel::Report(std::move(outcomes), std::move(done));
  }
};

class StatsCountReports final : public ForwardedModel {
 public:
  using ForwardedModel::ForwardedModel;
  void Report(std::vector<ReportedOutcome> outcomes, server::ReportDone done) override {
    reports_ += Reactions(*this, outcomes);
    ForwardedModel::Report(std::move(outcomes), std::move(done));
  }
  v1::GetStatsResponse Stats() const override {
    v1::GetStatsResponse stats = ForwardedModel::Stats();
    stats.set_reports_applied(stats.reports_applied() + reports_);
    return stats;
  }

 private:
  std::uint64_t reports_ = 0;
};

class MeanCountsReports final : public ForwardedModel {
 public:
  using ForwardedModel::ForwardedModel;
  void Report(std::vector<ReportedOutcome> outcomes, server::ReportDone done) override {
    reports_ += Reactions(*this, outcomes);
    ForwardedModel::Report(std::move(outcomes), std::move(done));
  }
  std::optional<server::RewardSums> learnt_rewards() const override {
    if (reports_ == 0) return ForwardedModel::learnt_rewards();
    return server::RewardSums{.count = reports_, .above_min = static_cast<double>(reports_)};
  }

 private:
  std::uint64_t reports_ = 0;
};

class LedgerCountsReports final : public ForwardedModel {
 public:
  using ForwardedModel::ForwardedModel;
  void Report(std::vector<ReportedOutcome> outcomes, server::ReportDone done) override {
    reports_ += Reactions(*this, outcomes);
    ForwardedModel::Report(std::move(outcomes), std::move(done));
  }
  v1::GetLedgerResponse Ledger() const override {
    v1::GetLedgerResponse ledger = ForwardedModel::Ledger();
    ledger.set_events(ledger.events() + reports_);
    return ledger;
  }

 private:
  std::uint64_t reports_ = 0;
};

// The answer to a deletion says how many reports were held of whoever is deleted.
class DeletionCountsReports final : public ForwardedModel {
 public:
  using ForwardedModel::ForwardedModel;
  void Report(std::vector<ReportedOutcome> outcomes, server::ReportDone done) override {
    reports_ += Reactions(*this, outcomes);
    ForwardedModel::Report(std::move(outcomes), std::move(done));
  }
  absl::StatusOr<v1::DeleteUsersResponse> DeleteUsers(std::span<const std::string> ids) override {
    auto response = ForwardedModel::DeleteUsers(ids);
    if (response.ok()) response->set_deleted(response->deleted() + reports_);
    return response;
  }

 private:
  std::uint32_t reports_ = 0;
};

// A repeat tells whether a report came before it.
class SaysDuplicate final : public ForwardedModel {
 public:
  using ForwardedModel::ForwardedModel;
  void Report(std::vector<ReportedOutcome> outcomes, server::ReportDone done) override {
    std::vector<bool> before;
    before.reserve(outcomes.size());
    for (const auto& outcome : outcomes)
      before.push_back(!seen_.insert(outcome.decision.id).second);
    ForwardedModel::Report(std::move(outcomes),
                           [before = std::move(before), done = std::move(done)](auto results) {
                             for (std::size_t i = 0; results.ok() && i < before.size(); ++i) {
                               if (before[i] && (*results)[i].code == v1::APPLIED)
                                 (*results)[i].code = v1::DUPLICATE;
                             }
                             done(std::move(results));
                           });
  }

 private:
  std::set<DecisionId> seen_;
};

// How often rewards had to be clipped is a function of rewards.
class StatsCountClipped final : public ForwardedModel {
 public:
  using ForwardedModel::ForwardedModel;
  void Report(std::vector<ReportedOutcome> outcomes, server::ReportDone done) override {
    for (const auto& outcome : outcomes) {
      if (outcome.reward && *outcome.reward > spec().public_spec.reward_range.max) ++clipped_;
    }
    ForwardedModel::Report(std::move(outcomes), std::move(done));
  }
  v1::GetStatsResponse Stats() const override {
    v1::GetStatsResponse stats = ForwardedModel::Stats();
    stats.set_rewards_clipped(stats.rewards_clipped() + clipped_);
    return stats;
  }

 private:
  std::uint64_t clipped_ = 0;
};

// Who waits for the disk is told of a report.
class QueueShowsReports final : public ForwardedModel {
 public:
  using ForwardedModel::ForwardedModel;
  void Report(std::vector<ReportedOutcome> outcomes, server::ReportDone done) override {
    reports_ += static_cast<int>(Reactions(*this, outcomes));
    ForwardedModel::Report(std::move(outcomes), std::move(done));
  }
  int log_queue() const override { return ForwardedModel::log_queue() + reports_ % 7; }

 private:
  int reports_ = 0;
};

// Statistics count feature vectors that were scaled, where contexts are private as well.
class CountsClippedContexts final : public ForwardedModel {
 public:
  using ForwardedModel::ForwardedModel;
  void CountVectors(std::uint64_t arms, std::uint64_t clipped) override {
    clipped_ += clipped;
    ForwardedModel::CountVectors(arms, clipped);
  }
  v1::GetStatsResponse Stats() const override {
    v1::GetStatsResponse stats = ForwardedModel::Stats();
    stats.set_features_clipped(stats.features_clipped() + clipped_);
    return stats;
  }

 private:
  std::uint64_t clipped_ = 0;
};

// A model that keeps the arms that users were shown offers a rewarded one no more, to anybody.
class ExcludesRewarded final : public ForwardedModel {
 public:
  using ForwardedModel::ForwardedModel;
  void Report(std::vector<ReportedOutcome> outcomes, server::ReportDone done) override {
    if (Reactions(*this, outcomes) > 0) {
      for (const auto& outcome : outcomes) Exclude(outcome);
    }
    ForwardedModel::Report(std::move(outcomes), std::move(done));
  }
  std::shared_ptr<const server::Catalogue> catalogue() const override {
    const auto all = ForwardedModel::catalogue();
    const bool keeps = spec().effects && spec().effects->seen;
    return keeps && !rewarded_.empty() ? all->With({}, rewarded_) : all;
  }

 private:
  void Exclude(const ReportedOutcome& outcome) {
    const SealedArm* const arm = ArmOfRank(outcome.decision, outcome.shown);
    if (arm == nullptr || outcome.reward.value_or(0) <= spec().public_spec.reward_range.min) return;
    for (const EffectKey key : arm->keys) {
      if (const auto id = ArmIdOf(key)) rewarded_.push_back(*id);
    }
  }
  std::vector<std::uint32_t> rewarded_;
};

class WarnsPerReport final : public ForwardedModel {
 public:
  WarnsPerReport(std::unique_ptr<HostedModel> model, WarnLine warn)
      : ForwardedModel(std::move(model)), warn_(std::move(warn)) {}
  void Report(std::vector<ReportedOutcome> outcomes, server::ReportDone done) override {
    for (std::uint64_t i = Reactions(*this, outcomes); i > 0; --i) warn_("a report came");
    ForwardedModel::Report(std::move(outcomes), std::move(done));
  }

 private:
  const WarnLine warn_;
};

// Reports that must stay unnoticed are counted and logged like other calls.
class RecordsReports final : public ForwardedHandlers {
 public:
  using ForwardedHandlers::ForwardedHandlers;
  bool KeepsReportsUnrecorded(std::string_view) override { return false; }
  bool KeepsCallUnrecorded(std::string_view, std::string_view) override { return false; }
};
// As above, for reports that name an alias.
class RecordsAliasedReports final : public ForwardedHandlers {
 public:
  RecordsAliasedReports(server::Handlers& to, const server::ModelRegistry& models)
      : ForwardedHandlers(to), models_(models) {}
  bool KeepsReportsUnrecorded(std::string_view name) override {
    return models_.FindAlias(name) == nullptr && ForwardedHandlers::KeepsReportsUnrecorded(name);
  }
  bool KeepsCallUnrecorded(std::string_view name, std::string_view policy_hash) override {
    return models_.FindAlias(name) == nullptr &&
           ForwardedHandlers::KeepsCallUnrecorded(name, policy_hash);
  }

 private:
  const server::ModelRegistry& models_;
};

// Metrics count each reward as a selection.
class CountsRewardsAsSelections final : public ForwardedHandlers {
 public:
  CountsRewardsAsSelections(server::Handlers& to, server::CallObserver& observer)
      : ForwardedHandlers(to), observer_(observer) {}
  void Report(const v1::ReportRequest& request, v1::ReportResponse& response,
              server::Finish finish) override {
    observer_.OnCall(server::RpcNamed("bandana.v1.Recommender/Select"), 0, absl::ZeroDuration());
    ForwardedHandlers::Report(request, response, std::move(finish));
  }

 private:
  server::CallObserver& observer_;
};

// A policy's text is no function of the model alone: it says how many reports came.
class TextCountsReports final : public ForwardedHandlers {
 public:
  using ForwardedHandlers::ForwardedHandlers;
  absl::Status GetModel(const v1::GetModelRequest& request,
                        v1::GetModelResponse& response) override {
    const absl::Status status = ForwardedHandlers::GetModel(request, response);
    if (reports_ > 0) absl::StrAppend(response.mutable_policy_text(), reports_);
    return status;
  }
  void Report(const v1::ReportRequest& request, v1::ReportResponse& response,
              server::Finish finish) override {
    ++reports_;
    ForwardedHandlers::Report(request, response, std::move(finish));
  }

 private:
  int reports_ = 0;
};

std::unique_ptr<server::Handlers> TextsCountReports(server::Handlers& to, const ListenerOfMutant&) {
  return std::make_unique<TextCountsReports>(to);
}
std::unique_ptr<server::Handlers> AllListenersRecord(server::Handlers& to,
                                                     const ListenerOfMutant&) {
  return std::make_unique<RecordsReports>(to);
}
std::unique_ptr<server::Handlers> AliasesAreRecorded(server::Handlers& to,
                                                     const ListenerOfMutant& at) {
  return std::make_unique<RecordsAliasedReports>(to, at.models);
}
std::unique_ptr<server::Handlers> GrpcRecords(server::Handlers& to, const ListenerOfMutant& at) {
  if (at.api != CallerApi::kGrpc) return nullptr;
  return std::make_unique<RecordsReports>(to);
}
std::unique_ptr<server::Handlers> FaceCountsRewards(server::Handlers& to,
                                                    const ListenerOfMutant& at) {
  if (at.api != CallerApi::kPersonalizer) return nullptr;
  return std::make_unique<CountsRewardsAsSelections>(to, at.observer);
}

// A report's id is no random number.
void IdOfFeatures(std::string_view features, ReportRow& row) {
  v1::ContextReport report;
  if (!report.ParseFromString(row.report)) return;
  const Sha256Digest digest = Sha256Of(features);
  report.set_report_id(digest.data(), report.report_id().size());
  row.report = report.SerializeAsString();
}

template <typename Model>
std::unique_ptr<HostedModel> Wrap(std::unique_ptr<HostedModel> model, const WarnLine&) {
  return std::make_unique<Model>(std::move(model));
}
std::unique_ptr<HostedModel> WrapWarning(std::unique_ptr<HostedModel> model, const WarnLine& warn) {
  return std::make_unique<WarnsPerReport>(std::move(model), warn);
}

std::vector<Mutant> MakeMutants() {
  return {
      {.name = "c1-central-log-grows",
       .description = "server: a report inside a window is an entry of the log",
       .seeds = 60,
       .wrap = Wrap<LogGrows>},
      {.name = "c2-shown-with-reaction",
       .description = "device: a reaction changes the rank that the report names",
       .seeds = 30,
       .on_reaction = ShowWithReaction},
      {.name = "c3-epoch-of-reaction",
       .description = "device: a report carries the epoch in which its reaction came",
       .seeds = 30,
       .on_reaction = EpochOfReaction},
      {.name = "c4-draw-at-reaction",
       .description = "device: a report is drawn when its reaction comes",
       .seeds = 30,
       .on_reaction = DrawAtReaction},
      {.name = "m1-reactions-leave-first",
       .description = "device: among overdue decisions those with a reaction leave first",
       .seeds = 30,
       .on_reaction = LeaveFirst},
      {.name = "cell-of-another-size",
       .description = "device: the row of a decision grows with its reaction",
       .seeds = 30,
       .on_reaction = LargerCell},
      {.name = "row-set-aside",
       .description = "device: a decision with a reaction ends without a report",
       .seeds = 30,
       .on_reaction = SetAside},
      {.name = "mark-at-reaction",
       .description = "device: the store remembers a reaction in a row of its own",
       .seeds = 30,
       .on_reaction = MarkAtReaction},
      {.name = "stats-count-reports",
       .description = "server: statistics, metrics and page count reports of open windows",
       .seeds = 60,
       .wrap = Wrap<StatsCountReports>},
      {.name = "mean-counts-reports",
       .description = "server: metrics and page have a mean of reported rewards of open windows",
       .seeds = 60,
       .wrap = Wrap<MeanCountsReports>},
      {.name = "ledger-counts-reports",
       .description = "server: the ledger counts an event when its report comes",
       .seeds = 60,
       .wrap = Wrap<LedgerCountsReports>},
      {.name = "stats-count-clipped",
       .description = "server: statistics count rewards that were out of range",
       .seeds = 60,
       .wrap = Wrap<StatsCountClipped>},
      {.name = "deletion-counts-reports",
       .description = "server: a deletion says how many reports open windows hold",
       .seeds = 840,
       .wrap = Wrap<DeletionCountsReports>},
      {.name = "says-duplicate",
       .description = "server: the second report of a decision is answered otherwise",
       .seeds = 168,
       .wrap = Wrap<SaysDuplicate>},
      {.name = "queue-shows-reports",
       .description = "server: the gauge of the log's queue counts reports",
       .seeds = 60,
       .wrap = Wrap<QueueShowsReports>},
      {.name = "rewarded-are-excluded",
       .description = "server: an arm that a user was rewarded for is excluded",
       .seeds = 1680,
       .wrap = Wrap<ExcludesRewarded>},
      {.name = "text-counts-reports",
       .description = "server: the text of a policy counts calls of Report",
       .seeds = 60,
       .wrap_handlers = TextsCountReports},
      {.name = "calls-are-counted",
       .description = "server: metrics count calls of Report that must stay unnoticed",
       .seeds = 60,
       .wrap_handlers = AllListenersRecord},
      {.name = "alias-calls-are-counted",
       .description = "server: the same of calls that name an alias alone",
       .seeds = 504,
       .wrap_handlers = AliasesAreRecorded},
      {.name = "grpc-never-hushes",
       .description = "server: the same of the gRPC listener alone",
       .seeds = 60,
       .wrap_handlers = GrpcRecords},
      {.name = "reward-is-a-selection",
       .description = "server: metrics count a reward of Personalizer's as a selection",
       .seeds = 840,
       .wrap_handlers = FaceCountsRewards},
      {.name = "line-per-report",
       .description = "server: the log has a line for each report of an open window",
       .seeds = 60,
       .wrap = WrapWarning},
      {.name = "book-counts-reports",
       .description = "server: the gauge of named decisions counts reports of them",
       .seeds = 336,
       .view =
           [](const Traffic& traffic, server::ServerView& view) {
             view.named_decisions.ids += traffic.reports_by_name;
           }},
      {.name = "clipped-contexts",
       .description = "server: statistics count clipped features where contexts are private",
       .seeds = 168,
       .wrap = Wrap<CountsClippedContexts>},
      {.name = "id-of-features",
       .description = "device: a report's id is a digest of the features",
       .seeds = 168,
       .on_draw = IdOfFeatures},
      {.name = "leaves-when-due",
       .description = "device: a report leaves when it is due, if the process still lives",
       .seeds = 672,
       .leaves_when_due = true},
      {.name = "activates-at-reaction",
       .description = "device: the server hears that a decision is shown when its reaction comes",
       .seeds = 336,
       .activates_at_reaction = true},
  };
}

}  // namespace

const std::vector<Mutant>& Mutants() {
  static const auto& all = *new std::vector<Mutant>([] {
    std::vector<Mutant> mutants = MakeMutants();
    for (Mutant& mutant : CallerMutants()) mutants.push_back(std::move(mutant));
    return mutants;
  }());
  return all;
}

const Mutant* FindMutant(std::string_view name) {
  for (const Mutant& mutant : Mutants()) {
    if (mutant.name == name) return &mutant;
  }
  return nullptr;
}

}  // namespace bandana::audit
