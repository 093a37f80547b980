// Since when each model refuses reports, and the log lines that say when it begins and ends.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "server/ops/observation/model_view.h"

namespace bandana::server {

// Threads: all methods are safe.
class RefusalWatch {
 public:
  // Takes one line per beginning and end, in words for an operator.
  using Say = std::function<void(bool ended, const std::string& line)>;
  explicit RefusalWatch(Say say) : say_(std::move(say)) {}

  // Looks at all models, says what is new, and fills in `since`. Refusals that begin and end
  // between two calls are not seen.
  void See(std::vector<ModelView>& models, absl::Time now);

 private:
  struct Seen {
    absl::Time since;
    std::string text;
  };
  const Say say_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Seen> seen_;  // by model and reason
};

}  // namespace bandana::server
