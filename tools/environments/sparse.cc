#include "tools/environments/sparse.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "common/base/limits.h"
#include "common/base/status.h"
#include "tools/environments/random.h"
#include "tools/environments/vectors.h"

namespace bandana {
namespace {

constexpr double kCorrelation = 0.1;
constexpr std::array kLeadingEntries = {0.7484, 0.6370, 0.6345, 0.6964, 0.7199};
constexpr int kSimulatedDimensionMax = 10'000;  // the lab goes beyond what a server hosts

class Sparse final : public Environment {
 public:
  Sparse(int dimension, int pool, std::vector<double> beta, double noise, std::uint64_t seed)
      : seed_(seed), noise_(noise), beta_(std::move(beta)) {
    const int sparsity = static_cast<int>(beta_.size());
    double variance = 0;  // beta' Sigma beta
    for (int i = 0; i < sparsity; ++i) {
      for (int j = 0; j < sparsity; ++j)
        variance += beta_[i] * beta_[j] * std::pow(kCorrelation, std::abs(i - j));
    }
    info_.name = "sparse";
    info_.dimension = dimension;
    info_.users = 1;
    info_.pool = pool;
    info_.feature_l2_max = std::sqrt(static_cast<double>(dimension)) + 6;
    info_.reward_max = 6 * std::sqrt(variance);
    info_.reward_min = -info_.reward_max;
    info_.reward_stddev = noise;
    info_.theta_stddev = std::sqrt(Dot(beta_, beta_) / dimension);
  }

  const EnvironmentInfo& info() const override { return info_; }

  void DecisionAt(std::uint64_t index, Choice& out) const override {
    const auto d = static_cast<std::size_t>(info_.dimension);
    out.user = "0";
    out.arm_ids.clear();
    out.features.resize(info_.pool * d);
    out.expected.resize(info_.pool);
    SeededStream stream(seed_, StreamPurpose::kDecision, index);
    const double innovation = std::sqrt(1 - kCorrelation * kCorrelation);
    for (int a = 0; a < info_.pool; ++a) {
      const auto x = std::span(out.features).subspan(a * d, d);
      // An AR(1) sequence has exactly this covariance.
      x[0] = stream.QuickNormal();
      for (std::size_t j = 1; j < d; ++j)
        x[j] = kCorrelation * x[j - 1] + innovation * stream.QuickNormal();
      out.expected[a] = Clip(Dot(beta_, x));
    }
  }

  double RewardAt(std::uint64_t index, const Choice& decision, int position) const override {
    const auto x =
        std::span(decision.features).subspan(position * static_cast<std::size_t>(info_.dimension));
    SeededStream stream(seed_, StreamPurpose::kReward, index);
    return Clip(Dot(beta_, x) + noise_ * stream.Normal());
  }

 private:
  double Clip(double reward) const {
    return std::clamp(reward, info_.reward_min, info_.reward_max);
  }

  EnvironmentInfo info_;
  std::uint64_t seed_;
  double noise_;
  std::vector<double> beta_;  // the leading entries; the rest is 0
};

// Takes `dimension` and `sparsity`.
struct SparseShape {
  int dimension = 0;
  std::vector<double> beta;
};
absl::StatusOr<SparseShape> TakeSparseShape(Settings& settings) {
  SparseShape shape;
  BANDANA_ASSIGN_OR_RETURN(shape.dimension,
                           settings.TakeInt("dimension", 400, 1, kSimulatedDimensionMax));
  BANDANA_ASSIGN_OR_RETURN(
      const int sparsity,
      settings.TakeInt("sparsity", std::min(5, shape.dimension), 1, shape.dimension));
  shape.beta.resize(sparsity);
  for (int i = 0; i < sparsity; ++i) shape.beta[i] = kLeadingEntries[i % kLeadingEntries.size()];
  return shape;
}

}  // namespace

absl::StatusOr<std::vector<double>> SparseParameter(Settings settings) {
  BANDANA_ASSIGN_OR_RETURN(SparseShape shape, TakeSparseShape(settings));
  return std::move(shape.beta);
}

absl::StatusOr<std::unique_ptr<Environment>> MakeSparse(Settings& settings, std::uint64_t seed) {
  BANDANA_ASSIGN_OR_RETURN(SparseShape shape, TakeSparseShape(settings));
  BANDANA_ASSIGN_OR_RETURN(const int pool, settings.TakeInt("pool", 3, 1, kArmsPerRequestMaxMax));
  BANDANA_ASSIGN_OR_RETURN(const double noise, settings.TakeDouble("noise", 0.1, 0, 100));
  BANDANA_RETURN_IF_ERROR(settings.Finish());
  return std::make_unique<Sparse>(shape.dimension, pool, std::move(shape.beta), noise, seed);
}

}  // namespace bandana
