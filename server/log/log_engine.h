// What keeps the logs of models: engines by name, one of which the server's configuration chooses.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
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
  // Erases the log; OK when there is none. Errors: UNAVAILABLE I/O.
  virtual absl::Status Remove(const std::string& folder) const = 0;
};

// SQLite, with a file in each folder. Lives until the program ends.
std::shared_ptr<const LogEngine> DefaultLogEngine();

// Opens the folder's log. Errors: as Open; FAILED_PRECONDITION when it is another engine's.
absl::StatusOr<std::unique_ptr<UpdateLog>> OpenLog(const LogEngine& engine,
                                                   const std::string& folder,
                                                   const LogUse& use = {});

}  // namespace bandana::server
