// Keeps the roles of this server in models that several servers share: looks at the store every
// 100 ms, and does the jobs of the RoleMachine.
#pragma once

#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "server/models/registry/alias_table.h"
#include "server/models/registry/model_loader.h"
#include "server/models/replicas/asked_names.h"
#include "server/models/replicas/role_machine.h"

namespace bandana::server {

class RoleKeeper {
 public:
  // The surroundings of the models' roles. All of it outlives the keeper.
  struct Parts {
    const ModelRegistry::Options& options;  // `warn` is not null
    const Clock& clock;
    std::mutex& changes;  // held while jobs run
    const ModelFolders& folders;
    ModelSet& models;
    AliasTable& aliases;
    Cluster& cluster;
    Standings& standings;
    ModelOpener& opener;
    ModelLoader& loader;
    AskedNames& asked;
  };
  explicit RoleKeeper(const Parts& parts)
      : parts_(parts),
        machine_({.self = parts.cluster.address(), .asks_others = parts.standings.asks_others()}) {}
  ~RoleKeeper() { Stop(); }

  // Where servers share the store: watches it from now on.
  void Start();
  // Waits for jobs that run.
  void Stop();

 private:
  void Watch();
  void WatchOnce();
  // Tells the models, and those who know of their owners, what a look has shown.
  void Show(const StoreView& view);
  // The models as the machine takes them.
  std::map<std::string, ModelHere> Here(const StoreView& view) const;
  void Begin(std::vector<RoleJob> jobs);

  // The jobs. Under `changes`.
  absl::Status Run(const RoleJob& job);
  absl::Status Promote(const RoleJob& job);
  absl::Status StepDown(const std::string& name);
  absl::Status FollowAnew(const std::string& name);
  absl::Status OwnAgain(const std::string& name);
  absl::Status Confirm(const std::string& name);
  absl::Status CompareWithOwner(const std::string& name);
  absl::Status LetGo(const std::string& name);
  // In what is kept of decisions.
  void FollowDeletions() const;
  void Warn(const std::string& name, const std::string& message) const {
    parts_.options.warn(name, message);
  }

  const Parts parts_;
  std::mutex mutex_;  // for what follows
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread watching_;
  // The watching thread alone uses what follows.
  RoleMachine machine_;
  std::future<void> running_;  // the jobs
  bool away_ = false;
  absl::Time aliases_began_ = absl::InfinitePast();  // steady time of the look before
};

}  // namespace bandana::server
