#include "server/service/split_call.h"

#include <utility>

#include "common/base/check.h"

namespace bandana::server {

SplitCall::SplitCall(std::vector<ReportResult> results,
                     std::vector<std::vector<std::size_t>> places, absl::Status failed,
                     CallDone done)
    : places_(std::move(places)),
      done_(std::move(done)),
      results_(std::move(results)),
      failed_(std::move(failed)),
      open_(places_.size()) {
  BANDANA_CHECK(open_ > 0);
}

void SplitCall::Take(std::size_t part, absl::StatusOr<std::vector<ReportResult>> answer) {
  const std::vector<std::size_t>& places = places_[part];
  {
    const std::lock_guard lock(mutex_);
    BANDANA_CHECK(open_ > 0);
    if (answer.ok()) {
      BANDANA_CHECK(answer->size() == places.size());
      for (std::size_t i = 0; i < places.size(); ++i) results_[places[i]] = (*answer)[i];
    } else if (absl::IsFailedPrecondition(answer.status())) {
      exhausted_.Update(answer.status());
      ++exhausted_parts_;
      for (const std::size_t place : places) {
        results_[place] = {.code = v1::REJECTED, .reason = v1::STREAM_EXHAUSTED};
      }
    } else {
      failed_.Update(answer.status());
    }
    if (--open_ > 0) return;
    if (exhausted_parts_ == places_.size()) failed_.Update(exhausted_);
  }
  // Nobody else is in here any more.
  if (!failed_.ok()) return done_(std::move(failed_));
  done_(std::move(results_));
}

}  // namespace bandana::server
