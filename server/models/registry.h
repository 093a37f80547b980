// The models a server hosts, by name.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/design/model_spec.h"
#include "server/log/log_engine.h"
#include "server/models/hosted_model.h"

namespace bandana::server {

// Threads: all methods are safe. Find waits for nobody's work (an immutable map in a SharedCell).
class ModelRegistry {
 public:
  struct Options {
    std::string data_dir;  // models live in data_dir/models/NAME
    int models_max = 0;
    std::shared_ptr<const LogEngine> log = DefaultLogEngine();  // of every model
    std::shared_ptr<const CheckpointSeal> checkpoint_seal;      // null: checkpoints are not sealed
    // Told what an operator should know of a model although nothing fails; on any thread. May be
    // null.
    std::function<void(std::string_view model, const std::string& message)> warn;
    bool stepped = false;  // HostedModelOptions, of every model
  };
  // Reopens the models that CreateModel made in earlier runs. Errors: as HostedModel::Open,
  // annotated with the model's name.
  static absl::StatusOr<std::unique_ptr<ModelRegistry>> Open(const Options& options,
                                                             const Clock& clock);
  virtual ~ModelRegistry() = default;

  // nullptr when unknown.
  virtual std::shared_ptr<HostedModel> Find(std::string_view name) const = 0;
  virtual std::vector<std::shared_ptr<HostedModel>> List() const = 0;  // by name
  // Whether one of them hides reports (HidesReports). Waits for nobody's work.
  virtual bool hides_reports() const;

  // A model of the config file; its configuration is read anew at each start.
  virtual absl::Status AddConfigured(ModelSpec spec) = 0;
  // A model made at run time; its configuration is durable before this returns. Errors:
  // ALREADY_EXISTS; RESOURCE_EXHAUSTED beyond models_max.
  virtual absl::StatusOr<std::shared_ptr<HostedModel>> Create(ModelSpec spec) = 0;
  // A copy of an exported model under a new name and instance id.
  virtual absl::StatusOr<std::shared_ptr<HostedModel>> Import(std::string_view name,
                                                              std::string_view exported) = 0;
  // Errors: NOT_FOUND; FAILED_PRECONDITION for a configured model.
  virtual absl::Status Delete(std::string_view name) = 0;
};

}  // namespace bandana::server
