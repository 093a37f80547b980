// Finds models and aliases by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/design/alias.h"
#include "common/design/instance_id.h"
#include "server/models/aliases/resolved_name.h"
#include "server/models/hosted_model.h"
#include "server/models/replicas/standing.h"
#include "server/models/served_model.h"

namespace bandana::server {

// A model that is not served: one that could not be opened, or is being opened.
struct AbsentModel {
  std::string name;
  absl::Status why;      // what keeps it from being opened; UNAVAILABLE while it is being opened
  bool opening = false;  // it is
};

// Models and aliases share one space of names. Threads: all methods are safe. Find and FindAlias
// wait for nobody's work (immutable maps in SharedCells).
class ModelDirectory {
 public:
  virtual ~ModelDirectory() = default;

  // nullptr when it is unknown or absent.
  virtual std::shared_ptr<ServedModel> Find(std::string_view name) const = 0;
  virtual std::vector<std::shared_ptr<ServedModel>> List() const = 0;  // by name
  virtual std::vector<AbsentModel> Absent() const = 0;                 // by name
  // Whether the names of all models are known: not before Configure where they are opened later,
  // nor while the store does not say which models it has. Until then any unknown name may be a
  // model's.
  virtual bool KnowsAll() const = 0;
  // Whether another server of the store may have made a model of this unknown name since this one
  // last looked. Waits for nobody: who asks again, and a look came between, learns whether it has.
  virtual bool MayBeNew(std::string_view name) const = 0;
  // This server's word on the model's releases, for another one that asks. Errors: NOT_FOUND it has
  // no record of this instance; DATA_LOSS, UNAVAILABLE of its file.
  virtual absl::StatusOr<Standing> Stand(const std::string& model,
                                         const InstanceId& instance) const = 0;
  // Whether one of them hides reports (HidesReports), or may, be it absent. Waits for nobody's
  // work.
  virtual bool hides_reports() const = 0;
  // Whether the model does, or one behind the alias; of an unknown name hides_reports().
  virtual bool HidesReportsOf(std::string_view name) const = 0;
  // Where the other servers of the store were reached just now.
  virtual std::vector<std::string> Others() const = 0;

  // The alias with the models that are served under it now; nullptr: there is none of the name.
  virtual std::shared_ptr<const BoundAlias> FindAlias(std::string_view name) const = 0;
  // OK; UNAVAILABLE the file that aliases are kept in cannot be read: then those that PutAlias made
  // are unknown, and none can be changed until it is mended or moved away. For the peer.
  virtual absl::Status AliasesStatus() const = 0;

  // The model where this server owns it. nullptr: it is unknown, absent or owned elsewhere.
  std::shared_ptr<HostedModel> FindOwned(std::string_view name) const {
    const std::shared_ptr<ServedModel> model = Find(name);
    HostedModel* const owned = model == nullptr ? nullptr : model->owned();
    return owned == nullptr ? nullptr : std::shared_ptr<HostedModel>(model, owned);
  }
};

// Why no model has the name, for the peer: NOT_FOUND; FAILED_PRECONDITION it is an alias;
// UNAVAILABLE the model is absent, or not all are known, or aliases cannot be read, and reports
// wait for it. Says nothing of files.
absl::Status AbsenceOf(const ModelDirectory& registry, std::string_view name);

}  // namespace bandana::server
