// The bytes that leave the device: one report, with or without its token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "bandana/v1/recommender.pb.h"
#include "client/src/base/transport.h"
#include "common/mechanisms/reward_chain.h"
#include "common/mechanisms/statistics_chain.h"

namespace bandana::device {

// v1.PerturbedReport of a local model. Takes the randomized reward only: there is no way from a
// raw or clipped one to these bytes.
std::string PerturbedReportBytes(std::string_view token, int shown, const PerturbedReward& reward,
                                 bool whole_range);

// v1.Outcome of a model whose server may see rewards. Missing stays missing.
std::string OutcomeBytes(std::string_view token, int shown, std::optional<double> reward);

// v1.ContextReport. Takes what a mechanism released only.
std::string ContextReportBytes(std::span<const std::byte, 16> id, std::uint64_t epoch,
                               const PerturbedDirection& direction);
std::string ContextReportBytes(std::span<const std::byte, 16> id, std::uint64_t epoch,
                               const PerturbedStatistics& statistics);

// When a report may be tried.
struct Attempts {
  absl::Duration deadline;  // of one
  // None begins later than so long after the report was due: the server may have forgotten by then
  // that it has it.
  std::optional<absl::Duration> lifetime;
};

// What the server said of the reports of a request, in their order.
using OnResults = std::function<void(
    const Answer&, const google::protobuf::RepeatedPtrField<v1::OutcomeResult>& results)>;

// How the reports of one of these messages travel.
struct ReportMessage {
  // By which call a request goes; the other is not read.
  void (*send)(Transport& transport, const v1::SubmitRequest& submit,
               const v1::ReportRequest& outcomes, const CallOptions& options,
               OnResults done) = nullptr;
  // `deadline`: the application's.
  Attempts (*attempts)(absl::Duration deadline, absl::Duration token_lifetime) = nullptr;
  // Without a token: the server knows a report again by its id, for a token's lifetime.
  bool by_id = false;
  // Adds one to the request of its call; the other is not touched.
  void (*add)(std::string_view report, v1::SubmitRequest& submit,
              v1::ReportRequest& outcomes) = nullptr;
  // The same report with its token set. Null by_id.
  std::string (*with_token)(std::string_view report, std::string_view token) = nullptr;
};
extern const ReportMessage kPerturbedForm;
extern const ReportMessage kOutcomeForm;
extern const ReportMessage kContextForm;

}  // namespace bandana::device
