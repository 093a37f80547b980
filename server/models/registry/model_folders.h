// The folders of a server's models: where they are, and how they come and go.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "server/log/log_engine.h"

namespace bandana::server {

// Threads: safe, for different folders.
class ModelFolders {
 public:
  // Prefixes of folders that are no models. A crash leaves them behind; the next start removes
  // them. Half-made models, and those in which a model is tried out:
  static constexpr std::string_view kNewPrefix = ".new-";
  // Deleted models whose folders are not empty yet:
  static constexpr std::string_view kDeletedPrefix = ".deleted-";

  ModelFolders(const std::string& data_dir, std::shared_ptr<const LogEngine> log)
      : root_(data_dir + "/models"), log_(std::move(log)) {}

  const std::string& root() const { return root_; }
  std::string PathOf(std::string_view model) const { return root_ + "/" + std::string(model); }
  std::string HalfMade(std::string_view model) const {
    return PathOf(std::string(kNewPrefix) + std::string(model));
  }
  static bool IsLeftover(std::string_view name) {
    return name.starts_with(kNewPrefix) || name.starts_with(kDeletedPrefix);
  }
  // Makes the folder of a model that the store knows, LogEngine::Adopt. False: the store does not
  // know it, and no empty folder is left.
  absl::StatusOr<bool> Adopt(const std::string& model) const;
  // With its log.
  absl::Status Remove(const std::string& path) const;
  // With its log, in one step that a crash does not halve.
  absl::Status Bury(std::string_view model) const;
  // Durably. Errors: UNAVAILABLE I/O.
  absl::Status Rename(const std::string& from, const std::string& to) const;

 private:
  const std::string root_;
  const std::shared_ptr<const LogEngine> log_;
};

}  // namespace bandana::server
