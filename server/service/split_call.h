// One call's reports that go to several models, and their answers, put together again.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "common/model/entries/report.h"

namespace bandana::server {

using CallDone = std::function<void(absl::StatusOr<std::vector<ReportResult>>)>;

// Each report succeeds or fails on its own, as far as a call can say it:
//   UNAVAILABLE and what else says "repeat it" fails the whole call: what other models have taken
//   is answered again when the call is repeated. A model whose reports are all exhausted
//   (FAILED_PRECONDITION) fails the call if every model does; else its reports are REJECTED,
//   STREAM_EXHAUSTED.
// Threads: safe; the last Take calls `done`, once, without a lock.
class SplitCall {
 public:
  // `results`: one per report of the call; those of parts are filled in. `places`: for each part,
  // at least one, where its reports stand among them. `failed`: not OK fails the call when all
  // parts are there.
  SplitCall(std::vector<ReportResult> results, std::vector<std::vector<std::size_t>> places,
            absl::Status failed, CallDone done);

  // The answer of a part, once each.
  void Take(std::size_t part, absl::StatusOr<std::vector<ReportResult>> answer);

 private:
  const std::vector<std::vector<std::size_t>> places_;
  CallDone done_;
  std::mutex mutex_;  // for what follows
  std::vector<ReportResult> results_;
  absl::Status failed_;
  absl::Status exhausted_;  // of the first such part
  std::size_t exhausted_parts_ = 0;
  std::size_t open_;
};

}  // namespace bandana::server
