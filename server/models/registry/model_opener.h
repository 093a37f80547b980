// How models are opened: with which options, which noise key, and as their owner or a follower.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "server/models/registry.h"
#include "server/models/registry/model_folders.h"
#include "server/models/registry/model_set.h"
#include "server/models/registry/standings.h"
#include "server/models/replicas/cluster.h"
#include "server/models/replicas/part_store.h"

namespace bandana::server {

// kAny: as its owner, or following another server that owns it. kOwner: as its owner. kAcceptLost:
// HostedModelOptions::accept_lost.
enum class OpenAs : std::uint8_t { kAny, kOwner, kAcceptLost };

// Threads: safe, for different models.
class ModelOpener {
 public:
  // All references must outlive this. `options.warn` is not null. `parts` null: no server shares
  // decision logs with this one.
  ModelOpener(const ModelRegistry::Options& options, const Clock& clock,
              const ModelFolders& folders, Cluster& cluster, const Standings& standings,
              std::shared_ptr<PartStore> parts)
      : options_(options),
        clock_(clock),
        folders_(folders),
        cluster_(cluster),
        standings_(standings),
        parts_(std::move(parts)) {}

  // Errors: those of HostedModel::Open and FollowedModel::Open.
  absl::StatusOr<OpenedModel> Open(ModelSpec spec, OpenAs as = OpenAs::kAny);
  // `followed`: HostedModelOptions.
  absl::StatusOr<OpenedModel> OpenOwned(ModelSpec spec, OpenAs as = OpenAs::kOwner,
                                        std::shared_ptr<const std::string> followed = nullptr);
  absl::StatusOr<OpenedModel> OpenFollowed(ModelSpec spec, const SharedModel& seen);
  // Opens a model of `spec` in a folder of its own, and closes it. Errors: those that no folder
  // could help with, and UNAVAILABLE.
  absl::Status Try(ModelSpec spec) const;

  // The server's noise key, made at the first central model; null for other modes.
  absl::StatusOr<std::shared_ptr<const NoiseKey>> KeyFor(const ModelSpec& spec);
  // The key of the data folder's pseudonyms, or of the store's where servers share it, made at the
  // first model with a decision log; null for others.
  absl::StatusOr<std::shared_ptr<const PseudonymKey>> PseudonymKeyFor(const ModelSpec& spec);
  // KeyFor's errors; but a key that is not there yet would be made.
  absl::Status CheckKey(const ModelSpec& spec);

 private:
  absl::StatusOr<OpenedModel> OpenShared(ModelSpec spec);
  absl::StatusOr<HostedModelOptions> OptionsFor(const ModelSpec& spec);

  const ModelRegistry::Options& options_;
  const Clock& clock_;
  const ModelFolders& folders_;
  Cluster& cluster_;
  const Standings& standings_;
  const std::shared_ptr<PartStore> parts_;
  std::mutex key_mutex_;  // for what follows
  std::shared_ptr<const NoiseKey> noise_key_;
  std::shared_ptr<const PseudonymKey> pseudonym_key_;
};

}  // namespace bandana::server
