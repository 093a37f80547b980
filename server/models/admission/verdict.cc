#include "server/models/admission/verdict.h"

#include "common/model/entries/counters.h"

namespace bandana::server {
namespace {

struct Row {
  Admission verdict;
  v1::OutcomeCode code;
  v1::RejectReason reason = v1::REJECT_REASON_UNSPECIFIED;
};

// Without a row: answered for the whole call.
constexpr Row kRows[] = {
    {Admission::kAppend, v1::APPLIED},
    {Admission::kDuplicate, v1::DUPLICATE},
    {Admission::kExpired, v1::EXPIRED},
    {Admission::kForeign, v1::REJECTED, v1::TOKEN_FOREIGN},
    {Admission::kUserLimit, v1::REJECTED, v1::USER_LIMIT},
    {Admission::kInvalid, v1::REJECTED, v1::TOKEN_INVALID},
    {Admission::kGap, v1::REJECTED, v1::STREAM_GAP},
    {Admission::kForked, v1::REJECTED, v1::STREAM_FORKED},
    {Admission::kExhausted, v1::REJECTED, v1::STREAM_EXHAUSTED},
    {Admission::kInactive, v1::REJECTED, v1::NOT_ACTIVATED},
};

}  // namespace

std::optional<ReportResult> ResultOf(Admission verdict) {
  for (const Row& row : kRows) {
    if (row.verdict == verdict) return ReportResult{.code = row.code, .reason = row.reason};
  }
  return std::nullopt;
}

std::size_t CounterOf(v1::OutcomeCode code, v1::RejectReason reason) {
  switch (code) {
    case v1::APPLIED:
      return Counters::kApplied;
    case v1::DUPLICATE:
      return Counters::kDuplicate;
    case v1::EXPIRED:
      return Counters::kExpired;
    default:
      return Counters::Rejected(reason);
  }
}

}  // namespace bandana::server
