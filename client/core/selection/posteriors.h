// Posteriors fetched for selection on the device.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "client/core/selection/posterior_message.h"
#include "client/core/selection/selector.h"
#include "common/ranking/link.h"
#include "common/ranking/posterior.h"

namespace bandana::device {

struct UserPosterior {
  NodePosterior node;
  std::uint64_t version = 0;
  ArmShare constant;  // of every arm
};

// One user's posterior from an answer to GetPosterior. Errors: INTERNAL wrong shapes, not finite, a
// variance below 0.
absl::StatusOr<UserPosterior> ParsePosterior(const PosteriorResponse& response, int dimension);

// n arms to be ranked here.
struct ArmsHere {
  std::span<const double> features;  // n x d, finite, clipped
  std::span<const ArmShare> shares;  // n, or none
};

// Scores and ranks arms; ties fall by `tie_key`. The propensity of a ranked arm is 0, but 1 for the
// first, shared by all arms with its score. With a curved link the posterior is of its slope at 0
// times theta; scores, means and widths are in reward units, and the ranking's features are
// straightened (StraightFeatures) by the posterior that they were ranked by.
Ranking RankOnDevice(const UserPosterior& posterior, Link link, const ArmsHere& arms, int top_k,
                     std::uint64_t tie_key);

// The posteriors of the kUsersMax users that were used last.
class PosteriorCache {
 public:
  static constexpr int kUsersMax = 1000;  // 5 MB at d = 25, 0.5 GB at d = 256

  // Null when there is none.
  std::shared_ptr<const UserPosterior> Find(const std::string& user);
  // Keeps the newer of the two; of two models behind an alias the one that was put last.
  void Put(const std::string& user, UserPosterior posterior);

 private:
  struct Entry {
    std::string user;
    std::shared_ptr<const UserPosterior> posterior;
  };
  std::list<Entry> entries_;  // last used first
  std::map<std::string, std::list<Entry>::iterator> by_user_;
};

}  // namespace bandana::device
