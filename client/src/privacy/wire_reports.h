// The bytes that leave the device: one report, with or without its token.
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

}  // namespace bandana::device
