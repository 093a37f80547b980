// Frees effects by the clock: of arms and groups that have been gone for long enough.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/ranking/effect_key.h"
#include "server/models/freeing/leaving_keys.h"

namespace bandana::server {

// Threads: due() is safe; Run by one thread at a time, which may wait for the disk.
class KeyFreeing {
 public:
  // Appends an entry that frees the keys; on return it is durable.
  using Append = std::function<absl::Status(std::span<const EffectKey>)>;
  using Tell = std::function<void(const std::string&)>;

  // The sources must outlive it. `keys_max`: of one entry.
  KeyFreeing(std::vector<LeavingKeys*> sources, std::size_t keys_max, Append append, Tell tell)
      : sources_(std::move(sources)),
        keys_max_(keys_max),
        append_(std::move(append)),
        tell_(std::move(tell)) {}

  bool due(absl::Time now) const;
  // Everything that is due, an entry for each keys_max of one source, and one line that says how
  // many. After a failure it is not due for a minute; an entry that was appended twice says nothing
  // new.
  void Run(absl::Time now);

 private:
  struct Count {
    std::size_t arms = 0;
    std::size_t groups = 0;
  };
  absl::Status RunOne(LeavingKeys& source, absl::Time now, Count& count);

  const std::vector<LeavingKeys*> sources_;
  const std::size_t keys_max_;
  const Append append_;
  const Tell tell_;
  std::atomic<std::int64_t> not_before_{INT64_MIN};  // Unix nanoseconds
};

}  // namespace bandana::server
