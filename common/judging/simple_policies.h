// Policies that a line of the log is enough for.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "common/judging/judged_policy.h"

namespace bandana {

// Arms that stand in earlier slots are on offer no more.

// Each arm on offer as likely as another. Also where a line has the chosen arm's propensity alone.
std::unique_ptr<JudgedPolicy> MakeUniformPolicy();
// The law that the arms were drawn by.
std::unique_ptr<JudgedPolicy> MakeLoggingPolicy();
// The largest prediction; equal ones share. A decision whose arms the log cut is left out.
// Law: FAILED_PRECONDITION where a line has no predictions.
std::unique_ptr<JudgedPolicy> MakeGreedyPolicy();
// The arm that comes first in the line.
std::unique_ptr<JudgedPolicy> MakeFirstPolicy();
// The arm of that id or name; a decision that does not offer it is left out. Law:
// FAILED_PRECONDITION for lists, for which a table says what stands where.
std::unique_ptr<JudgedPolicy> MakeConstantPolicy(std::string_view arm);

// The arm's id as a decimal number, its name, or, where a line names no arms, its position.
std::string ArmText(const LoggedSlot& slot, std::size_t position);

}  // namespace bandana
