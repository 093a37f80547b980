// Client's selections, and the handle that each one gets.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "client/core/features.h"
#include "client/src/base/once.h"
#include "client/src/client_impl.h"
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

// Who asked for one decision gets the one.
auto TheOne(std::function<void(absl::StatusOr<Selection>)> done) {
  return [done = std::move(done)](absl::StatusOr<std::vector<Selection>> selections) {
    if (!selections.ok()) return done(selections.status());
    done(std::move(selections->front()));
  };
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

absl::Status ClientImpl::MayHaveSlots() const {
  const std::string_view refused = ModeOf(spec_.mode).no_slots;
  if (!refused.empty()) return InvalidArgument("slots: ", ToAbsl(refused));
  if (reporter_.has_window() || info_.epsilon == 0) return absl::OkStatus();
  return FailedPrecondition("model ", spec_.name,
                            " has no reward window: only with one every slot is reported, with the "
                            "default where no reaction came, whatever became of the others");
}

absl::Status ClientImpl::MaySelect(std::string_view user, int events) {
  BANDANA_RETURN_IF_ERROR(base_->pending.refusal());
  if (events_max_ > 0 && store_->ledger().Exhausted(spec_.name, user)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the user has no events left: events_per_user_max is ", events_max_));
  }
  return reporter_.has_window() ? reporter_.Reserve(events) : absl::OkStatus();
}

void ClientImpl::CancelSelect(int events) {
  if (reporter_.has_window()) reporter_.CancelReservation(events);
}

absl::StatusOr<Selection> ClientImpl::Select(std::string_view user, const Arms& arms, Ranks ranks) {
  Once<absl::StatusOr<Selection>> result;
  SelectAsync(user, arms, ranks,
              [&result](absl::StatusOr<Selection> selection) { result.Set(std::move(selection)); });
  return result.Get();
}

void ClientImpl::SelectAsync(std::string_view user, const Arms& arms, Ranks ranks, Selected done) {
  Run(user, ranker_->Prepare(user, arms, ranks), {.shown = ranks.shown}, TheOne(std::move(done)));
}

absl::StatusOr<std::vector<Selection>> ClientImpl::SelectSlots(std::string_view user,
                                                               const Arms& arms, int slots) {
  Once<absl::StatusOr<std::vector<Selection>>> result;
  SelectSlotsAsync(user, arms, slots, [&result](absl::StatusOr<std::vector<Selection>> selections) {
    result.Set(std::move(selections));
  });
  return result.Get();
}

// The ledger is asked before anything is sent, and debits all of them when the answer is stored.
void ClientImpl::SelectSlotsAsync(std::string_view user, const Arms& arms, int slots,
                                  SelectedSlots done) {
  if (absl::Status status = MayHaveSlots(); !status.ok()) return done(std::move(status));
  auto prepared = ranker_->PrepareSlots(user, arms, slots);
  if (!prepared.ok()) return done(prepared.status());
  const Wanted wanted = {.slots = slots};
  if (events_max_ == 0) return Run(user, prepared, wanted, std::move(done));
  const std::string name(user);
  store_->Enqueue(
      [this, name, slots](Transaction& transaction) {
        return base_->mechanism->MayDebit(transaction, name, slots);
      },
      [this, name, wanted, prepared = std::move(prepared),
       done = std::move(done)](const absl::Status& status) {
        if (!status.ok()) return done(AsOfSelect(status));
        Run(name, prepared, wanted, done);
      });
}

absl::Status ClientImpl::MayDefer() const {
  if (info_.local && reporter_.has_window()) return absl::OkStatus();
  if (info_.reward_window) {
    return FailedPrecondition("the reward windows of model ", spec_.name,
                              " are closed by its server: the SDK defers no decisions of it");
  }
  return FailedPrecondition("model ", spec_.name,
                            " has no reward window: a decision counts when its report comes, and "
                            "one that is not shown is not reported");
}

absl::StatusOr<Selection> ClientImpl::SelectDeferred(std::string_view user, const Arms& arms,
                                                     Ranks ranks) {
  BANDANA_RETURN_IF_ERROR(MayDefer());
  Once<absl::StatusOr<Selection>> result;
  Run(user, ranker_->Prepare(user, arms, ranks), {.shown = ranks.shown, .deferred = true},
      TheOne([&result](absl::StatusOr<Selection> selection) { result.Set(std::move(selection)); }));
  return result.Get();
}

absl::Status ClientImpl::Activate(const Selection& selection) {
  BANDANA_ASSIGN_OR_RETURN(const Handle handle, CheckHandle(selection, std::nullopt));
  if (!handle.deferral) return absl::OkStatus();
  BANDANA_RETURN_IF_ERROR(MayDefer());
  Once<absl::Status> activated;
  AfterStart([this, &handle, &activated] {
    reporter_.Activate(handle,
                       [&activated](absl::Status status) { activated.Set(std::move(status)); });
  });
  return activated.Get();
}

absl::StatusOr<Selection> ClientImpl::SelectPoint(std::string_view user) {
  Once<absl::StatusOr<Selection>> result;
  SelectPointAsync(
      user, [&result](absl::StatusOr<Selection> selection) { result.Set(std::move(selection)); });
  return result.Get();
}

void ClientImpl::SelectPointAsync(std::string_view user, Selected done) {
  Run(user, ranker_->PreparePoint(user), {}, TheOne(std::move(done)));
}

absl::StatusOr<Selection> ClientImpl::SelectOnDevice(std::string_view user, const Arms& arms,
                                                     Ranks ranks) {
  Once<absl::StatusOr<Selection>> result;
  Run(user, ranker_->PrepareHere(user, arms, ranks), {.shown = ranks.shown},
      TheOne([&result](absl::StatusOr<Selection> selection) { result.Set(std::move(selection)); }));
  return result.Get();
}

// Beside the calls of a start its place would tell whether the process is another one.
absl::StatusOr<bool> ClientImpl::RefreshPosterior(std::string_view user) {
  Once<bool> ended;
  AfterStart([&ended] { ended.Set(true); });
  ended.Get();
  BANDANA_RETURN_IF_ERROR(base_->pending.refusal());
  return ranker_->Refresh(user);
}

void ClientImpl::Run(std::string_view user, const absl::StatusOr<Ranker::Run>& prepared,
                     const Wanted& wanted, SelectedSlots done) {
  if (starts_ == nullptr || !prepared.ok()) return RunNow(user, prepared, wanted, std::move(done));
  starts_->BeforeSelection([this, name = std::string(user), prepared, wanted,
                            done = std::move(done)] { RunNow(name, prepared, wanted, done); });
}

void ClientImpl::AfterStart(std::function<void()> task) {
  if (starts_ == nullptr) return task();
  store_->gate().Pass(std::move(task));
}

void ClientImpl::RunNow(std::string_view user, const absl::StatusOr<Ranker::Run>& prepared,
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

ClientImpl::Decided ClientImpl::Decide(const std::string& user, Ranking ranking,
                                       const Wanted& wanted) {
  CountValues(ranking.count, base_->counters);
  const Handle one = {.identity = store_->identity(),
                      .policy = policy_,
                      .ranks = RanksOf(ranking),
                      .shown = wanted.shown,
                      .user = user};
  Decided decided;
  if (wanted.slots == 0) {
    Handle& handle = decided.handles.emplace_back(one);
    handle.number = store_->NextNumber();
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
    handle.number = store_->NextNumber();
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

void ClientImpl::Complete(Decided decided, SelectedSlots done) {
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
