// The models a server hosts, by name.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bandana/v1/admin.pb.h"
#include "common/base/clock.h"
#include "common/base/temp_file.h"
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
    // Imported models may have at most this token_lifetime: keys are rotated at this age.
    absl::Duration token_lifetime_max = absl::InfiniteDuration();
    // What the disk of a folder has free.
    FreeBytesOf free_bytes = FreeBytes;
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
  // Whether Import would take an export with this header, as far as can be known before its bytes
  // are there. Reserves nothing. Errors: INVALID_ARGUMENT the name or the configuration;
  // ALREADY_EXISTS; RESOURCE_EXHAUSTED models_max, or the disk; FAILED_PRECONDITION another limit
  // or an unknown format; those of the noise key.
  virtual absl::Status CheckImport(std::string_view name, const v1::ExportHeader& header) = 0;
  // For the bytes of an export on their way in. Errors: those of TempFile::Make.
  virtual absl::StatusOr<TempFile> NewImportFile() = 0;
  // A copy of an exported model under a new name and instance id. `promised`: the header that came
  // before the bytes, if any. Errors: those of CheckImport; DATA_LOSS damaged; INVALID_ARGUMENT the
  // bytes are not those of the header. Then nothing is left of it.
  virtual absl::StatusOr<std::shared_ptr<HostedModel>> Import(std::string_view name,
                                                              std::string_view exported,
                                                              const v1::ExportHeader* promised) = 0;
  absl::StatusOr<std::shared_ptr<HostedModel>> Import(std::string_view name,
                                                      std::string_view exported) {
    return Import(name, exported, nullptr);
  }
  // Errors: NOT_FOUND; FAILED_PRECONDITION for a configured model.
  virtual absl::Status Delete(std::string_view name) = 0;
};

}  // namespace bandana::server
