#include "client/core/selection/selector.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "client/core/callback.h"
#include "client/core/handle.h"
#include "common/base/status.h"
#include "common/base/utf8.h"
#include "common/mechanisms/centred_window.h"
#include "common/random/bit_source.h"

namespace bandana::device {
namespace {

absl::StatusOr<Ranking> ParsePoint(int dimension, SelectResponse response) {
  const auto finite = [](double x) { return std::isfinite(x); };
  const std::vector<double>& point = response.point;
  if (point.size() != static_cast<std::size_t>(dimension) ||
      !std::all_of(point.begin(), point.end(), finite) || !response.positions.empty() ||
      response.token.empty()) {
    return Internal("the server's selection is not a point of dimension ", dimension);
  }
  Ranking ranking;
  ranking.point = std::move(response.point);
  ranking.posterior_version = response.posterior_version;
  ranking.token = std::move(response.token);
  return ranking;
}

// One token for the ranks that were asked for, or fewer; or one for each slot, and all of them.
bool HasItsTokens(const SelectRequest& request, const SelectResponse& response) {
  const std::size_t ranks = response.positions.size();
  const auto& tokens = response.slot_tokens;
  if (request.slots == 0) {
    return ranks >= 1 && ranks <= request.top_k && tokens.empty() && !response.token.empty();
  }
  const auto is_token = [](const std::string& token) { return !token.empty(); };
  return ranks == request.slots && tokens.size() == ranks && response.token.empty() &&
         std::all_of(tokens.begin(), tokens.end(), is_token);
}

}  // namespace

absl::StatusOr<Ranking> ParseSelectResponse(const SelectRequest& request, int dimension,
                                            const std::optional<RewardRange>& range,
                                            SelectResponse response) {
  if (request.is_point) return ParsePoint(dimension, std::move(response));
  const std::size_t ranks = response.positions.size();
  if (!HasItsTokens(request, response) || response.scores.size() != ranks ||
      response.means.size() != ranks || response.widths.size() != ranks ||
      response.propensities.size() != ranks ||
      response.arm_ids.size() != (request.has_ids ? ranks : 0) ||
      response.reward_windows.size() != (range ? 2 * ranks : 0) || !response.point.empty() ||
      (!response.arm_names.empty() && response.arm_names.size() != ranks)) {
    return Internal("the server's selection does not fit the request");
  }
  Ranking ranking;
  ranking.posterior_version = response.posterior_version;
  ranking.token = std::move(response.token);
  ranking.slot_tokens = std::move(response.slot_tokens);
  ranking.notes = std::move(response.notes);
  ranking.arms.resize(ranks);
  for (std::size_t i = 0; i < ranks; ++i) {
    const std::uint32_t position = response.positions[i];
    if (position >= request.arms) {
      return Internal("the server's selection names an arm that was not offered");
    }
    RankedArm& arm = ranking.arms[i];
    arm = {.position = static_cast<int>(position),
           .arm_id = request.has_ids ? response.arm_ids[i] : 0,
           .score = response.scores[i],
           .mean = response.means[i],
           .width = response.widths[i],
           .propensity = response.propensities[i],
           .name = {}};
    if (!request.names.empty()) {
      arm.name = request.names[position];
    } else if (!response.arm_names.empty()) {
      arm.name = std::move(response.arm_names[i]);
    }
    if (!range) continue;
    const RewardRange window{response.reward_windows[2 * i], response.reward_windows[2 * i + 1]};
    if (!IsWindowOf(*range, window)) {
      return Internal("the server's selection has a window outside the reward range");
    }
    AppendWindow(window, ranking.windows);
  }
  return ranking;
}

struct Selector::Attempt {
  SelectRequest request;
  std::string bytes;
  Callback<void(absl::StatusOr<Ranking>)> done;
  absl::Duration deadline;  // of the timers' clock
  int number = 0;
};

void Selector::Select(SelectRequest request, Callback<void(absl::StatusOr<Ranking>)> done) {
  auto attempt = std::make_shared<Attempt>();
  attempt->bytes = request.Under(options_.policy_hash);
  attempt->request = std::move(request);
  attempt->done = std::move(done);
  attempt->deadline = timers_->Elapsed() + options_.deadline;
  Start(attempt);
}

void Selector::Start(const std::shared_ptr<Attempt>& attempt) {
  calls_->Make(Method::kSelect, attempt->bytes,
               {.deadline = attempt->deadline - timers_->Elapsed()},
               [this, attempt](const Answer& answer, const std::string& response) {
                 OnAnswer(attempt, answer, response);
               });
}

void Selector::OnAnswer(const std::shared_ptr<Attempt>& attempt, const Answer& answer,
                        const std::string& bytes) {
  if (answer.status.ok()) {
    auto response = ReadSelectResponse(bytes);
    if (!response.ok()) return attempt->done(response.status());
    return attempt->done(ParseSelectResponse(attempt->request, options_.dimension, options_.range,
                                             *std::move(response)));
  }
  const bool retriable = answer.status.code() == absl::StatusCode::kUnavailable ||
                         (answer.status.code() == absl::StatusCode::kResourceExhausted &&
                          answer.pushback && *answer.pushback >= absl::ZeroDuration());
  const absl::Duration pause = BackoffWithPushback(
      options_.backoff, attempt->number++, SystemBits().NextWord().value_or(0), answer.pushback);
  const absl::Duration left = attempt->deadline - timers_->Elapsed();
  if (!retriable || pause >= left ||
      !timers_->RunAfter(pause, [this, attempt] { Start(attempt); })) {
    attempt->done(answer.status);
  }
}

}  // namespace bandana::device
