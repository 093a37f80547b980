#include "tools/audit/transcript/mutants.h"

#include <set>
#include <utility>

#include "tools/audit/transcript/forwarded_model.h"

namespace bandana::audit {
namespace {

using device::EventMechanism;
using device::Payment;
using device::ReportRow;
using device::ReportState;
using device::SecretBytes;
using device::Store;
using server::HostedModel;

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

template <typename Model>
std::unique_ptr<HostedModel> Wrap(std::unique_ptr<HostedModel> model) {
  return std::make_unique<Model>(std::move(model));
}

std::vector<Mutant> MakeMutants() {
  return {
      {.name = "c1-central-log-grows",
       .description = "server: a report inside a window is an entry of the log",
       .wrap = Wrap<LogGrows>},
      {.name = "c2-shown-with-reaction",
       .description = "device: a reaction changes the rank that the report names",
       .on_reaction = ShowWithReaction},
      {.name = "c3-epoch-of-reaction",
       .description = "device: a report carries the epoch in which its reaction came",
       .on_reaction = EpochOfReaction},
      {.name = "c4-draw-at-reaction",
       .description = "device: a report is drawn when its reaction comes",
       .on_reaction = DrawAtReaction},
      {.name = "m1-reactions-leave-first",
       .description = "device: among overdue decisions those with a reaction leave first",
       .on_reaction = LeaveFirst},
      {.name = "cell-of-another-size",
       .description = "device: the row of a decision grows with its reaction",
       .on_reaction = LargerCell},
      {.name = "row-set-aside",
       .description = "device: a decision with a reaction ends without a report",
       .on_reaction = SetAside},
      {.name = "mark-at-reaction",
       .description = "device: the store remembers a reaction in a row of its own",
       .on_reaction = MarkAtReaction},
      {.name = "stats-count-reports",
       .description = "server: statistics, metrics and page count reports of open windows",
       .wrap = Wrap<StatsCountReports>},
      {.name = "ledger-counts-reports",
       .description = "server: the ledger counts an event when its report comes",
       .wrap = Wrap<LedgerCountsReports>},
      {.name = "stats-count-clipped",
       .description = "server: statistics count rewards that were out of range",
       .wrap = Wrap<StatsCountClipped>},
      {.name = "deletion-counts-reports",
       .description = "server: a deletion says how many reports open windows hold",
       .wrap = Wrap<DeletionCountsReports>},
      {.name = "says-duplicate",
       .description = "server: the second report of a decision is answered otherwise",
       .wrap = Wrap<SaysDuplicate>},
      {.name = "queue-shows-reports",
       .description = "server: the gauge of the log's queue counts reports",
       .wrap = Wrap<QueueShowsReports>},
      {.name = "calls-are-counted",
       .description = "server: metrics count calls of Report that must stay unnoticed",
       .observes_hushed_calls = true},
      {.name = "alias-calls-are-counted",
       .description = "server: the same of calls that name an alias alone",
       .observes_calls_by_alias = true},
  };
}

}  // namespace

const std::vector<Mutant>& Mutants() {
  static const auto& all = *new std::vector<Mutant>(MakeMutants());
  return all;
}

const Mutant* FindMutant(std::string_view name) {
  for (const Mutant& mutant : Mutants()) {
    if (mutant.name == name) return &mutant;
  }
  return nullptr;
}

}  // namespace bandana::audit
