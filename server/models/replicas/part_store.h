// Where servers of one store keep what they tell one another of their parts of decision logs: the
// key of pseudonyms, and who has still to erase whom (LogParts). Files of the store, sealed under
// its key.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/design/instance_id.h"
#include "server/decisions/log_parts.h"
#include "server/decisions/user_pseudonym.h"
#include "server/log/state/state_store.h"

namespace bandana::server {

// Threads: safe. Errors of all methods: FAILED_PRECONDITION the store has no key to seal with, or
// somebody without it wrote; DATA_LOSS damaged; UNAVAILABLE the store does not answer.
class PartStore {
 public:
  // `self`: names this server among all that use the store.
  PartStore(std::shared_ptr<SharedFiles> files, std::string self)
      : files_(std::move(files)), self_(std::move(self)) {}

  const std::string& self() const { return self_; }
  // One per store, made by whoever comes first.
  absl::StatusOr<std::shared_ptr<const PseudonymKey>> Key();
  // Those of the model of this instance.
  absl::StatusOr<LogParts> Read(const InstanceId& instance) const;
  // Changes with every change of any model's; cheap.
  absl::StatusOr<std::int64_t> Version() const;
  // Durable on return; `change` may be called more than once. Returns what it left.
  absl::StatusOr<LogParts> Change(const InstanceId& instance,
                                  const std::function<void(LogParts&)>& change);

 private:
  struct Stored {
    LogPartsTable table;
    std::int64_t version = 0;
  };
  absl::StatusOr<Stored> ReadAll() const;

  const std::shared_ptr<SharedFiles> files_;
  const std::string self_;
  std::mutex mutex_;  // for what follows
  std::shared_ptr<const PseudonymKey> key_;
};

}  // namespace bandana::server
