// How long published posteriors have stood still while entries wait for them.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/ops/observation/model_view.h"

namespace bandana::server {

// Threads: all methods are safe. The ages are as exact as the interval of the calls of See.
class PosteriorAges {
 public:
  // Looks at the versions, and fills in posterior_age_seconds.
  void See(std::vector<ModelView>& models, absl::Time now);

 private:
  struct Seen {
    std::uint64_t version = 0;
    absl::Time moved;  // or caught up, the later
  };
  std::mutex mutex_;
  std::map<std::string, Seen> seen_;
};

}  // namespace bandana::server
