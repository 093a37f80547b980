#include "common/design/planner/sparse_outlook.h"

#include <cmath>

#include "absl/strings/str_format.h"
#include "common/bandits/sparse/residual_update.h"
#include "common/base/status.h"
#include "common/design/server_mechanism.h"
#include "common/mechanisms/sparse/sparse_release.h"

namespace bandana {

absl::StatusOr<std::string> ExplainSparse(const ModelSpec& spec) {
  const Fliphat& fliphat = *spec.mechanism->sparse();
  const FliphatOptions& o = fliphat.options();
  BANDANA_ASSIGN_OR_RETURN(
      const SparseRelease release,
      SparseRelease::Create({.picks = (o.sparsity + 1) / 2, .rho = fliphat.rho()}));
  const ResidualUpdateOptions update = {.dimension = o.dimension,
                                        .context_abs_max = o.context_abs_max,
                                        .context_stddev = o.context_stddev,
                                        .residual_abs_max = o.reward_abs_max};
  std::string text = absl::StrFormat(
      "at most %d entries; features clipped at %g, residuals at %.4g at first; rho %.4g of an "
      "event\nnoise of an entry, released at the end of an episode:\n",
      o.sparsity, o.context_abs_max, o.reward_abs_max, fliphat.rho().value);
  for (int length = 8; length <= 16; length += 2) {
    const double rows = std::ldexp(1, length);
    absl::StrAppendFormat(
        &text, "  of %5.0f events: sd %.3g\n", rows,
        release.stddev() * StepPerContribution(update, o.reward_abs_max, rows, kShareExpected));
  }
  return text;
}

}  // namespace bandana
