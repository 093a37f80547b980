// Client's selections, and the handle that each one gets.
#include <algorithm>
#include <utility>

#include "client/src/base/once.h"
#include "client/src/client_impl.h"
#include "common/base/status.h"

namespace bandana::device {
namespace {

void CountValues(const FieldCount& count, Counters& counters) {
  counters.values_encoded += count.values;
  counters.values_missing += count.missing;
  counters.values_unknown += count.unknown;
  counters.values_out_of_bounds += count.out_of_bounds;
}

}  // namespace

absl::Status ClientImpl::MaySelect(std::string_view user) {
  BANDANA_RETURN_IF_ERROR(base_->pending.refusal());
  if (info_.local && events_max_ > 0 && store_->ledger().Exhausted(spec_.name, user)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the user has no events left: events_per_user_max is ", events_max_));
  }
  return reporter_.has_window() ? reporter_.Reserve() : absl::OkStatus();
}

void ClientImpl::CancelSelect() {
  if (reporter_.has_window()) reporter_.CancelReservation();
}

absl::StatusOr<Selection> ClientImpl::Select(std::string_view user, const Arms& arms, Ranks ranks) {
  Once<absl::StatusOr<Selection>> result;
  SelectAsync(user, arms, ranks,
              [&result](absl::StatusOr<Selection> selection) { result.Set(std::move(selection)); });
  return result.Get();
}

void ClientImpl::SelectAsync(std::string_view user, const Arms& arms, Ranks ranks, Selected done) {
  Run(user, ranker_->Prepare(user, arms, ranks), ranks.shown, std::move(done));
}

absl::StatusOr<Selection> ClientImpl::SelectPoint(std::string_view user) {
  Once<absl::StatusOr<Selection>> result;
  SelectPointAsync(
      user, [&result](absl::StatusOr<Selection> selection) { result.Set(std::move(selection)); });
  return result.Get();
}

void ClientImpl::SelectPointAsync(std::string_view user, Selected done) {
  Run(user, ranker_->PreparePoint(user), 0, std::move(done));
}

absl::StatusOr<Selection> ClientImpl::SelectOnDevice(std::string_view user, const Arms& arms,
                                                     Ranks ranks) {
  Once<absl::StatusOr<Selection>> result;
  Run(user, ranker_->PrepareHere(user, arms, ranks), ranks.shown,
      [&result](absl::StatusOr<Selection> selection) { result.Set(std::move(selection)); });
  return result.Get();
}

absl::StatusOr<bool> ClientImpl::RefreshPosterior(std::string_view user) {
  BANDANA_RETURN_IF_ERROR(base_->pending.refusal());
  return ranker_->Refresh(user);
}

void ClientImpl::Run(std::string_view user, const absl::StatusOr<Ranker::Run>& prepared, int shown,
                     Selected done) {
  if (!prepared.ok()) return done(prepared.status());
  if (absl::Status status = MaySelect(user); !status.ok()) return done(std::move(status));
  (*prepared)([this, shown, user = std::string(user),
               done = std::move(done)](absl::StatusOr<Ranking> ranking) {
    if (!ranking.ok()) {
      CancelSelect();
      return done(ranking.status());
    }
    Complete(user, *std::move(ranking), shown, done);
  });
}

void ClientImpl::Complete(const std::string& user, Ranking ranking, int shown, Selected done) {
  const int ranks = std::max(1, static_cast<int>(ranking.arms.size()));  // a point is one
  if (shown >= ranks) {
    CancelSelect();
    return done(InvalidArgument("ranks.shown must be below the number of arms, got ", shown, " of ",
                                ranks));
  }
  Handle handle = {.identity = store_->identity(),
                   .number = store_->NextNumber(),
                   .policy = policy_,
                   .ranks = ranks,
                   .shown = shown,
                   .user = user,
                   .token = std::move(ranking.token),
                   .features = std::move(ranking.features),
                   .windows = std::move(ranking.windows)};
  Selection selection = {.arms = std::move(ranking.arms),
                         .posterior_version = ranking.posterior_version,
                         .handle = {},
                         .point = std::move(ranking.point),
                         .notes = std::move(ranking.notes)};
  CountValues(ranking.count, base_->counters);
  if (!reporter_.has_window()) {
    selection.handle = Encode(handle);
    ++base_->counters.selections;
    return done(std::move(selection));
  }
  Handle stub = handle;  // the store keeps token and features
  stub.token.clear();
  stub.features.clear();
  selection.handle = Encode(stub);
  reporter_.Open(handle, [this, selection = std::move(selection),
                          done = std::move(done)](absl::Status status) mutable {
    if (!status.ok()) {
      // The ledger says FAILED_PRECONDITION; for a Select that is the documented code.
      if (status.code() == absl::StatusCode::kFailedPrecondition) {
        status = absl::ResourceExhaustedError(status.message());
      }
      return done(std::move(status));
    }
    ++base_->counters.selections;
    done(std::move(selection));
  });
}

}  // namespace bandana::device
