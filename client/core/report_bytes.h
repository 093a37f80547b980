// Reports as the bytes that are stored and sent: the messages of recommender.proto, coded here.
// Only drawn outputs, or an outcome of a model without privacy, can be put into one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/mechanisms/reward_chain.h"
#include "common/mechanisms/statistics_chain.h"

namespace bandana::device {

// v1.PerturbedReport.
std::string PerturbedReportBytes(std::string_view token, int shown, const PerturbedReward& reward,
                                 bool whole_range);

// v1.Outcome.
std::string OutcomeBytes(std::string_view token, int shown, std::optional<double> reward);

// v1.ContextReport.
std::string ContextReportBytes(std::span<const std::byte, 16> id, std::uint64_t epoch,
                               const PerturbedDirection& direction);
std::string ContextReportBytes(std::span<const std::byte, 16> id, std::uint64_t epoch,
                               const PerturbedStatistics& statistics);

// v1.CounterReport of one step: the counter's sum after it, and the step's v1.CounterStep.
std::string CounterReportBytes(std::span<const double> moment, std::string_view token, int shown);

// v1.CounterReport of some steps of the stream with that public id, made by CounterReportBytes: the
// sum after the last of them, and what each adds.
std::string JoinCounterSteps(std::string_view stream, std::uint64_t last_step,
                             std::span<const std::string_view> steps);

// The v1.PerturbedReport or v1.Outcome with another token. Requires bytes that were made here.
std::string ReplaceToken(std::string_view report, std::string_view token);

}  // namespace bandana::device
