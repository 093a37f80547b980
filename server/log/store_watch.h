// The view that servers sharing a store have of its models and of one another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/model/entries/log_entry.h"
#include "common/model/entries/records.h"
#include "server/log/state/state_store.h"
#include "server/log/update_log.h"

namespace bandana::server {

// A model that the store knows by name, now.
struct SharedModel {
  StoredModel stored;
  std::int64_t term = 0;  // of its owner, or of the last one
  bool owned = false;     // the owner's lease lasts
  bool mine = false;      // and it is this server's, of this run or an earlier one
  // Where the owner is reached, once it serves; empty: it does not yet, or nobody with the store's
  // key has said so.
  std::string owner;
  LogPosition last;  // durable wherever the store promises it
  std::uint64_t trimmed = 0;
};

struct StoreView {
  std::vector<SharedModel> models;   // by name
  std::vector<std::string> servers;  // addresses of those that were there just now, in order
  std::vector<std::string> names;    // of those, and of the last minute
  std::string self;                  // the name of this server
  // Addresses that nobody with the store's key has given: of servers of a version before that, or
  // of strangers.
  std::vector<std::string> unproven;
  // Names the store as it runs: the same string means that nothing was put back between two looks.
  std::string place;
  // The greatest kind of log entry that they all read, and those of the last minute; and where that
  // is less than this version reads, a server that reads no greater one.
  int kind_read = kEntryKindRead;
  std::string reads_least;
};

// Not thread-safe.
class StoreWatch {
 public:
  virtual ~StoreWatch() = default;

  // Tells the others that this server is there, and looks. Takes one confirmed transaction: what it
  // says of a log was on every machine that the store waits for before it is told here. Errors:
  // UNAVAILABLE the store does not answer.
  virtual absl::StatusOr<StoreView> Look() = 0;
  // This server serves the model of this log, which it owns under the term, and takes what others
  // hand it. Errors: the same.
  virtual absl::Status Serve(const std::string& log, std::int64_t term) = 0;
  // The others need not count on this server any more.
  virtual void Leave() = 0;
};

// A log that another server owns: its entries up to where a view has said that it ends. Threads:
// safe.
class FollowedLog : public LogReader {
 public:
  virtual void Advance(const LogPosition& last, std::uint64_t trimmed) = 0;
};

}  // namespace bandana::server
