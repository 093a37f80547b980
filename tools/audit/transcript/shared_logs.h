// A store that an owner and a follower share within one process, as servers of a database do: the
// owner's folders and their SQLite logs, read beside it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "server/log/log_engine.h"
#include "server/log/store_watch.h"

namespace bandana::audit {

// Threads: safe.
class SharedLogs final : public server::LogEngine {
 public:
  std::string_view name() const override { return sqlite_->name(); }
  std::string_view file() const override { return sqlite_->file(); }
  bool Holds(const std::string& folder) const override { return sqlite_->Holds(folder); }
  absl::Status Create(const std::string& folder, const LogPosition& start) const override {
    return sqlite_->Create(folder, start);
  }
  absl::StatusOr<std::unique_ptr<server::UpdateLog>> Open(const std::string& folder,
                                                          const server::LogUse& use) const override;
  absl::Status Remove(const std::string& folder) const override { return sqlite_->Remove(folder); }

  // The current view of a follower with a folder of this name. Errors: UNAVAILABLE nobody owns the
  // model.
  absl::StatusOr<server::SharedModel> Look(const std::string& folder) const;
  // The owner's state, whoever asks.
  absl::StatusOr<std::shared_ptr<server::StateStore>> OpenState(const std::string& folder,
                                                                bool draws_noise) const override;
  absl::StatusOr<std::unique_ptr<server::FollowedLog>> Follow(
      const std::string& folder, const server::LogUse& use) const override;

 private:
  struct Owned {
    std::string folder;
    std::weak_ptr<const server::UpdateLog> log;
  };
  // The owner's of the same name.
  absl::StatusOr<Owned> Find(const std::string& folder) const;

  const std::shared_ptr<const server::LogEngine> sqlite_ = server::DefaultLogEngine();
  mutable std::mutex mutex_;
  mutable std::map<std::string, Owned> owned_;  // by the last part of the folder's path
};

}  // namespace bandana::audit
