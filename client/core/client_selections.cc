// A client's selections, and the handle that each one gets.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "client/core/callback.h"
#include "client/core/client_core.h"
#include "client/core/features.h"
#include "client/core/policy.h"
#include "common/base/status.h"
#include "common/promise/mode.h"

namespace bandana::device {
namespace {

void CountValues(const FieldCount& count, Counters& counters) {
  counters.values_encoded += count.values;
  counters.values_missing += count.missing;
  counters.values_unknown += count.unknown;
  counters.values_out_of_bounds += count.out_of_bounds;
}

// The ledger says FAILED_PRECONDITION; for a Select RESOURCE_EXHAUSTED is the documented code.
absl::Status AsOfSelect(const absl::Status& status) {
  return status.code() == absl::StatusCode::kFailedPrecondition
             ? absl::ResourceExhaustedError(status.message())
             : status;
}

int RanksOf(const Ranking& ranking) {
  return std::max(1, static_cast<int>(ranking.arms.size()));  // a point is one
}

absl::Status CheckShown(const Ranking& ranking, int shown) {
  if (shown < RanksOf(ranking)) return absl::OkStatus();
  return InvalidArgument("ranks.shown must be below the number of arms, got ", shown, " of ",
                         RanksOf(ranking));
}

}  // namespace

absl::Status ClientCore::MayHaveSlots() const {
  const std::string_view refused = ModeOf(spec_.mode).no_slots;
  if (!refused.empty()) return InvalidArgument("slots: ", ToAbsl(refused));
  if (reporter_.has_window() || info_.epsilon == 0) return absl::OkStatus();
  return FailedPrecondition("model ", spec_.name,
                            " has no reward window: only with one every slot is reported, with the "
                            "default where no reaction came, whatever became of the others");
}

absl::Status ClientCore::MaySelect(std::string_view user, int events) {
  BANDANA_RETURN_IF_ERROR(base_->pending.refusal());
  if (events_max_ > 0 && host_.state->ledger().Exhausted(spec_.name, user)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the user has no events left: events_per_user_max is ", events_max_));
  }
  return reporter_.has_window() ? reporter_.Reserve(events) : absl::OkStatus();
}

void ClientCore::CancelSelect(int events) {
  if (reporter_.has_window()) reporter_.CancelReservation(events);
}

ClientCore::SelectedSlots ClientCore::TheOne(Selected done) const {
  return [this, done = std::move(done)](absl::StatusOr<std::vector<Selection>> selections) {
    host_.tell([done, selections = std::move(selections)]() mutable {
      if (!selections.ok()) return done(selections.status());
      done(std::move(selections->front()));
    });
  };
}

ClientCore::SelectedSlots ClientCore::All(SelectedSlots done) const {
  return [this, done = std::move(done)](absl::StatusOr<std::vector<Selection>> selections) {
    host_.tell(
        [done, selections = std::move(selections)]() mutable { done(std::move(selections)); });
  };
}

void ClientCore::Select(std::string_view user, const Arms& arms, Ranks ranks, Selected done) {
  Run(user, ranker_->Prepare(user, arms, ranks), {.shown = ranks.shown}, TheOne(std::move(done)));
}

// The ledger is asked before anything is sent, and debits all of them when the answer is stored.
void ClientCore::SelectSlots(std::string_view user, const Arms& arms, int slots,
                             SelectedSlots done) {
  SelectedSlots told = All(std::move(done));
  if (absl::Status status = MayHaveSlots(); !status.ok()) return told(std::move(status));
  auto prepared = ranker_->PrepareSlots(user, arms, slots);
  if (!prepared.ok()) return told(prepared.status());
  const Wanted wanted = {.slots = slots};
  if (events_max_ == 0) return Run(user, prepared, wanted, std::move(told));
  const std::string name(user);
  host_.state->Enqueue(
      [this, name, slots](Transaction& transaction) {
        return base_->mechanism->MayDebit(transaction, name, slots);
      },
      [this, name, wanted, prepared = std::move(prepared),
       told = std::move(told)](const absl::Status& status) {
        if (!status.ok()) return told(AsOfSelect(status));
        Run(name, prepared, wanted, told);
      });
}

absl::Status ClientCore::MayDefer() const {
  if (info_.reward_window) return absl::OkStatus();
  return FailedPrecondition("model ", spec_.name,
                            " has no reward window: a decision counts when its report comes, and "
                            "one that is not shown is not reported");
}

absl::Status ClientCore::MayAdopt() const {
  if (!ActivatedWithin(spec_)) return MayDefer();
  return FailedPrecondition(
      "the reward windows of model ", spec_.name, " are closed by its ",
      "server: a decision of it is activated and reported by who asked for it");
}

// Where the server closes the windows, it has to know that nothing is shown yet.
void ClientCore::SelectDeferred(std::string_view user, const Arms& arms, Ranks ranks,
                                Selected done) {
  SelectedSlots told = TheOne(std::move(done));
  if (absl::Status status = MayDefer(); !status.ok()) return told(std::move(status));
  Run(user, ranker_->Prepare(user, arms, ranks, ActivatedWithin(spec_).has_value()),
      {.shown = ranks.shown, .deferred = true}, std::move(told));
}

void ClientCore::Activate(const Selection& selection, Callback<void(absl::Status)> done) {
  auto told = [this, done = std::move(done)](absl::Status status) {
    host_.tell([done, status = std::move(status)] { done(status); });
  };
  auto handle = CheckHandle(selection, std::nullopt);
  if (!handle.ok()) return told(handle.status());
  if (!handle->deferral) return told(absl::OkStatus());
  if (absl::Status status = MayDefer(); !status.ok()) return told(std::move(status));
  AfterStart([this, handle = *std::move(handle), told = std::move(told)] {
    reporter_.Activate(handle, told);
  });
}

void ClientCore::Adopt(std::string_view user, BackendAnswer answer, Selected done) {
  SelectedSlots told = TheOne(std::move(done));
  if (absl::Status status = MayAdopt(); !status.ok()) return told(std::move(status));
  const Adopter adopter = {.user = user,
                           .model = spec_.name,
                           .policy_hash = PolicyHashOf(spec_),
                           .range = base_->mechanism->traits().windows_in,
                           .now = clock_.Now()};
  const absl::Time decided = std::min(answer.decided, adopter.now);
  const Wanted wanted = {.shown = answer.shown};
  auto ranking = RankingOf(adopter, std::move(answer));
  if (!ranking.ok()) return told(ranking.status());
  Decided made = Decide(std::string(user), *std::move(ranking), wanted);
  Handle& handle = made.handles.front();
  if (ranker_->HandleHasFeatures(handle, /*window=*/false)) {
    return told(FailedPrecondition("a decision of model ", spec_.name, " cannot be adopted: its ",
                                   "reports need the arm's features, which no answer has"));
  }
  Handle stub = handle;  // the store keeps the token
  stub.token.clear();
  made.selections.front().handle = Encode(stub);
  handle.deferral = {.decided = decided, .epoch = base_->model.value()};
  AfterStart([this, handle = std::move(handle), selections = std::move(made.selections),
              told = std::move(told)] {
    reporter_.Adopt(handle, [this, selections, told](const absl::Status& status) {
      if (!status.ok()) return told(status);
      ++base_->counters.selections;
      told(selections);
    });
  });
}

void ClientCore::SelectPoint(std::string_view user, Selected done) {
  Run(user, ranker_->PreparePoint(user), {}, TheOne(std::move(done)));
}

void ClientCore::SelectOnDevice(std::string_view user, const Arms& arms, Ranks ranks,
                                Selected done) {
  Run(user, ranker_->PrepareHere(user, arms, ranks), {.shown = ranks.shown},
      TheOne(std::move(done)));
}

// Beside the calls of a start its place would tell whether the process is another one.
void ClientCore::RefreshPosterior(std::string_view user,
                                  Callback<void(absl::StatusOr<bool>)> done) {
  auto told = [this, done = std::move(done)](absl::StatusOr<bool> changed) {
    host_.tell([done, changed = std::move(changed)] { done(changed); });
  };
  AfterStart([this, user = std::string(user), told = std::move(told)] {
    if (const absl::Status& refused = base_->pending.refusal(); !refused.ok()) return told(refused);
    ranker_->Refresh(user, told);
  });
}

void ClientCore::Run(std::string_view user, const absl::StatusOr<Ranker::Run>& prepared,
                     const Wanted& wanted, SelectedSlots done) {
  if (starts_ == nullptr || !prepared.ok()) return RunNow(user, prepared, wanted, std::move(done));
  starts_->BeforeSelection([this, name = std::string(user), prepared, wanted,
                            done = std::move(done)] { RunNow(name, prepared, wanted, done); });
}

void ClientCore::AfterStart(Callback<void()> task) {
  if (starts_ == nullptr) return task();
  host_.state->gate().Pass(owner_, std::move(task));
}

void ClientCore::RunNow(std::string_view user, const absl::StatusOr<Ranker::Run>& prepared,
                        const Wanted& wanted, SelectedSlots done) {
  if (!prepared.ok()) return done(prepared.status());
  if (absl::Status status = MaySelect(user, wanted.events()); !status.ok()) {
    return done(std::move(status));
  }
  (*prepared)([this, wanted, user = std::string(user),
               done = std::move(done)](absl::StatusOr<Ranking> ranking) {
    absl::Status status = ranking.status();
    // The server has another model than the one that was agreed on, or says so.
    if (status.code() == absl::StatusCode::kFailedPrecondition) base_->model.AskAgain();
    if (status.ok()) status = CheckShown(*ranking, wanted.shown);
    if (!status.ok()) {
      CancelSelect(wanted.events());
      return done(std::move(status));
    }
    Complete(Decide(user, *std::move(ranking), wanted), done);
  });
}

ClientCore::Decided ClientCore::Decide(const std::string& user, Ranking ranking,
                                       const Wanted& wanted) {
  CountValues(ranking.count, base_->counters);
  const Handle one = {.identity = host_.state->identity(),
                      .policy = policy_,
                      .ranks = RanksOf(ranking),
                      .shown = wanted.shown,
                      .user = user};
  Decided decided;
  if (wanted.slots == 0) {
    Handle& handle = decided.handles.emplace_back(one);
    handle.number = host_.state->NextNumber();
    handle.token = std::move(ranking.token);
    handle.features = std::move(ranking.features);
    handle.windows = std::move(ranking.windows);
    if (wanted.deferred) reporter_.Defer(handle);
    decided.selections.push_back({.arms = std::move(ranking.arms),
                                  .posterior_version = ranking.posterior_version,
                                  .handle = {},
                                  .point = std::move(ranking.point),
                                  .notes = std::move(ranking.notes)});
    return decided;
  }
  for (int slot = 0; slot < wanted.slots; ++slot) {
    Handle& handle = decided.handles.emplace_back(one);
    handle.number = host_.state->NextNumber();
    handle.ranks = 1;
    handle.token = std::move(ranking.slot_tokens[slot]);
    if (!ranking.features.empty()) {
      handle.features = PackedArm(ranking.features, slot, wanted.slots,
                                  static_cast<std::size_t>(spec_.dimension));
    }
    if (const auto window = WindowOf(ranking.windows, slot)) AppendWindow(*window, handle.windows);
    decided.selections.push_back({.arms = {std::move(ranking.arms[slot])},
                                  .posterior_version = ranking.posterior_version,
                                  .handle = {},
                                  .point = {},
                                  .notes = ranking.notes});
  }
  return decided;
}

void ClientCore::Complete(Decided decided, SelectedSlots done) {
  const bool opens = reporter_.has_window() && !decided.handles.front().deferral;
  for (std::size_t i = 0; i < decided.handles.size(); ++i) {
    Handle stub = decided.handles[i];
    if (opens) {  // the store keeps token and features
      stub.token.clear();
      stub.features.clear();
    }
    decided.selections[i].handle = Encode(stub);
  }
  auto selected = [this, selections = std::move(decided.selections),
                   done = std::move(done)](const absl::Status& status) mutable {
    if (!status.ok()) return done(AsOfSelect(status));
    base_->counters.selections += selections.size();
    done(std::move(selections));
  };
  if (!opens) return selected(absl::OkStatus());
  AfterStart([this, handles = std::move(decided.handles), selected = std::move(selected)] {
    reporter_.Open(handles, selected);
  });
}

}  // namespace bandana::device
