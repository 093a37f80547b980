#include "client/src/selection/selector.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include "client/core/features.h"
#include "client/core/handle.h"
#include "client/src/selection/named_arms.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/base/utf8.h"
#include "common/mechanisms/centred_window.h"
#include "common/random/bit_source.h"

namespace bandana::device {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

absl::Duration Until(SteadyTime time) {
  return absl::FromChrono(time - std::chrono::steady_clock::now());
}

absl::Status CheckUser(std::string_view user) {
  if (user.empty() || user.size() > kUserIdBytesMax) {
    return InvalidArgument("user must have 1 to ", kUserIdBytesMax, " bytes, got ", user.size());
  }
  return IsUtf8(user) ? absl::OkStatus() : InvalidArgument("user must be UTF-8");
}

absl::StatusOr<Ranking> ParsePoint(int dimension, v1::SelectResponse& response) {
  Ranking ranking;
  ranking.point.assign(response.point().begin(), response.point().end());
  const auto finite = [](double x) { return std::isfinite(x); };
  if (response.point_size() != dimension || !std::ranges::all_of(ranking.point, finite) ||
      response.positions_size() != 0 || response.token().empty()) {
    return Internal("the server's selection is not a point of dimension ", dimension);
  }
  ranking.posterior_version = response.posterior_version();
  ranking.token = std::move(*response.mutable_token());
  return ranking;
}

void FillQuery(const Arms& arms, v1::CatalogueQuery& query) {
  for (const std::string& tag : arms.tags) query.add_tags_any(tag);
  if (arms.query == nullptr) return;
  const ArmQuery& from = *arms.query;
  query.mutable_tags_any()->Add(from.tags_any.begin(), from.tags_any.end());
  query.mutable_tags_all()->Add(from.tags_all.begin(), from.tags_all.end());
  query.mutable_tags_none()->Add(from.tags_none.begin(), from.tags_none.end());
  query.mutable_excluded_ids()->Add(from.excluded_ids.begin(), from.excluded_ids.end());
  query.mutable_excluded_names()->Add(from.excluded_names.begin(), from.excluded_names.end());
}

// Arms of a request, where it says how many.
std::int64_t ArmsOf(const v1::ArmSet& arms, int dimension) {
  if (arms.has_inline_arms()) return arms.inline_arms().features_size() / dimension;
  if (arms.has_named_arms()) return arms.named_arms().arms_size();
  if (!arms.has_catalogue_arms()) return std::int64_t{1} << 31;  // of a query: unknown here
  return arms.catalogue_arms().ids_size() + arms.catalogue_arms().names_size();
}

std::string NameOf(const v1::ArmSet& arms, const v1::SelectResponse& response, int rank) {
  if (arms.has_named_arms()) {
    return arms.named_arms().arms(static_cast<int>(response.positions(rank))).id();
  }
  return response.arm_names_size() == 0 ? "" : response.arm_names(rank);
}

// One token for the ranks that were asked for, or fewer; or one for each slot, and all of them.
bool HasItsTokens(const v1::SelectRequest& request, const v1::SelectResponse& response) {
  const auto ranks = static_cast<std::uint32_t>(response.positions_size());
  const auto& tokens = response.slot_tokens();
  if (request.slots() == 0) {
    return ranks >= 1 && ranks <= request.top_k() && tokens.empty() && !response.token().empty();
  }
  const auto is_token = [](const std::string& token) { return !token.empty(); };
  return ranks == request.slots() && response.slot_tokens_size() == response.positions_size() &&
         response.token().empty() && std::ranges::all_of(tokens, is_token);
}

}  // namespace

absl::StatusOr<v1::SelectRequest> MakePointRequest(const std::string& model,
                                                   std::string_view user) {
  BANDANA_RETURN_IF_ERROR(CheckUser(user));
  v1::SelectRequest request;
  request.set_model(model);
  request.set_user(user.data(), user.size());
  return request;
}

absl::StatusOr<v1::SelectRequest> MakeSelectRequest(const std::string& model, int dimension,
                                                    std::string_view user, const Arms& arms,
                                                    const Ranks& ranks) {
  BANDANA_RETURN_IF_ERROR(CheckUser(user));
  if (ranks.top_k < 1 || ranks.top_k > kTopKMax) {
    return InvalidArgument("top_k must be in [1, ", kTopKMax, "], got ", ranks.top_k);
  }
  if (ranks.shown < 0 || ranks.shown >= ranks.top_k) {
    return InvalidArgument("ranks.shown must be in [0, ", ranks.top_k, "), got ", ranks.shown);
  }
  v1::SelectRequest request;
  request.set_model(model);
  request.set_user(user.data(), user.size());
  request.set_top_k(static_cast<std::uint32_t>(ranks.top_k));
  request.set_shown(static_cast<std::uint32_t>(ranks.shown));
  switch (arms.form) {
    case Arms::Form::kInline: {
      BANDANA_ASSIGN_OR_RETURN(const int count, CheckInlineArms(arms.features, dimension));
      if (!arms.ids.empty() && arms.ids.size() != static_cast<std::size_t>(count)) {
        return InvalidArgument("arms.ids must be empty or have one id per arm, got ",
                               arms.ids.size(), " for ", count, " arms");
      }
      v1::InlineArms& sent = *request.mutable_arms()->mutable_inline_arms();
      sent.mutable_features()->Add(arms.features.begin(), arms.features.end());
      sent.mutable_ids()->Add(arms.ids.begin(), arms.ids.end());
      break;
    }
    case Arms::Form::kCatalogue: {
      if (arms.ids.empty() && arms.names.empty()) {
        return InvalidArgument("arms.ids must not be empty");
      }
      v1::CatalogueArms& sent = *request.mutable_arms()->mutable_catalogue_arms();
      sent.mutable_ids()->Add(arms.ids.begin(), arms.ids.end());
      sent.mutable_names()->Add(arms.names.begin(), arms.names.end());
      break;
    }
    case Arms::Form::kQuery:
      FillQuery(arms, *request.mutable_arms()->mutable_catalogue_query());
      break;
    case Arms::Form::kNamed:
      break;
  }
  BANDANA_RETURN_IF_ERROR(FillNamed(arms, request));
  return request;
}

absl::StatusOr<v1::SelectRequest> MakeSlotsRequest(const std::string& model, int dimension,
                                                   std::string_view user, const Arms& arms,
                                                   int slots) {
  if (slots < 1 || slots > kTopKMax) {
    return InvalidArgument("slots must be in [1, ", kTopKMax, "], got ", slots);
  }
  BANDANA_ASSIGN_OR_RETURN(v1::SelectRequest request,
                           MakeSelectRequest(model, dimension, user, arms, Ranks()));
  request.clear_top_k();
  request.set_slots(static_cast<std::uint32_t>(slots));
  return request;
}

absl::StatusOr<Ranking> ParseSelectResponse(const v1::SelectRequest& request, int dimension,
                                            const std::optional<RewardRange>& range,
                                            v1::SelectResponse& response) {
  if (!request.has_arms()) return ParsePoint(dimension, response);
  const int ranks = response.positions_size();
  const v1::ArmSet& offered = request.arms();
  const bool with_ids = !offered.has_inline_arms() && !offered.has_named_arms();
  const std::int64_t arms = ArmsOf(offered, dimension);
  if (!HasItsTokens(request, response) || response.scores_size() != ranks ||
      response.means_size() != ranks || response.widths_size() != ranks ||
      response.propensities_size() != ranks || response.arm_ids_size() != (with_ids ? ranks : 0) ||
      response.reward_windows_size() != (range ? 2 * ranks : 0) || response.point_size() != 0 ||
      (response.arm_names_size() != 0 && response.arm_names_size() != ranks)) {
    return Internal("the server's selection does not fit the request");
  }
  Ranking ranking;
  ranking.posterior_version = response.posterior_version();
  ranking.token = std::move(*response.mutable_token());
  ranking.slot_tokens.assign(response.slot_tokens().begin(), response.slot_tokens().end());
  ranking.notes.assign(response.notes().begin(), response.notes().end());
  ranking.arms.resize(ranks);
  for (int i = 0; i < ranks; ++i) {
    if (response.positions(i) >= arms) {
      return Internal("the server's selection names an arm that was not offered");
    }
    ranking.arms[i] = {.position = static_cast<int>(response.positions(i)),
                       .arm_id = with_ids ? response.arm_ids(i) : 0,
                       .score = response.scores(i),
                       .mean = response.means(i),
                       .width = response.widths(i),
                       .propensity = response.propensities(i),
                       .name = NameOf(offered, response, i)};
    if (!range) continue;
    const RewardRange window{response.reward_windows(2 * i), response.reward_windows(2 * i + 1)};
    if (!IsWindowOf(*range, window)) {
      return Internal("the server's selection has a window outside the reward range");
    }
    AppendWindow(window, ranking.windows);
  }
  return ranking;
}

struct Selector::Attempt {
  v1::SelectRequest request;
  std::function<void(absl::StatusOr<Ranking>)> done;
  SteadyTime deadline;
  int number = 0;
};

void Selector::Select(v1::SelectRequest request,
                      std::function<void(absl::StatusOr<Ranking>)> done) {
  auto attempt = std::make_shared<Attempt>();
  attempt->request = std::move(request);
  attempt->done = std::move(done);
  attempt->deadline =
      std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(options_.deadline);
  Start(attempt);
}

void Selector::Start(const std::shared_ptr<Attempt>& attempt) {
  transport_->Select(
      attempt->request, {.deadline = Until(attempt->deadline)},
      [this, attempt](const Answer& answer, v1::SelectResponse& response) {
        if (answer.status.ok()) {
          return attempt->done(
              ParseSelectResponse(attempt->request, options_.dimension, options_.range, response));
        }
        const bool retriable = answer.status.code() == absl::StatusCode::kUnavailable ||
                               (answer.status.code() == absl::StatusCode::kResourceExhausted &&
                                answer.pushback && *answer.pushback >= absl::ZeroDuration());
        const absl::Duration pause =
            BackoffWithPushback(options_.backoff, attempt->number++,
                                SystemBits().NextWord().value_or(0), answer.pushback);
        if (!retriable || pause >= Until(attempt->deadline)) return attempt->done(answer.status);
        if (!scheduler_->RunAfter(pause, [this, attempt] { Start(attempt); })) {
          attempt->done(answer.status);
        }
      });
}

}  // namespace bandana::device
