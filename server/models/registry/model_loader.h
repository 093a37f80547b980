// Opens the models of a registry and keeps its set: those of earlier runs, those that other servers
// of the store have made, and those whose configuration changes.
#pragma once

#include <atomic>
#include <string>

#include "absl/status/statusor.h"
#include "server/models/registry/model_folders.h"
#include "server/models/registry/model_jobs.h"
#include "server/models/registry/model_opener.h"
#include "server/models/registry/model_set.h"

namespace bandana::server {

// Called under the registry's lock for changes, and by several threads for different models.
class ModelLoader {
 public:
  // All references must outlive this. `options.warn` is not null.
  ModelLoader(const ModelRegistry::Options& options, const ModelFolders& folders, ModelSet& models,
              ModelOpener& opener)
      : options_(options), folders_(folders), models_(models), opener_(opener) {}

  // Whether the store has said which models there are. Threads: safe.
  bool knows_stored() const { return !stored_unknown_; }

  // Finds models of earlier runs, and of other servers of the store: they are absent until they are
  // opened.
  absl::Status FindStored();
  // Opens those.
  std::vector<AbsentModel> OpenStored();
  void AddStoredJobs(ModelJobs& jobs);
  // Once more, where the store did not answer.
  void FindStoredLater();
  // Whether a model of the name was made at run time.
  bool IsStored(const std::string& name) const;

  // Opens a model and puts it into the set; as absent where it cannot be opened.
  absl::StatusOr<OpenedModel> Add(ModelSpec spec, bool configured, OpenAs as = OpenAs::kAny);
  // Closes a model and opens it as `spec`; when it cannot be opened so, as before.
  absl::Status Reopen(const std::string& name, ModelSpec spec);
  // Opens a model that is absent, or that another server has made.
  absl::Status TakeIn(const std::string& name);
  // Takes over the configuration of a model made at run time, as its owner has changed it. Whether
  // it was another one.
  bool TakeStoredConfig(const std::string& name);

 private:
  // Models that the store knows by name and the one in a folder. False: not all are known.
  bool FindNamed();
  bool FindStoredIn(const std::string& name);
  // An entry of a model of an earlier run that is to be opened, or says why it cannot be.
  ModelEntry StoredEntry(const std::string& name) const;
  void Warn(const std::string& name, const std::string& message) const {
    options_.warn(name, message);
  }

  const ModelRegistry::Options& options_;
  const ModelFolders& folders_;
  ModelSet& models_;
  ModelOpener& opener_;
  std::atomic<bool> stored_unknown_{false};  // the store did not say which models there are
};

}  // namespace bandana::server
