// A second server of a world, which follows the models of the first: it answers what reads, and
// hands decisions to their owner.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/model/state/noise_binding.h"
#include "server/models/registry.h"
#include "server/models/replicas/followed_model.h"
#include "server/service/recommender.h"
#include "server/service/tokens/token.h"
#include "tools/audit/transcript/shared_logs.h"

namespace bandana::audit {

// Not thread-safe.
class Follower {
 public:
  struct Options {
    std::shared_ptr<const SharedLogs> store;
    server::ModelRegistry* owner = nullptr;
    std::string folder;          // of its own
    std::string noise_key_file;  // of both servers
    server::TokenCodec* tokens = nullptr;
    server::DecisionIndex* decision_index = nullptr;
    const Clock* clock = nullptr;
    const NoiseBinding* binding = nullptr;
  };
  // Follows the models that the owner has now. Errors: as FollowedModel::Open.
  static absl::StatusOr<std::unique_ptr<Follower>> Open(const Options& options);

  // One look at the store, and all that follows from it.
  void Step();
  server::Handlers& handlers() { return *recommender_; }
  server::ModelRegistry& registry() { return *registry_; }

 private:
  struct Followed {
    std::weak_ptr<server::HostedModel> owned;
    std::string folder;
    server::FollowedModel* model = nullptr;  // the registry's
  };
  explicit Follower(const Options& options) : options_(options) {}
  // Anew: the registry of models that the owner has now.
  absl::Status Start();
  bool Current() const;

  const Options options_;
  std::vector<Followed> followed_;
  std::unique_ptr<server::ModelRegistry> registry_;
  std::unique_ptr<server::Handlers> recommender_;
};

}  // namespace bandana::audit
