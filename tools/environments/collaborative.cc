#include "tools/environments/collaborative.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "tools/environments/random.h"
#include "tools/environments/vectors.h"

namespace bandana {
namespace {

constexpr int kGroups = 5;
constexpr int kUsersMax = 2000;  // W is dense: 32 MB

struct Shape {
  int users = 0;
  int dimension = 0;
  int arms = 0;
  int pool = 0;
  double noise = 0;
  double reward_abs_max = 0;
  bool banditlib_features = false;
  std::uint64_t world = 1;
};

// One Bernoulli(1/2) mask a group, redrawn while it would leave nothing. Row-major kGroups x d.
std::vector<double> DrawMasks(std::uint64_t seed, StreamPurpose purpose, int dimension) {
  std::vector<double> masks(kGroups * static_cast<std::size_t>(dimension));
  for (int group = 0; group < kGroups; ++group) {
    SeededStream stream(seed, purpose, group);
    const auto mask =
        std::span(masks).subspan(group * static_cast<std::size_t>(dimension), dimension);
    do {
      for (double& entry : mask) entry = static_cast<double>(stream.Next() >> 63);
    } while (std::all_of(mask.begin(), mask.end(), [](double entry) { return entry == 0; }));
  }
  return masks;
}

// Draws `count` vectors of d entries and length 1, entry j from draw(stream, j) times the mask of
// its group, if any.
template <typename DrawEntry>
std::vector<double> DrawVectors(std::uint64_t seed, StreamPurpose purpose, int count, int dimension,
                                const std::vector<double>& masks, DrawEntry draw) {
  std::vector<double> vectors(static_cast<std::size_t>(count) * dimension);
  for (int i = 0; i < count; ++i) {
    SeededStream stream(seed, purpose, i);
    const auto x = std::span(vectors).subspan(static_cast<std::size_t>(i) * dimension, dimension);
    const std::size_t group = static_cast<std::size_t>(i) * kGroups / count;
    do {
      for (int j = 0; j < dimension; ++j) {
        x[j] = draw(stream, j);
        if (!masks.empty()) x[j] *= masks[group * dimension + j];
      }
    } while (!(Dot(x, x) > 0));
    ScaleToLength(x, 1);
  }
  return vectors;
}

class Collaborative final : public Environment {
 public:
  Collaborative(std::string name, const Shape& shape, std::uint64_t seed)
      : shape_(shape), seed_(seed) {
    info_.name = std::move(name);
    info_.form = ArmForm::kInline;
    info_.dimension = shape.dimension;
    info_.users = shape.users;
    info_.pool = shape.pool;
    info_.feature_l2_max = 1;
    info_.reward_min = -shape.reward_abs_max;
    info_.reward_max = shape.reward_abs_max;
    info_.reward_stddev = shape.noise;
    info_.theta_stddev = 1 / std::sqrt(static_cast<double>(shape.dimension));
    DrawThetasAndArms();
    Mix();
  }

  const EnvironmentInfo& info() const override { return info_; }

  void DecisionAt(std::uint64_t index, Choice& out) const override {
    const auto user = static_cast<std::size_t>(index % shape_.users);
    const auto d = static_cast<std::size_t>(shape_.dimension);
    out.user = absl::StrCat(user);
    SeededStream stream(seed_, StreamPurpose::kDecision, index);
    SampleDistinct(stream, shape_.arms, shape_.pool, out.arm_ids);
    const auto parameter = std::span(mixed_).subspan(user * d, d);
    out.features.clear();
    out.expected.clear();
    for (const std::uint32_t arm : out.arm_ids) {
      const auto x = std::span(arms_).subspan(arm * d, d);
      out.features.insert(out.features.end(), x.begin(), x.end());
      out.expected.push_back(Clip(Dot(x, parameter)));
    }
    out.arm_ids.clear();
  }

  double RewardAt(std::uint64_t index, const Choice& decision, int position) const override {
    const auto user = static_cast<std::size_t>(index % shape_.users);
    const auto d = static_cast<std::size_t>(shape_.dimension);
    const auto x = std::span(decision.features).subspan(position * d, d);
    SeededStream stream(seed_, StreamPurpose::kReward, index);
    return Clip(Dot(x, std::span(mixed_).subspan(user * d, d)) + shape_.noise * stream.Normal());
  }

  std::vector<double> Influence() const override { return influence_; }

  std::vector<double> Similarity() const override {
    const int n = shape_.users;
    std::vector<double> weights(static_cast<std::size_t>(n) * n);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        if (i != j) weights[static_cast<std::size_t>(i) * n + j] = Likeness(i, j);
      }
    }
    return weights;
  }

 private:
  double Clip(double reward) const {
    return std::clamp(reward, -shape_.reward_abs_max, shape_.reward_abs_max);
  }

  std::span<const double> Theta(int user) const {
    return std::span(thetas_).subspan(static_cast<std::size_t>(user) * shape_.dimension,
                                      shape_.dimension);
  }
  double Likeness(int i, int j) const { return std::max(0.0, Dot(Theta(i), Theta(j))); }

  void DrawThetasAndArms() {
    const int d = shape_.dimension;
    std::vector<double> user_masks;
    std::vector<double> arm_masks;
    if (shape_.banditlib_features) {
      user_masks = DrawMasks(shape_.world, StreamPurpose::kUserMask, d);
      arm_masks = DrawMasks(seed_, StreamPurpose::kArmMask, d);
    }
    const auto normal = [](SeededStream& stream, int) { return stream.Normal(); };
    const auto uniform = [](SeededStream& stream, int) { return stream.Uniform(); };
    const auto fading = [d](SeededStream& stream, int j) {
      return std::sqrt(static_cast<double>(d - j) / d) * stream.Normal();
    };
    thetas_ = shape_.banditlib_features ? DrawVectors(shape_.world, StreamPurpose::kUserParameter,
                                                      shape_.users, d, user_masks, uniform)
                                        : DrawVectors(shape_.world, StreamPurpose::kUserParameter,
                                                      shape_.users, d, user_masks, normal);
    arms_ = shape_.banditlib_features
                ? DrawVectors(seed_, StreamPurpose::kArm, shape_.arms, d, arm_masks, fading)
                : DrawVectors(seed_, StreamPurpose::kArm, shape_.arms, d, arm_masks, normal);
  }

  // W, and each user's own mixture sum_j W_ju theta_j.
  void Mix() {
    const int n = shape_.users;
    const int d = shape_.dimension;
    influence_.assign(static_cast<std::size_t>(n) * n, 0);
    mixed_.assign(static_cast<std::size_t>(n) * d, 0);
    for (int u = 0; u < n; ++u) {
      double column = 0;  // at least |theta_u|^2 = 1
      for (int j = 0; j < n; ++j) column += Likeness(j, u);
      for (int j = 0; j < n; ++j) {
        const double weight = Likeness(j, u) / column;
        influence_[static_cast<std::size_t>(j) * n + u] = weight;
        for (int k = 0; k < d; ++k)
          mixed_[static_cast<std::size_t>(u) * d + k] += weight * Theta(j)[k];
      }
    }
  }

  EnvironmentInfo info_;
  Shape shape_;
  std::uint64_t seed_;
  std::vector<double> thetas_;     // users x d
  std::vector<double> arms_;       // arms x d
  std::vector<double> influence_;  // users x users
  std::vector<double> mixed_;      // users x d
};

}  // namespace

absl::StatusOr<std::unique_ptr<Environment>> MakeCollaborative(CollaborativePreset preset,
                                                               Settings& settings,
                                                               std::uint64_t seed) {
  const bool banditlib = preset == CollaborativePreset::kBanditLib;
  constexpr std::array<std::string_view, 2> kLaws = {"gaussian", "banditlib"};
  Shape shape;
  BANDANA_ASSIGN_OR_RETURN(shape.users, settings.TakeInt("users", 10, 1, kUsersMax));
  BANDANA_ASSIGN_OR_RETURN(shape.dimension,
                           settings.TakeInt("dimension", banditlib ? 16 : 10, 1, kDimensionMax));
  BANDANA_ASSIGN_OR_RETURN(shape.arms, settings.TakeInt("arms", 1000, 1, kArmsMaxMax));
  BANDANA_ASSIGN_OR_RETURN(shape.pool,
                           settings.TakeInt("pool", std::min(10, shape.arms), 1,
                                            std::min(shape.arms, kArmsPerRequestMaxMax)));
  BANDANA_ASSIGN_OR_RETURN(shape.noise,
                           settings.TakeDouble("noise", banditlib ? 0.01 : 0.05, 0, 10));
  BANDANA_ASSIGN_OR_RETURN(shape.reward_abs_max,
                           settings.TakeDouble("reward_abs_max", banditlib ? 1 : 0.5, 1e-3, 100));
  BANDANA_ASSIGN_OR_RETURN(const std::string law,
                           settings.TakeChoice("features", kLaws[banditlib], kLaws));
  shape.banditlib_features = law == kLaws[1];
  BANDANA_ASSIGN_OR_RETURN(const int world, settings.TakeInt("world", 1, 0, 1'000'000'000));
  shape.world = world;
  BANDANA_RETURN_IF_ERROR(settings.Finish());
  return std::make_unique<Collaborative>(banditlib ? "banditlib" : "synthetic", shape, seed);
}

}  // namespace bandana
