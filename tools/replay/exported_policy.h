// A model as it was exported, as a policy that learns nothing more.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/judging/judged_policy.h"

namespace bandana {

// Chooses by the posterior and the policy of the model in the file that `bandana-ctl export` wrote.
// Arms have the features of the line, else those of the exported catalogue. Decisions that the
// model has learnt from, or may have (export_origin.h), are left out of its rows, and Note counts
// them. `name`: as rows have it; `seed`: of draws of the posterior.
// Errors: INVALID_ARGUMENT a model that tells users apart, whom a log names by pseudonyms, or whose
// decisions have no propensities; DATA_LOSS, FAILED_PRECONDITION the file is no export, or one that
// this version does not read; NOT_FOUND, UNAVAILABLE the file.
absl::StatusOr<std::unique_ptr<JudgedPolicy>> MakeExportedPolicy(const std::string& name,
                                                                 const std::string& file,
                                                                 std::uint64_t seed);

}  // namespace bandana
