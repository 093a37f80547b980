// One run of an experiment of [FLIP].
#pragma once

#include "absl/status/statusor.h"
#include "research/lab/cells.h"

namespace bandana::lab {

// Settings: those of the environment `sparse` (dimension, pool, sparsity, noise), and `selected`
// (s; 0 is twice the sparsity, at most the dimension), `reward_abs_max`, `context_abs_max` (0: the
// form's own), `lambda_factor`. A pure function of the cell. Errors: INVALID_ARGUMENT.
absl::StatusOr<CellResult> RunSparse(const Cell& cell);

}  // namespace bandana::lab
