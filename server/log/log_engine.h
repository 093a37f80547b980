// The engines that keep the logs and the states of models, by name; the server's configuration
// chooses one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/log/state/state_store.h"
#include "server/log/store_watch.h"
#include "server/log/update_log.h"

namespace bandana::server {

// The file in a model's folder by which people, and the engines, know whose log it has.
inline constexpr char kSqliteLogFile[] = "log.sqlite";
inline constexpr char kPgLogFile[] = "log.postgresql";

// How an opened log is used.
struct LogUse {
  // After a Trim the bytes of no dropped entry stand anywhere. May cost a copy of what is left.
  bool erase_trimmed = false;
  // The log has no thread of its own: its calls do all the work.
  bool stepped = false;
};

// Each model has one log, which belongs to the model's folder: whoever renames, copies or restores
// the folder does the same to the log. An engine that keeps entries elsewhere writes a file into
// the folder that says where, under a name that does not depend on the folder's. Threads: all
// methods are safe, for different folders.
class LogEngine {
 public:
  virtual ~LogEngine() = default;

  // As the configuration names it.
  virtual std::string_view name() const = 0;
  // Whether log and state are elsewhere than in the folder, and may be put back without it.
  virtual bool apart() const { return false; }
  // The file in the folder by which people know the log.
  virtual std::string_view file() const = 0;
  // Whether the folder has a log of this engine, be it damaged.
  virtual bool Holds(const std::string& folder) const = 0;
  // Makes a new, empty log that continues `start` (position 0 for a new model), in place of an
  // older one. Errors: UNAVAILABLE I/O; RESOURCE_EXHAUSTED no space.
  virtual absl::Status Create(const std::string& folder, const LogPosition& start) const = 0;
  // Errors: DATA_LOSS missing or damaged; UNAVAILABLE I/O.
  virtual absl::StatusOr<std::unique_ptr<UpdateLog>> Open(const std::string& folder,
                                                          const LogUse& use) const = 0;
  // Erases the log, and the state where it is not in the folder; OK when there is none. Errors:
  // UNAVAILABLE I/O.
  virtual absl::Status Remove(const std::string& folder) const = 0;

  // The state of the folder's model: files in the folder, where the engine does not keep it with
  // the log. `draws_noise`: what it holds must not lie in clear where others can read, as
  // LogUse::erase_trimmed. Errors, where it is elsewhere: NOT_FOUND the folder says of no log;
  // DATA_LOSS that log is gone; FAILED_PRECONDITION no key to seal with; UNAVAILABLE.
  virtual absl::StatusOr<std::shared_ptr<StateStore>> OpenState(const std::string& folder,
                                                                bool draws_noise) const;

  // Several servers may use a store that knows its models by name, whatever folders a server has.
  // An engine that keeps everything in the folder knows no names: the folders are the store, and
  // what follows does nothing.

  // Gives the folder, which has no log yet, the log and the state of the model that the store knows
  // under the folder's name, which is the last part of its path. False: the store knows none.
  // Errors: UNAVAILABLE.
  virtual absl::StatusOr<bool> Adopt(const std::string& /*folder*/) const { return false; }
  // The folder's model is complete: the store knows it under the folder's name from now on.
  // `replace`: in place of another one, which is then without a name. Errors: ALREADY_EXISTS
  // another model has the name; UNAVAILABLE.
  virtual absl::Status Publish(const std::string& /*folder*/, bool /*replace*/) const {
    return absl::OkStatus();
  }
  // The store does not know the folder's model by name any more. Errors: UNAVAILABLE.
  virtual absl::Status Withdraw(const std::string& /*folder*/) const { return absl::OkStatus(); }
  // All models that have a name, by name. Errors: UNAVAILABLE.
  virtual absl::StatusOr<std::vector<StoredModel>> Models() const {
    return std::vector<StoredModel>();
  }
  // For servers that serve the store's models together. `address`: where the others reach this one.
  // Null: nobody shares this store.
  virtual std::unique_ptr<StoreWatch> Watch(const std::string& /*address*/) const {
    return nullptr;
  }
  // The log of the folder's model for reading alone; it ends at its beginning until it is told
  // otherwise. Errors: as Open; FAILED_PRECONDITION nobody shares this store.
  virtual absl::StatusOr<std::unique_ptr<FollowedLog>> Follow(const std::string& folder,
                                                              const LogUse& use) const;

  // Whether the store answers, and would be used as it is; writes and claims nothing. Errors:
  // FAILED_PRECONDITION it does not let this server in, or could lose what it acknowledges;
  // UNAVAILABLE it does not answer.
  virtual absl::Status Reach() const { return absl::OkStatus(); }

  // Names this server among all that use the store; empty: nobody shares it.
  virtual std::string holder() const { return ""; }
  // The files that servers of the store share; null: each server has its own files. Errors: those
  // of a key file.
  virtual absl::StatusOr<std::shared_ptr<SharedFiles>> Shared() const {
    return std::shared_ptr<SharedFiles>();
  }
};

// SQLite, with a file in each folder. Lives until the program ends.
std::shared_ptr<const LogEngine> DefaultLogEngine();

// Opens the folder's log. Errors: as Open; FAILED_PRECONDITION when it is another engine's.
absl::StatusOr<std::unique_ptr<UpdateLog>> OpenLog(const LogEngine& engine,
                                                   const std::string& folder,
                                                   const LogUse& use = {});

}  // namespace bandana::server
