#include "tools/environments/sphere.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "tools/environments/random.h"
#include "tools/environments/vectors.h"

namespace bandana {
namespace {

class Sphere final : public Environment {
 public:
  Sphere(Link link, int users, int dimension, int pool, double theta_l2, double noise,
         std::uint64_t seed)
      : seed_(seed), noise_(noise) {
    info_.name = "sphere";
    info_.dimension = dimension;
    info_.users = users;
    info_.pool = pool;
    info_.feature_l2_max = 1;
    info_.link = link;
    info_.reward_min = link == Link::kLinear ? -1 : 0;
    info_.reward_max = 1;
    info_.reward_binary = noise == 0;
    // For +1 or -1: sqrt(1 - (x . theta)^2), within 3 % of 1 for all but the best arms. For 1 or 0:
    // at most 1/2.
    info_.reward_stddev = noise > 0 ? noise : (info_.reward_max - info_.reward_min) / 2;
    info_.theta_stddev = theta_l2 / std::sqrt(static_cast<double>(dimension));
    thetas_.resize(static_cast<std::size_t>(users) * dimension);
    for (int user = 0; user < users; ++user) {
      SeededStream stream(seed, StreamPurpose::kUserParameter, user);
      DrawDirection(
          stream, theta_l2,
          std::span(thetas_).subspan(static_cast<std::size_t>(user) * dimension, dimension));
    }
  }

  const EnvironmentInfo& info() const override { return info_; }

  void DecisionAt(std::uint64_t index, Choice& out) const override {
    const auto user = static_cast<std::size_t>(index % info_.users);
    const auto d = static_cast<std::size_t>(info_.dimension);
    out.user = absl::StrCat(user);
    out.arm_ids.clear();
    out.features.resize(info_.pool * d);
    out.expected.resize(info_.pool);
    SeededStream stream(seed_, StreamPurpose::kDecision, index);
    for (int a = 0; a < info_.pool; ++a) {
      const auto x = std::span(out.features).subspan(a * d, d);
      DrawDirection(stream, 1, x);
      out.expected[a] = LinkMean(info_.link, Dot(x, std::span(thetas_).subspan(user * d, d)));
    }
  }

  double RewardAt(std::uint64_t index, const Choice& decision, int position) const override {
    SeededStream stream(seed_, StreamPurpose::kReward, index);
    if (noise_ > 0)
      return std::clamp(decision.expected[position] + noise_ * stream.Normal(), -1.0, 1.0);
    const double share =
        (decision.expected[position] - info_.reward_min) / (info_.reward_max - info_.reward_min);
    return stream.Uniform() < share ? info_.reward_max : info_.reward_min;
  }

 private:
  EnvironmentInfo info_;
  std::uint64_t seed_;
  double noise_;
  std::vector<double> thetas_;  // users x d
};

}  // namespace

absl::StatusOr<std::unique_ptr<Environment>> MakeSphere(Settings& settings, std::uint64_t seed) {
  BANDANA_ASSIGN_OR_RETURN(const int users, settings.TakeInt("users", 1, 1, kIndependentUsersMax));
  BANDANA_ASSIGN_OR_RETURN(const int dimension, settings.TakeInt("dimension", 5, 1, kDimensionMax));
  BANDANA_ASSIGN_OR_RETURN(const int pool, settings.TakeInt("pool", 25, 1, kArmsPerRequestMaxMax));
  BANDANA_ASSIGN_OR_RETURN(const std::string name, settings.TakeText("link", "linear"));
  BANDANA_ASSIGN_OR_RETURN(const Link link, ParseLink(name));
  const bool linear = link == Link::kLinear;
  BANDANA_ASSIGN_OR_RETURN(const double theta_l2, settings.TakeDouble("theta_l2", linear ? 0.75 : 4,
                                                                      1e-3, linear ? 1 : 1000));
  BANDANA_ASSIGN_OR_RETURN(const double noise, settings.TakeDouble("noise", 0, 0, 10));
  if (!linear && noise > 0) return InvalidArgument("noise must be 0 with link=logistic");
  BANDANA_RETURN_IF_ERROR(settings.Finish());
  return std::make_unique<Sphere>(link, users, dimension, pool, theta_l2, noise, seed);
}

}  // namespace bandana
