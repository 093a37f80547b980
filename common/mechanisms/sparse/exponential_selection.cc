#include "common/mechanisms/sparse/exponential_selection.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "common/accounting/rounding.h"
#include "common/base/check.h"
#include "common/base/status.h"
#include "common/random/samplers.h"

namespace bandana {
namespace {

constexpr int kPicksMax = 1 << 20;
constexpr int kEpsilonBits = 20;
// Each proposal is accepted with probability at least 1 / left: (1 - 1/left)^(4096 left) < e^-4096.
constexpr std::uint64_t kProposalsPerCandidate = 4096;

}  // namespace

// PROOF: fliphat begin
absl::StatusOr<ExponentialSelection> ExponentialSelection::Create(const Options& options) {
  if (options.picks < 1 || options.picks > kPicksMax) {
    return InvalidArgument("picks must be in [1, 2^20], got ", options.picks);
  }
  if (options.sensitivity < 1 || options.sensitivity > kSensitivityMax) {
    return InvalidArgument("sensitivity must be in [1, 2^40], got ", options.sensitivity);
  }
  const double epsilon = std::sqrt(8 * options.rho.value / options.picks) / kOutward;
  if (!(epsilon >= 0x1p-20 && epsilon <= 0x1p10)) {
    return InvalidArgument("sqrt(8 rho / picks) must be in [2^-20, 2^10], got ", epsilon);
  }
  return ExponentialSelection(options,
                              static_cast<std::uint64_t>(std::ldexp(epsilon, kEpsilonBits)));
}

absl::StatusOr<std::size_t> ExponentialSelection::PickOne(std::span<const std::int64_t> scores,
                                                          std::span<const int> left,
                                                          BitSource& bits) const {
  std::int64_t best = 0;
  for (const int j : left) best = std::max(best, scores[j]);
  const std::uint64_t proposals = kProposalsPerCandidate * left.size();
  for (std::uint64_t attempt = 0; attempt < proposals; ++attempt) {
    BANDANA_ASSIGN_OR_RETURN(const std::uint64_t place, UniformBelow(left.size(), bits));
    // (best - U) e0 / (2 sensitivity); below 2^62 2^30, over a denominator below 2^61.
    const auto gap = static_cast<unsigned __int128>(best - scores[left[place]]);
    ExactRatio x{.numerator = gap * epsilon_steps_,
                 .factor = static_cast<std::uint64_t>(options_.sensitivity),
                 .shift = kEpsilonBits + 1};
    while (x.shift > 0 && (x.numerator & 1) == 0) {
      x.numerator >>= 1;
      --x.shift;
    }
    BANDANA_ASSIGN_OR_RETURN(const bool accepted, BernoulliExp(x, bits));
    if (accepted) return static_cast<std::size_t>(place);
  }
  return StuckEntropy();
}

absl::StatusOr<std::vector<int>> ExponentialSelection::Pick(std::span<const std::int64_t> scores,
                                                            std::span<const int> excluded,
                                                            BitSource& bits) const {
  std::vector<char> out(scores.size(), 0);
  for (const int j : excluded) {
    if (j < 0 || static_cast<std::size_t>(j) >= scores.size()) {
      return InvalidArgument("excluded must be positions below ", scores.size(), ", got ", j);
    }
    out[j] = 1;
  }
  std::vector<int> left;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    BANDANA_CHECK(scores[j] >= 0 && scores[j] <= kScoreMax);
    if (out[j] == 0) left.push_back(static_cast<int>(j));
  }
  if (left.size() < static_cast<std::size_t>(options_.picks)) {
    return InvalidArgument("picks must be at most the ", left.size(), " coordinates left, got ",
                           options_.picks);
  }
  std::vector<int> picked;
  for (int i = 0; i < options_.picks; ++i) {
    BANDANA_ASSIGN_OR_RETURN(const std::size_t place, PickOne(scores, left, bits));
    picked.push_back(left[place]);
    left[place] = left.back();
    left.pop_back();
  }
  return picked;
}

Epsilon ExponentialSelection::epsilon_per_pick() const {
  return {std::ldexp(static_cast<double>(epsilon_steps_), -kEpsilonBits)};
}

Rho ExponentialSelection::rho() const {
  const double epsilon = epsilon_per_pick().value;
  return {options_.picks * epsilon * epsilon / 8 * kOutward};
}
// PROOF: fliphat end

}  // namespace bandana
