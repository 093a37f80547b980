// This server's part of a decision log that servers of one store keep together: the decisions that
// it answered, with their rewards, and the deletions that it has still to follow.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/design/instance_id.h"
#include "server/decisions/decision_log.h"
#include "server/models/replicas/part_store.h"

namespace bandana::server {

// Threads: all methods are safe.
class DecisionPart {
 public:
  struct Options {
    std::shared_ptr<PartStore> store;
    InstanceId instance{};
    std::string folder;        // the log's
    std::uint64_t issuer = 0;  // of the decisions that are answered from now on (DecisionNumbers)
    absl::Time now;            // of the model's clock
    absl::Duration keep;
    std::function<void(const std::string&)> warn;
  };
  // `log` must outlive the part. Call CatchUp before decisions are added to it, and after the
  // rewards that came while this server was away: those of deleted users go with their lines.
  // Errors: RESOURCE_EXHAUSTED the disk is full; UNAVAILABLE I/O.
  static absl::StatusOr<std::unique_ptr<DecisionPart>> Open(Options options, DecisionLog& log);
  // This server keeps none any more, and none in the folder.
  static absl::Status Leave(PartStore& store, const InstanceId& instance,
                            const std::string& folder);

  // Whether this server made the decision or slot, in this run or an earlier one.
  bool Made(const StoredId& id) const;
  // Says in the store that this server keeps a part, and erases what was deleted; where nobody
  // knows any more what that was, all lines go. Returns how many lines the newest deletion took
  // here, in this call or one before. Cheap where there is no other. Errors: those of PartStore
  // and DecisionLog::Erase, and UNAVAILABLE after Close: lines may be left.
  absl::StatusOr<std::uint64_t> CatchUp();
  // The servers that keep a part, this one among them.
  absl::StatusOr<std::vector<std::string>> Keepers() const;
  const std::string& self() const { return options_.store->self(); }
  // The log is about to be another object's.
  void Close();

 private:
  DecisionPart(Options options, DecisionLog& log) : options_(std::move(options)), log_(log) {}
  absl::Status NoteIssuer();
  absl::Status ReadErased();
  absl::Status NoteErased(std::uint64_t number);
  // Both require mutex_. BeginAnew: as a server that has no lines.
  absl::Status BeginAnew();
  absl::Status Follow();

  const Options options_;
  DecisionLog& log_;
  absl::flat_hash_set<std::uint64_t> issuers_;
  std::mutex mutex_;                // for what follows
  std::uint64_t erased_ = 0;        // the erasure up to which the folder is
  std::uint64_t erased_lines_ = 0;  // that it took
  std::int64_t seen_version_ = -1;  // of the store, that this is up to date with; -1: none
  bool closed_ = false;
};

}  // namespace bandana::server
