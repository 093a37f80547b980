// Sparse linear bandit under joint differential privacy: doubling episodes, greedy within, a
// private estimate at the end of each [FLIP].
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "absl/status/statusor.h"
#include "common/accounting/types.h"
#include "common/bandits/sparse/residual_update.h"
#include "common/bandits/sparse/sparse_estimate.h"
#include "common/base/sha256.h"
#include "common/mechanisms/guarantee.h"
#include "common/mechanisms/sparse/sparse_release.h"
#include "common/random/bit_source.h"
#include "common/random/keyed_stream.h"

namespace bandana {

enum class FliphatForm {
  kResidual,    // what earlier episodes released is kept: rows are summed as residuals against it
  kForgetting,  // [FLIP]: every episode estimates anew, from its own rows alone
};

struct FliphatOptions {
  int dimension = 0;  // d, [1, 2^20]
  // Changes privacy. Of one (context, reward): each lies in one episode, and episodes compose in
  // parallel.
  Epsilon epsilon;  // (0, kEpsilonResearchMax]
  Delta delta;      // (0, 1)
  // Changes behaviour.
  FliphatForm form = FliphatForm::kResidual;
  int sparsity = 10;          // s: entries of the estimate at most, [1, dimension]
  double reward_abs_max = 2;  // R: larger residuals (kForgetting: rewards) are clipped, [1e-9, 1e9]
  double context_stddev = 1;  // of a feature as public knowledge, [1e-6, 1e6]
  double context_abs_max = 0.5;  // x_max: where features are clipped for the estimate, [1e-6, 1e6].
                                 // Smaller: less noise per row; larger: less bias where features
                                 // are far from normal. [FLIP] takes sqrt(2 ln d)
};

// Everything there is after some rounds. Only `sums` is private, and it has no accessor; it is
// cleared when the episode ends.
struct FliphatState {
  std::uint64_t episode = 0;  // l: its length is 2^l rounds
  SparseBelief belief;        // frozen while the episode runs
  SparseSums sums;
};

// The bits of one episode's noise, asked for once per episode, at its end. A host gives the stream
// of its key, the model, this episode and its sums' digest, so that a replay releases the same bits
// and other sums never meet them. Input: SHA-256("bandana sparse sums 1" || SparseSums::Seal()).
using EpisodeBits =
    std::function<absl::StatusOr<BitSource*>(std::uint64_t episode, const NoiseInput& input)>;

// Privacy:  (epsilon, delta)-joint differential privacy of one round's context and reward for the
//           arms shown in all other rounds and for every released estimate. Label `proven`, proof:
//           docs/privacy/fliphat.md.
// Memory:   d sums; no row is kept.
// Threads:  immutable, const methods are safe on states of their own.
// Source:   [FLIP] Algorithm 3; docs/design/papers.md#constants-of-fliphat, proven form.
class Fliphat {
 public:
  static constexpr std::uint64_t kEpisodesMax = 40;
  static constexpr std::uint64_t kRowsMax = (std::uint64_t{1} << kEpisodesMax) - 1;  // of them all
  // Errors: INVALID_ARGUMENT naming the option.
  static absl::StatusOr<Fliphat> Create(const FliphatOptions& options);

  FliphatState Start() const;

  // One round: the features of the arm that was shown and its reward, NaN for a missing one (it
  // counts as 0, as does a NaN feature). Ends the episode with its last round: releases, updates
  // the estimate, forgets the sums. Errors: INVALID_ARGUMENT x has another length;
  // FAILED_PRECONDITION after kEpisodesMax episodes; UNAVAILABLE entropy failed. After an error the
  // state is as before. Cost: O(d) per round.
  absl::Status Apply(FliphatState& state, std::span<const double> x, double reward,
                     const EpisodeBits& bits) const;

  const FliphatOptions& options() const { return options_; }
  // The cost of one event, all episodes together: zero-concentrated, with the tight conversion to
  // (epsilon, delta).
  Rho rho() const { return rho_; }
  // The digest of all parameters: what the noise of an episode is addressed by, beside its belief
  // and rows.
  Sha256Digest digest() const;

 private:
  Fliphat(const FliphatOptions& options, Rho rho) : options_(options), rho_(rho) {}
  // The plan of the release at the end of an episode of `rows` rows; a function of public numbers.
  absl::StatusOr<SparseRelease::Options> PlanRelease(const SparseBelief& belief,
                                                     std::uint64_t rows) const;
  absl::StatusOr<SparseBelief> EndEpisode(const SparseBelief& belief, const SparseSums& sums,
                                          BitSource& bits) const;

  FliphatOptions options_;
  Rho rho_;
};

}  // namespace bandana
