#include "tools/environments/crowd.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "tools/environments/random.h"
#include "tools/environments/vectors.h"
#include "tools/environments/zipf.h"

namespace bandana {
namespace {

constexpr int kCrowdUsersMax = 10'000'000;
constexpr int kCrowdArmsMax = 100'000'000;
constexpr int kLevelsMax = 20;
constexpr double kCrowdRewardAbsMax = 0.5;

struct CrowdShape {
  int users = 0;
  int dimension = 0;
  int arms = 0;
  int pool = 0;
  int levels = 0;
  int group_users = 0;
  double shared = 0;
  double groups = 0;
  double own = 0;
  double popularity = 0;
  double noise = 0;
  double activity = 0;
  double offers = 0;
  double start = 0;
  double arrival_rounds = 0;
  int friends = 0;
  std::uint64_t world = 0;
};

// Which of many, drawn by rank, are there already. Some always are.
class Arrivals {
 public:
  Arrivals(const CrowdShape& shape, StreamPurpose purpose, std::uint64_t seed,
           std::uint64_t at_once)
      : start_(shape.start),
        rounds_(shape.arrival_rounds),
        purpose_(purpose),
        seed_(seed),
        at_once_(at_once) {}

  bool IsThere(std::uint64_t rank, std::uint64_t round) const {
    if (start_ >= 1 || rank < at_once_) return true;
    const double share =
        std::min(1.0, start_ + (1 - start_) * static_cast<double>(round) / rounds_);
    return SeededStream(seed_, purpose_, rank).Uniform() < share;
  }

 private:
  double start_;
  double rounds_;
  StreamPurpose purpose_;
  std::uint64_t seed_;
  std::uint64_t at_once_;
};

class Crowd final : public Environment, public KnownUsers {
 public:
  Crowd(const CrowdShape& shape, std::uint64_t seed)
      : shape_(shape),
        seed_(seed),
        user_law_(shape.users, shape.activity),
        arm_law_(shape.arms, shape.offers),
        user_arrivals_(shape, StreamPurpose::kNewUser, seed, 1),
        arm_arrivals_(shape, StreamPurpose::kNewArm, seed, shape.pool) {
    info_.name = "crowd";
    info_.form = ArmForm::kInline;
    info_.dimension = shape.dimension;
    info_.users = shape.users;
    info_.pool = shape.pool;
    info_.feature_l2_max = 1;
    info_.reward_min = -kCrowdRewardAbsMax;
    info_.reward_max = kCrowdRewardAbsMax;
    info_.reward_stddev = shape.noise;
    info_.theta_stddev = std::sqrt(shape.shared * shape.shared + shape.groups * shape.groups +
                                   shape.own * shape.own);
  }

  const EnvironmentInfo& info() const override { return info_; }
  const KnownUsers* known_users() const override { return this; }

  void DecisionAt(std::uint64_t index, Choice& out) const override {
    SeededStream stream(seed_, StreamPurpose::kDecision, index);
    const std::uint64_t user = DrawUser(stream, index);
    out.user = absl::StrCat(user);
    DrawArms(stream, index, out.arm_ids);
    const auto d = static_cast<std::size_t>(shape_.dimension);
    const std::vector<double> taste = TasteOf(user);
    out.features.resize(out.arm_ids.size() * d);
    out.expected.clear();
    for (std::size_t a = 0; a < out.arm_ids.size(); ++a) {
      const auto x = std::span(out.features).subspan(a * d, d);
      const double popularity = DrawArm(out.arm_ids[a], x);
      out.expected.push_back(Clip(Dot(x, taste) + popularity));
    }
  }

  double RewardAt(std::uint64_t index, const Choice& decision, int position) const override {
    SeededStream stream(seed_, StreamPurpose::kReward, index);
    return Clip(decision.expected[position] + shape_.noise * stream.Normal());
  }

  int levels() const override { return shape_.levels; }

  std::uint32_t GroupOf(std::uint32_t user, int level) const override {
    return static_cast<std::uint32_t>(user / GroupUsers(level));
  }

  void FriendsOf(std::uint32_t user, std::vector<std::uint32_t>& out) const override {
    out.clear();
    SeededStream stream(shape_.world, StreamPurpose::kFriend, user);
    const auto users = static_cast<std::uint64_t>(shape_.users);
    for (int i = 0; i < shape_.friends; ++i) {
      int level = shape_.levels - 1;
      while (level >= 0 && stream.Uniform() < 0.5) --level;
      std::uint64_t first = 0;
      std::uint64_t size = users;
      if (level >= 0 && GroupUsers(level) < users) {
        size = GroupUsers(level);
        first = user / size * size;
        size = std::min(size, users - first);
      }
      out.push_back(static_cast<std::uint32_t>(first + stream.Below(size)));
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    std::erase(out, user);
  }

 private:
  static double Clip(double reward) {
    return std::clamp(reward, -kCrowdRewardAbsMax, kCrowdRewardAbsMax);
  }

  // The level's, 0 for the largest groups.
  std::uint64_t GroupUsers(int level) const {
    return static_cast<std::uint64_t>(shape_.group_users) << (shape_.levels - 1 - level);
  }

  std::uint64_t DrawUser(SeededStream& stream, std::uint64_t index) const {
    std::uint64_t rank = user_law_.Draw(stream);
    while (!user_arrivals_.IsThere(rank, index)) rank = user_law_.Draw(stream);
    return Permuted(seed_, 0, shape_.users, rank);
  }

  void DrawArms(SeededStream& stream, std::uint64_t index, std::vector<std::uint32_t>& out) const {
    out.clear();
    while (out.size() < static_cast<std::size_t>(shape_.pool)) {
      const auto arm = static_cast<std::uint32_t>(arm_law_.Draw(stream));
      if (!arm_arrivals_.IsThere(arm, index)) continue;
      if (std::find(out.begin(), out.end(), arm) == out.end()) out.push_back(arm);
    }
    Shuffle(stream, std::span(out));
  }

  // Adds `stddev` times the normal vector of this group of this level.
  void AddTheta(int level, std::uint64_t group, double stddev, std::span<double> out) const {
    if (stddev == 0) return;
    SeededStream stream(seed_, StreamPurpose::kUserParameter,
                        static_cast<std::uint64_t>(level) << 40 | group);
    for (double& entry : out) entry += stddev * stream.QuickNormal();
  }

  std::vector<double> TasteOf(std::uint64_t user) const {
    std::vector<double> taste(shape_.dimension);
    AddTheta(0, 0, shape_.shared, taste);
    const double of_level = shape_.groups / std::sqrt(static_cast<double>(shape_.levels));
    for (int level = 0; level < shape_.levels; ++level) {
      AddTheta(level + 1, GroupOf(static_cast<std::uint32_t>(user), level), of_level, taste);
    }
    AddTheta(shape_.levels + 1, user, shape_.own, taste);
    return taste;
  }

  // Fills x; returns how much more than others the arm earns with everybody.
  double DrawArm(std::uint32_t arm, std::span<double> x) const {
    SeededStream stream(seed_, StreamPurpose::kArm, arm);
    for (double& entry : x) entry = stream.QuickNormal();
    ScaleToLength(x, 1);
    return shape_.popularity * stream.QuickNormal();
  }

  EnvironmentInfo info_;
  CrowdShape shape_;
  std::uint64_t seed_;
  ZipfLaw user_law_;
  ZipfLaw arm_law_;
  Arrivals user_arrivals_;
  Arrivals arm_arrivals_;
};

absl::StatusOr<CrowdShape> TakeCrowdShape(Settings& settings) {
  CrowdShape shape;
  BANDANA_ASSIGN_OR_RETURN(shape.users, settings.TakeInt("users", 100'000, 1, kCrowdUsersMax));
  BANDANA_ASSIGN_OR_RETURN(shape.dimension, settings.TakeInt("dimension", 10, 1, kDimensionMax));
  BANDANA_ASSIGN_OR_RETURN(shape.arms, settings.TakeInt("arms", 10'000, 1, kCrowdArmsMax));
  BANDANA_ASSIGN_OR_RETURN(shape.pool,
                           settings.TakeInt("pool", std::min(10, shape.arms), 1,
                                            std::min(shape.arms, kArmsPerRequestMaxMax)));
  BANDANA_ASSIGN_OR_RETURN(shape.levels, settings.TakeInt("levels", 8, 1, kLevelsMax));
  BANDANA_ASSIGN_OR_RETURN(shape.group_users,
                           settings.TakeInt("group_users", 50, 1, kCrowdUsersMax));
  BANDANA_ASSIGN_OR_RETURN(shape.shared, settings.TakeDouble("shared", 0.1, 0, 1));
  BANDANA_ASSIGN_OR_RETURN(shape.groups, settings.TakeDouble("groups", 0.15, 0, 1));
  BANDANA_ASSIGN_OR_RETURN(shape.own, settings.TakeDouble("own", 0.05, 0, 1));
  BANDANA_ASSIGN_OR_RETURN(shape.popularity, settings.TakeDouble("popularity", 0.05, 0, 1));
  BANDANA_ASSIGN_OR_RETURN(shape.noise, settings.TakeDouble("noise", 0.1, 0, 1));
  BANDANA_ASSIGN_OR_RETURN(shape.activity, settings.TakeDouble("activity", 1, 0, 10));
  BANDANA_ASSIGN_OR_RETURN(shape.offers, settings.TakeDouble("offers", 0, 0, 2));
  BANDANA_ASSIGN_OR_RETURN(shape.start, settings.TakeDouble("start", 1, 0.001, 1));
  BANDANA_ASSIGN_OR_RETURN(shape.arrival_rounds,
                           settings.TakeDouble("arrival_rounds", 1e6, 1, 1e12));
  BANDANA_ASSIGN_OR_RETURN(shape.friends, settings.TakeInt("friends", 10, 0, 1000));
  BANDANA_ASSIGN_OR_RETURN(const int world, settings.TakeInt("world", 1, 0, 1'000'000'000));
  shape.world = world;
  BANDANA_RETURN_IF_ERROR(settings.Finish());
  return shape;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Environment>> MakeCrowd(Settings& settings, std::uint64_t seed) {
  BANDANA_ASSIGN_OR_RETURN(const CrowdShape shape, TakeCrowdShape(settings));
  return std::make_unique<Crowd>(shape, seed);
}

}  // namespace bandana
