#include "common/mechanisms/sparse/sparse_release.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "common/accounting/rounding.h"
#include "common/base/check.h"
#include "common/base/status.h"
#include "common/mechanisms/canonical_text.h"
#include "common/mechanisms/counters/erase.h"
#include "common/mechanisms/sparse/exponential_selection.h"

namespace bandana {
namespace {

constexpr int kContextBits = 8;
constexpr int kResidualBits = 10;
constexpr int kProductBits = kContextBits + kResidualBits;
// One row in place of another moves a coordinate of u by at most two contributions. Count and
// energy are weighted to move by as much.
constexpr std::int64_t kSensitivity = std::int64_t{2} << kProductBits;
constexpr int kCoordinatesMax = 1 << 20;

// PROOF: fliphat begin
// value / bound, clipped to [-1, 1], to the nearest step of 2^-bits; NaN is 0.
std::int64_t ToSteps(double value, double bound, int bits) {
  const double steps = static_cast<double>(std::int64_t{1} << bits);
  const double scaled = value / bound * steps;
  if (scaled >= steps) return std::int64_t{1} << bits;
  if (scaled <= -steps) return -(std::int64_t{1} << bits);
  if (!(scaled == scaled)) return 0;
  return static_cast<std::int64_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

std::int64_t Numbers(const SparseRelease::Options& options) {
  return std::int64_t{options.given} + options.picks + (options.scales ? 2 : 0);
}

Rho ValuesRho(const SparseRelease::Options& options) {
  return {options.picks > 0 ? options.rho.value / 2 : options.rho.value};
}
// PROOF: fliphat end

}  // namespace

// PROOF: fliphat begin
void SparseSums::Add(std::span<const double> x, double residual, double energy, const Clip& clip) {
  BANDANA_CHECK(x.size() == sums_.size());
  BANDANA_CHECK(rows_ < kRowsMax);
  BANDANA_CHECK(clip.context_abs_max > 0 && clip.residual_abs_max > 0);
  ++rows_;
  if (std::abs(residual) <= clip.residual_abs_max) ++unclipped_;
  energy_ += std::max(std::int64_t{0}, ToSteps(energy, 1, kResidualBits));
  const std::int64_t b = ToSteps(residual, clip.residual_abs_max, kResidualBits);
  for (std::size_t j = 0; j < x.size(); ++j) {
    sums_[j] += ToSteps(x[j], clip.context_abs_max, kContextBits) * b;  // below 2^40 2^18
  }
}

SparseSums::~SparseSums() { Erase(sums_); }

void SparseSums::Clear() {
  Erase(sums_);
  unclipped_ = 0;
  energy_ = 0;
  rows_ = 0;
}

absl::StatusOr<SparseRelease> SparseRelease::Create(const Options& options) {
  if (options.given < 0 || options.given > kCoordinatesMax) {
    return InvalidArgument("given must be in [0, 2^20], got ", options.given);
  }
  if (options.picks < 0 || options.picks > kCoordinatesMax) {
    return InvalidArgument("picks must be in [0, 2^20], got ", options.picks);
  }
  if (!(options.rho.value > 0 && options.rho.value <= 1e6)) {
    return InvalidArgument("rho must be in (0, 1e6], got ", options.rho.value);
  }
  const std::int64_t numbers = Numbers(options);
  if (numbers == 0) return InvalidArgument("given, picks and scales must not all be 0");
  // Delta_2^2 = numbers kSensitivity^2, an integer below 2^61.
  const auto squared = static_cast<double>(numbers * kSensitivity * kSensitivity);
  const double sigma_squared =
      std::max(1.0, std::ceil(squared / (2 * ValuesRho(options).value) * kOutward));
  if (!(sigma_squared <= static_cast<double>(DiscreteGaussian::kSigmaSquaredMax))) {
    return InvalidArgument("rho must be at least about ", numbers, " / 2^15, got ",
                           options.rho.value);
  }
  BANDANA_ASSIGN_OR_RETURN(DiscreteGaussian noise,
                           DiscreteGaussian::Create(static_cast<std::uint64_t>(sigma_squared)));
  return SparseRelease(options, noise);
}

SparseRelease::SparseRelease(const Options& options, DiscreteGaussian noise)
    : options_(options), noise_(noise) {
  descriptor_ = {
      .name = "sparse-release",
      .label = GuaranteeLabel::kProven,
      .sensitivity = std::sqrt(static_cast<double>(Numbers(options))) * kSensitivity * kOutward,
      .cost = PrivacyCost::Zcdp({options.rho.value * kOutward}),
      .parameters = CanonicalText("bandana sparse release 2")
                        .Add(static_cast<std::uint64_t>(options.given))
                        .Add(static_cast<std::uint64_t>(options.picks))
                        .Add(std::uint64_t{options.scales})
                        .Add(options.rho.value)
                        .Hash()};
}

absl::StatusOr<ReleasedSums> SparseRelease::Release(const SparseSums& sums,
                                                    std::span<const int> given,
                                                    BitSource& bits) const {
  if (given.size() != static_cast<std::size_t>(options_.given)) {
    return InvalidArgument("given must be ", options_.given, " coordinates, got ", given.size());
  }
  std::vector<int> sorted(given.begin(), given.end());
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end() ||
      (!sorted.empty() && (sorted.front() < 0 || sorted.back() >= sums.dimension()))) {
    return InvalidArgument("given must be distinct coordinates below ", sums.dimension());
  }
  ReleasedSums released{.coordinates = {given.begin(), given.end()}, .rows = sums.rows_};
  if (options_.picks > 0) {
    std::vector<std::int64_t> scores(sums.sums_.size());
    for (std::size_t j = 0; j < scores.size(); ++j) scores[j] = std::abs(sums.sums_[j]);
    BANDANA_ASSIGN_OR_RETURN(const ExponentialSelection selection,
                             ExponentialSelection::Create({.picks = options_.picks,
                                                           .rho = {options_.rho.value / 2},
                                                           .sensitivity = kSensitivity}));
    BANDANA_ASSIGN_OR_RETURN(const std::vector<int> picked, selection.Pick(scores, given, bits));
    released.coordinates.insert(released.coordinates.end(), picked.begin(), picked.end());
  }
  for (const int j : released.coordinates) {
    BANDANA_ASSIGN_OR_RETURN(const std::int64_t noise, noise_.Sample(bits));
    released.sums.push_back(std::ldexp(static_cast<double>(sums.sums_[j] + noise), -kProductBits));
  }
  if (options_.scales) {
    BANDANA_ASSIGN_OR_RETURN(const std::int64_t of_count, noise_.Sample(bits));
    BANDANA_ASSIGN_OR_RETURN(const std::int64_t of_energy, noise_.Sample(bits));
    const std::int64_t energy = sums.energy_ * (kSensitivity >> kResidualBits);
    released.unclipped = std::ldexp(static_cast<double>(sums.unclipped_ * kSensitivity + of_count),
                                    -kProductBits - 1);
    released.energy = std::ldexp(static_cast<double>(energy + of_energy), -kProductBits - 1);
  }
  return released;
}
// PROOF: fliphat end

static_assert(std::endian::native == std::endian::little, "numbers are copied as they stand");

SealedState SparseSums::Seal() const {
  std::vector<std::byte> bytes((3 + sums_.size()) * sizeof(std::int64_t));
  std::byte* out = bytes.data();
  const auto put = [&out](const void* from, std::size_t size) {
    std::memcpy(out, from, size);
    out += size;
  };
  put(&rows_, sizeof rows_);
  put(&unclipped_, sizeof unclipped_);
  put(&energy_, sizeof energy_);
  put(sums_.data(), sums_.size() * sizeof(std::int64_t));
  return SealedState(std::move(bytes));
}

absl::StatusOr<SparseSums> SparseSums::Restore(int dimension, std::span<const std::byte> sealed) {
  SparseSums read(dimension);
  if (sealed.size() != (3 + read.sums_.size()) * sizeof(std::int64_t)) {
    return DataLoss("sparse sums: ", sealed.size(), " bytes for ", dimension, " coordinates");
  }
  const std::byte* in = sealed.data();
  const auto take = [&in](void* to, std::size_t size) {
    std::memcpy(to, in, size);
    in += size;
  };
  take(&read.rows_, sizeof read.rows_);
  take(&read.unclipped_, sizeof read.unclipped_);
  take(&read.energy_, sizeof read.energy_);
  take(read.sums_.data(), read.sums_.size() * sizeof(std::int64_t));
  if (read.rows_ > kRowsMax) return DataLoss("sparse sums: more than 2^40 rows");
  const auto rows = static_cast<std::int64_t>(read.rows_);
  const auto within = [](std::int64_t value, std::int64_t min, std::int64_t max) {
    return value >= min && value <= max;
  };
  if (!within(read.unclipped_, 0, rows) || !within(read.energy_, 0, rows << kResidualBits)) {
    return DataLoss("sparse sums: the count or the energy is out of range");
  }
  const std::int64_t most = rows << kProductBits;
  if (!std::all_of(read.sums_.begin(), read.sums_.end(),
                   [&](std::int64_t sum) { return within(sum, -most, most); })) {
    return DataLoss("sparse sums: a sum is out of range");
  }
  return read;
}

double SparseRelease::stddev() const {
  return std::ldexp(std::sqrt(static_cast<double>(noise_.sigma_squared())), -kProductBits);
}

}  // namespace bandana
