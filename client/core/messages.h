// The calls of delivery as bytes: requests written and answers read as recommender.proto has them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "client/core/delivery/report_form.h"
#include "common/promise/kinds.h"

namespace bandana::device {

// v1.OutcomeCode, by its numbers; unknown ones stay as they are.
enum class OutcomeCode : std::int32_t { kApplied = 1, kDuplicate = 2, kExpired = 3, kRejected = 4 };

// v1.OutcomeResult and v1.CounterResult.
struct Outcome {
  OutcomeCode code{};
  RejectReason reason{};
  std::uint64_t acknowledged_step = 0;  // of counters
};

// v1.SelectResult, as far as a token is wanted.
struct TokenResult {
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string token;
};

// v1.GetModelRequest.
std::string ModelRequestBytes(std::string_view model);
// v1.SubmitRequest or v1.ReportRequest. `reports`: made by report_bytes.h.
std::string ReportsRequestBytes(const ReportForm& form, std::string_view model,
                                std::string_view policy_hash,
                                std::span<const std::string_view> reports);
// v1.SubmitRequest with one counter report.
std::string CounterRequestBytes(std::string_view model, std::string_view policy_hash,
                                std::string_view report);
// v1.SelectRequest for the token of one packed arm (features.h).
std::string TokenRequestBytes(std::string_view model, std::string_view user,
                              std::string_view packed_arm, std::string_view policy_hash);
// v1.ActivateRequest of one decision.
std::string ActivateRequestBytes(std::string_view model, std::string_view token,
                                 std::string_view policy_hash);
// v1.BatchSelectRequest.
std::string BatchRequestBytes(std::span<const std::string> selects);

// v1.InlineArms of a packed arm.
std::string InlineArmBytes(std::string_view packed_arm);

// The results of a v1.SubmitResponse, v1.ReportResponse or v1.ActivateResponse. Nothing: the bytes
// are no message.
std::optional<std::vector<Outcome>> ReadOutcomes(std::string_view response);
// The counters' of a v1.SubmitResponse.
std::optional<std::vector<Outcome>> ReadCounterOutcomes(std::string_view response);
// The results of a v1.BatchSelectResponse.
std::optional<std::vector<TokenResult>> ReadTokens(std::string_view response);

}  // namespace bandana::device
