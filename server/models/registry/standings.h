// How much this server knows of the releases of each shared model: what it has shown itself, what
// other servers have, and whether the store may have been put back behind them. A record of what a
// server has shown is in a file of its machine (publication.h). Where a server has followed the log
// without a break it knows what all have shown: all of it came from the log. Where it has not, it
// asks the others.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/design/instance_id.h"
#include "server/models/registry/model_folders.h"
#include "server/models/registry/model_set.h"
#include "server/models/replicas/cluster.h"
#include "server/models/replicas/standing.h"

namespace bandana::server {

// Threads: safe, but for See.
class Standings {
 public:
  // `ask_others`: null: nobody is asked, and everything is known. All references must outlive this.
  Standings(std::shared_ptr<const LogEngine> log, const ModelFolders& folders, Cluster& cluster,
            AskOthers ask_others);

  // Whether others are asked of models whose releases have noise.
  bool asks_others() const { return ask_others_ != nullptr; }
  // Whether the model may be owned here as far as others are concerned. `place`: StoreView's.
  bool Knows(const ServedModel& model, const SharedModel& shared, const std::string& place) const;
  // At each look at the store. From one thread at a time.
  void See(const std::string& name, const OpenedModel& opened, const SharedModel& shared,
           const StoreView& view);
  // Whether the store holds all that anybody has shown of the model. `ask`: also where this server
  // knows; `elsewhere`: what others have shown. Errors: NeedsEpoch; UNAVAILABLE.
  absl::Status Vouch(const ModelSpec& spec, bool ask, std::vector<Published>& elsewhere) const;
  // Asks whether a followed model may be owned here, and remembers it. Errors: as Vouch.
  absl::Status Confirm(const ModelSpec& spec, const InstanceId& instance);
  // Errors: FAILED_PRECONDITION the owner of a followed model computes something else.
  absl::Status CompareWithOwner(const FollowedModel& followed) const;
  // ModelRegistry::Stand. `served`: the model as this server has it, or null.
  absl::StatusOr<Standing> Stand(const std::string& model, const InstanceId& instance,
                                 const ServedModel* served) const;

 private:
  // The place of the store where this server knows the whole log; "": it does not.
  std::string TouchOf(const InstanceId& instance) const;
  void SetTouch(const InstanceId& instance, const std::string& place);
  void NoteOthers(const std::string& name, const InstanceId& instance, const StoreView& view);
  absl::StatusOr<InstanceId> InstanceIn(const std::string& name, const ModelSpec& spec) const;

  const std::shared_ptr<const LogEngine> log_;
  const ModelFolders& folders_;
  Cluster& cluster_;
  const AskOthers ask_others_;
  mutable std::mutex mutex_;  // for what follows
  std::map<InstanceId, std::string> touch_;
  // The names of other servers, as the files have them. For See alone.
  std::map<InstanceId, std::vector<std::string>> noted_;
};

}  // namespace bandana::server
