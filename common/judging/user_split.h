// A traffic split, judged over users: which model brings more, where an alias gives each user one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/decisions/logged_decision.h"
#include "common/judging/judged_unit.h"
#include "common/judging/row.h"

namespace bandana {

struct SplitModel {
  std::string name;
  double share = 0;  // of the users; all add up to 1
};

struct SplitOptions {
  std::size_t decisions = 5;                  // a user's first so many count
  absl::Duration horizon = absl::Hours(168);  // after the user's first
  std::optional<double> unreported;           // the reward of decisions without a report
  double confidence = 0.95;
};

struct SplitAnswer {
  struct Value {
    std::string model;
    std::uint64_t users = 0;
    std::optional<double> value, low, high;  // mean reward per decision of a user
  };
  std::vector<Value> models;
  Value difference;           // of the second model to the first, if there are two
  std::uint64_t open = 0;     // users whose decisions are not all closed
  std::uint64_t both = 0;     // users whom two models had: left out
  std::uint64_t skipped = 0;  // decisions that CheckDecision refuses, or that name no user
  std::string error;          // why the split cannot be judged; empty: it can
};

// A user whose decisions are closed.
struct SplitUser {
  std::string name;
  std::size_t model = 0;
  absl::Time first;   // decision
  double reward = 0;  // the mean over the decisions that count
};

// The user as a decision of a policy that draws a model by its share.
LoggedDecision SplitUnit(const SplitUser& user, const std::vector<SplitModel>& models);
// The models' values, and the difference of the second to the first where there are two.
struct SplitPolicies {
  std::vector<std::unique_ptr<JudgedPolicy>> policies;
  std::vector<JudgedPair> pairs;
};
SplitPolicies MakeSplitPolicies(std::size_t models);

// Users are the units: one model decides for a user again and again, so decisions of one user are
// alike, and a test over decisions rejects equal models in 75 % of worlds. Here a user is one
// decision of the log of a policy that draws a model by its share, with the mean of the first few
// rewards; values and difference are those of Judge. Users come in the order of their first
// decision, not of completion: who comes back sooner may follow the model. They enter when all that
// may count of them is closed, and their decisions count whether reported or not.
//
// Memory: about 100 bytes per user. Not thread-safe.
// Source: docs/design/judging.md#traffic-splits.
class UserSplit {
 public:
  UserSplit(SplitOptions options, std::vector<SplitModel> models);

  // A decision of that model. Decisions of one model come in the order of their times; those of
  // different models in any.
  void Add(std::size_t model, const LoggedDecision& decision);

  // After all of them. `closed`: decisions from this time on may still get a reward.
  SplitAnswer Finish(absl::Time closed) const;
  // In the order of their first decisions; counts those that do not enter in `answer`.
  std::vector<SplitUser> Users(absl::Time closed, SplitAnswer& answer) const;

 private:
  struct User {
    std::size_t model = 0;
    absl::Time first;
    std::uint32_t decisions = 0;
    double sum = 0;
    bool both = false;
  };
  // The reward of a decision: the sum over its slots. False: it is open, or unreported and nobody
  // said what that counts.
  bool RewardOf(const LoggedDecision& decision, double& reward);

  const SplitOptions options_;
  const std::vector<SplitModel> models_;
  std::unordered_map<std::string, User> users_;
  std::optional<RewardScale> scale_;
  std::optional<RewardRange> range_;
  std::optional<absl::Time> first_open_;
  std::uint64_t skipped_ = 0;
  std::string error_;
};

}  // namespace bandana
