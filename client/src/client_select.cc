// Client's selections: on the server and on the device, and the handle that each one gets.
#include <algorithm>
#include <utility>

#include "client/src/base/once.h"
#include "client/src/client_impl.h"
#include "client/src/privacy/features.h"
#include "common/base/status.h"
#include "common/design/mechanism.h"
#include "common/random/bit_source.h"

namespace bandana::device {
namespace {

Arms WithFeatures(const Arms& arms, const std::vector<double>& features) {
  return features.empty() ? arms : Arms::Inline(features);
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

// Where contexts are private no feature decides whether there is an event.
std::vector<double> ClientImpl::FiniteFeatures(const Arms& arms) const {
  if (!spec_.made->mode().hides_contexts || arms.form != Arms::Form::kInline) return {};
  return ZerosForNonFinite(arms.features, spec_.dimension);
}

// A counter steps with the features of the arm shown, and Select does not answer those of a
// catalogue.
absl::StatusOr<std::vector<double>> ClientImpl::FeaturesToKeep(const Arms& arms) const {
  if (!traits_.keeps_features) return std::vector<double>();
  if (arms.form != Arms::Form::kInline) {
    return FailedPrecondition("model ", spec_.name, " counts on the device: arms must be inline");
  }
  return ClipArms(arms.features, spec_.dimension, spec_.feature_l2_max, spec_.reject_features);
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
  if (traits_.ranked_here) return SelectHere(user, arms, ranks, std::move(done));
  const std::vector<double> finite = FiniteFeatures(arms);
  auto request =
      MakeSelectRequest(spec_.name, spec_.dimension, user, WithFeatures(arms, finite), ranks);
  if (!request.ok()) return done(request.status());
  auto features = FeaturesToKeep(arms);
  if (!features.ok()) return done(features.status());
  SelectThere(user, *std::move(request), *std::move(features), std::move(done));
}

absl::StatusOr<Selection> ClientImpl::SelectPoint(std::string_view user) {
  Once<absl::StatusOr<Selection>> result;
  SelectPointAsync(
      user, [&result](absl::StatusOr<Selection> selection) { result.Set(std::move(selection)); });
  return result.Get();
}

void ClientImpl::SelectPointAsync(std::string_view user, Selected done) {
  if (traits_.keeps_features || traits_.ranked_here) {
    return done(InvalidArgument("model ", spec_.name, " is not of points: its arms are ranked"));
  }
  auto request = MakePointRequest(spec_.name, user);
  if (!request.ok()) return done(request.status());
  SelectThere(user, *std::move(request), {}, std::move(done));
}

void ClientImpl::SelectThere(std::string_view user, v1::SelectRequest request,
                             std::vector<double> features, Selected done) {
  if (absl::Status status = MaySelect(user); !status.ok()) return done(std::move(status));
  const int shown = static_cast<int>(request.shown());
  selector_.Select(std::move(request), [this, shown, user = std::string(user),
                                        features = std::move(features),
                                        done = std::move(done)](absl::StatusOr<Ranking> ranking) {
    if (!ranking.ok()) {
      CancelSelect();
      return done(ranking.status());
    }
    if (traits_.keeps_features) {
      for (const RankedArm& arm : ranking->arms) {
        ranking->features += PackFeatures(FeaturesOfRow(features, arm.position, spec_.dimension));
      }
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
                         .point = std::move(ranking.point)};
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

// What ranks on the device: the posterior of the clock where contexts are private, else the user's.
absl::StatusOr<Ranking> ClientImpl::RankHere(std::string_view user, const Arms& arms, Ranks ranks) {
  if (arms.form != Arms::Form::kInline) {
    return InvalidArgument("arms must be inline to be ranked on the device");
  }
  const std::vector<double> finite = FiniteFeatures(arms);
  const Arms taken = WithFeatures(arms, finite);
  BANDANA_RETURN_IF_ERROR(
      MakeSelectRequest(spec_.name, spec_.dimension, user, taken, ranks).status());
  BANDANA_ASSIGN_OR_RETURN(
      const auto features,
      ClipArms(taken.features, spec_.dimension, spec_.feature_l2_max, spec_.reject_features));
  const auto posterior =
      posterior_clock_ ? posterior_clock_->Latest() : posteriors_.Find(std::string(user));
  if (posterior == nullptr) {
    return FailedPrecondition("no posterior of this user yet: call RefreshPosterior first");
  }
  BANDANA_ASSIGN_OR_RETURN(const std::uint64_t tie_key, SystemBits().NextWord());
  BANDANA_RETURN_IF_ERROR(MaySelect(user));
  return RankOnDevice(*posterior, spec_.link, features, ranks.top_k, tie_key);
}

void ClientImpl::SelectHere(std::string_view user, const Arms& arms, Ranks ranks, Selected done) {
  absl::StatusOr<Ranking> ranking = RankHere(user, arms, ranks);
  if (!ranking.ok()) return done(ranking.status());
  Complete(std::string(user), *std::move(ranking), ranks.shown, std::move(done));
}

absl::StatusOr<Selection> ClientImpl::SelectOnDevice(std::string_view user, const Arms& arms,
                                                     Ranks ranks) {
  if (traits_.keeps_features) {
    return FailedPrecondition("model ", spec_.name,
                              " counts on the device: its arms are ranked by Select");
  }
  Once<absl::StatusOr<Selection>> result;
  SelectHere(user, arms, ranks,
             [&result](absl::StatusOr<Selection> selection) { result.Set(std::move(selection)); });
  return result.Get();
}

absl::StatusOr<bool> ClientImpl::RefreshPosterior(std::string_view user) {
  if (traits_.ranked_here) {
    return FailedPrecondition("model ", spec_.name,
                              " has private contexts: its posterior is fetched by the clock");
  }
  BANDANA_RETURN_IF_ERROR(base_->pending.refusal());
  const std::string name(user);
  v1::GetPosteriorRequest request;
  request.set_model(spec_.name);
  request.set_user(name);
  const auto known = posteriors_.Find(name);
  if (known != nullptr) request.set_if_newer_than(known->version);
  Once<absl::StatusOr<bool>> result;
  base_->transport->GetPosterior(request, {.deadline = options_.select_deadline},
                                 [&](const Answer& answer, v1::GetPosteriorResponse& response) {
                                   if (!answer.status.ok()) return result.Set(answer.status);
                                   if (response.not_modified() && known != nullptr)
                                     return result.Set(false);
                                   auto posterior = ParsePosterior(response, spec_.dimension);
                                   if (!posterior.ok()) return result.Set(posterior.status());
                                   posteriors_.Put(name, *std::move(posterior));
                                   result.Set(true);
                                 });
  return result.Get();
}

}  // namespace bandana::device
