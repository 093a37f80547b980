#include "tools/environments/bernoulli_arms.h"

#include <vector>

#include "common/base/limits.h"
#include "common/base/status.h"
#include "tools/environments/random.h"

namespace bandana {
namespace {

class BernoulliArms final : public Environment {
 public:
  BernoulliArms(int arms, std::uint64_t seed) : seed_(seed) {
    info_.name = "mab";
    info_.dimension = arms;
    info_.users = 1;
    info_.pool = arms;
    info_.feature_l2_max = 1;
    info_.reward_min = 0;
    info_.reward_max = 1;
    info_.reward_binary = true;
    info_.reward_stddev = 0.5;  // the most a Bernoulli variable has
    info_.theta_stddev = 0.58;  // sqrt(E p^2) = sqrt(1/3) for p ~ U(0, 1)
    for (int a = 0; a < arms; ++a) {
      means_.push_back(SeededStream(seed, StreamPurpose::kArm, a).Uniform());
      for (int j = 0; j < arms; ++j) features_.push_back(a == j ? 1 : 0);
    }
  }

  const EnvironmentInfo& info() const override { return info_; }

  void DecisionAt(std::uint64_t, Choice& out) const override {
    out.user = "0";
    out.arm_ids.clear();
    out.features = features_;
    out.expected = means_;
  }

  double RewardAt(std::uint64_t index, const Choice&, int position) const override {
    return SeededStream(seed_, StreamPurpose::kReward, index).Uniform() < means_[position] ? 1 : 0;
  }

 private:
  EnvironmentInfo info_;
  std::uint64_t seed_;
  std::vector<double> means_;     // one an arm
  std::vector<double> features_;  // the identity matrix
};

}  // namespace

absl::StatusOr<std::unique_ptr<Environment>> MakeBernoulliArms(Settings& settings,
                                                               std::uint64_t seed) {
  BANDANA_ASSIGN_OR_RETURN(const int arms, settings.TakeInt("arms", 10, 1, kDimensionMax));
  BANDANA_RETURN_IF_ERROR(settings.Finish());
  return std::make_unique<BernoulliArms>(arms, seed);
}

}  // namespace bandana
