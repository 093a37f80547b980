// Names of models that callers asked for and nobody had: another server may have made the model
// since this one last looked.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <string_view>

#include "absl/time/time.h"

namespace bandana::server {

// All times are of one steady clock. Threads: safe.
class AskedNames {
 public:
  // Notes the name. False: it was asked for before, and a look came between and did not show it.
  // Whoever asks for many names has others asked again.
  bool MayBeNew(std::string_view name, absl::Time now);
  // Models and aliases of all servers were seen, as they were at this time or later.
  void Looked(absl::Time began);

 private:
  struct Asked {
    std::size_t name = 0;  // its hash
    absl::Time at;
  };
  std::mutex mutex_;
  std::array<Asked, 1024> asked_;
  absl::Time looked_at_ = absl::InfinitePast();
};

}  // namespace bandana::server
