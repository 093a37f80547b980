// Simulated worlds: who asks, which arms are on offer, what each is worth. Shared by the fleet and
// the lab.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/bandits/bco/domain.h"
#include "common/ranking/link.h"
#include "tools/base/settings.h"

namespace bandana {

// How arms are named on the wire.
enum class ArmForm { kInline, kCatalogue };

// One decision to make. A caller reuses one object so that its vectors keep their memory.
struct Choice {
  std::string user;                    // id on the wire
  std::vector<double> features;        // kInline: n x d, row-major
  std::vector<std::uint32_t> arm_ids;  // kCatalogue: n ids; kInline: n ids, or none
  std::vector<double>
      expected;  // n: E[reward] before noise, clipped to the reward range. Hidden from any policy

  double BestExpected() const;
  // Expected reward of a uniformly random choice.
  double MeanExpected() const;
};

// The properties that a model must be configured for.
struct EnvironmentInfo {
  std::string name;
  ArmForm form = ArmForm::kInline;
  int dimension = 0;
  int users = 0;
  int pool = 0;               // arms on offer in one decision
  double feature_l2_max = 1;  // no feature vector is longer
  double reward_min = 0;      // every reward lies in [reward_min, reward_max]
  double reward_max = 1;
  bool reward_binary = false;  // every reward is one of the two
  Link link = Link::kLinear;   // of the expected reward, in x . theta
  double reward_stddev = 1;    // of a reward around its expectation, reward units
  double theta_stddev =
      1;  // root mean square of an entry of a user's parameter, before users are mixed
};

// The rewards of actions that are points of a domain. Threads: const methods are safe. Immutable.
class PointRewards {
 public:
  virtual ~PointRewards() = default;
  virtual const ConvexDomain& domain() const = 0;
  // The expected reward's gradient is so Lipschitz.
  virtual double smoothness() const = 0;
  // E[reward] of the best point, of one drawn uniformly from the domain, and of `point`, which must
  // lie in the domain. Hidden from any policy.
  virtual double BestExpected() const = 0;
  virtual double MeanExpected() const = 0;
  virtual double Expected(std::span<const double> point) const = 0;
  // The reward of `point` in decision `index`: the same draw for every point.
  virtual double RewardAt(std::uint64_t index, std::span<const double> point) const = 0;
};

// Knowledge of users before they react, where there are too many for a matrix: groups, one per
// level, and friends. Users are 0 .. info().users - 1, their ids on the wire the decimal numbers.
// Threads: const methods are safe. Immutable.
class KnownUsers {
 public:
  virtual ~KnownUsers() = default;
  virtual int levels() const = 0;
  // `level` in [0, levels()), from the largest groups to the smallest.
  virtual std::uint32_t GroupOf(std::uint32_t user, int level) const = 0;
  // Those that the user made friends with, ascending; one of two friends names the other.
  virtual void FriendsOf(std::uint32_t user, std::vector<std::uint32_t>& out) const = 0;
};

// Choice i is a pure function of (settings, seed, i): whatever is in flight, in whatever order,
// the sequence is the same. Threads: const methods are safe. Immutable.
class Environment {
 public:
  virtual ~Environment() = default;
  virtual const EnvironmentInfo& info() const = 0;

  virtual void DecisionAt(std::uint64_t index, Choice& out) const = 0;
  // Reward of showing arm `position` of decision `index`. Its noise is the same whichever arm is
  // shown. Requires arms.
  virtual double RewardAt(std::uint64_t index, const Choice& decision, int position) const = 0;
  // Not null where actions are points: a decision then has a user and no arms.
  virtual const PointRewards* points() const { return nullptr; }

  // Not null where users have groups.
  virtual const KnownUsers* known_users() const { return nullptr; }

  // W, users x users row-major: entry (j, u) is how much the parameter of user j counts for user u;
  // columns sum to 1. Empty where users do not influence each other.
  virtual std::vector<double> Influence() const { return {}; }
  // Symmetric weights >= 0 between users, zero diagonal, users x users; empty where there are none.
  virtual std::vector<double> Similarity() const { return {}; }
};

// `spec`: synthetic, banditlib, crowd, sphere, sparse, mab, points, or hetrec:DIR[:replay].
// Settings are documented in docs/fleet.md. Errors: INVALID_ARGUMENT spec, setting or file content
// (with file and line); NOT_FOUND files.
absl::StatusOr<std::unique_ptr<Environment>> MakeEnvironment(std::string_view spec,
                                                             Settings settings, std::uint64_t seed);

}  // namespace bandana
