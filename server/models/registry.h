// The models a server hosts, by name.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bandana/v1/admin.pb.h"
#include "common/base/clock.h"
#include "common/base/temp_file.h"
#include "common/design/alias.h"
#include "common/design/model_spec.h"
#include "server/log/log_engine.h"
#include "server/models/hosted_model.h"
#include "server/models/model_directory.h"
#include "server/models/replicas/part_question.h"

namespace bandana::server {

using OwnerGone = std::function<void(const std::string& owner)>;
using OwnerReached = std::function<bool(const std::string& owner)>;

// Makes, changes and deletes models and aliases at run time.
class ModelAdministration : public ModelDirectory {
 public:
  // A model made at run time; its configuration is durable before this returns. Errors:
  // ALREADY_EXISTS; RESOURCE_EXHAUSTED beyond models_max.
  virtual absl::StatusOr<std::shared_ptr<HostedModel>> Create(ModelSpec spec) = 0;
  // Whether Update may be called for the model. Errors: those of AbsenceOf; FAILED_PRECONDITION a
  // configured model.
  virtual absl::Status MayUpdate(std::string_view name) const = 0;
  // Gives a model made at run time another configuration, durably: it is closed and opened again,
  // and served from what was published meanwhile. When it cannot be opened so, it is opened as
  // before. Errors: those of MayUpdate, ServedModel::CheckUpdate and HostedModel::Open;
  // FAILED_PRECONDITION another policy for a model behind an alias.
  virtual absl::StatusOr<std::shared_ptr<HostedModel>> Update(ModelSpec spec) = 0;
  // AdministeredModel::OpenEpoch. A model that is absent because its store was put back, or because
  // this server does not know what it has published (NeedsEpoch), is opened by it: every principal
  // is charged once more first. Errors: those of AbsenceOf, AdministeredModel::OpenEpoch and Open.
  virtual absl::StatusOr<std::uint64_t> OpenEpoch(std::string_view name) = 0;
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
  // Errors: NOT_FOUND; FAILED_PRECONDITION for a configured model, or one behind an alias.
  virtual absl::Status Delete(std::string_view name) = 0;

  virtual std::vector<AliasSpec> ListAliases() const = 0;  // by name
  // Makes an alias, or gives one other models; durable before it returns. While an alias exists its
  // policy stays. Errors: ALREADY_EXISTS a model has the name; NOT_FOUND, UNAVAILABLE a model of
  // the shares; INVALID_ARGUMENT one of them is an alias; FAILED_PRECONDITION CheckBehindAlias's,
  // another policy than before, a configured alias; RESOURCE_EXHAUSTED kAliasesMax; that
  // of AliasesStatus; UNAVAILABLE I/O.
  virtual absl::StatusOr<AliasSpec> PutAlias(AliasSpec alias) = 0;
  // Errors: NOT_FOUND; FAILED_PRECONDITION a configured alias; that of AliasesStatus; UNAVAILABLE
  // I/O.
  virtual absl::Status DeleteAlias(std::string_view name) = 0;
};

// All models of a server: also those of its configuration file.
class ModelRegistry : public ModelAdministration {
 public:
  struct Options {
    std::string data_dir;  // models live in data_dir/models/NAME
    int models_max = 0;
    std::shared_ptr<const LogEngine> log = DefaultLogEngine();  // of every model
    std::shared_ptr<const CheckpointSeal> checkpoint_seal;      // null: checkpoints are not sealed
    // With the key that central noise comes from, in hexadecimal; empty: data_dir/noise_key, which
    // is made where it is missing.
    std::string noise_key_file;
    // Told what an operator should know of a model, or with an empty name of all, although nothing
    // fails; on any thread. May be null.
    std::function<void(std::string_view model, const std::string& message)> warn;
    bool stepped = false;     // HostedModelOptions, of every model
    bool open_later = false;  // Configure opens the models of earlier runs
    // Imported models may have at most this token_lifetime: keys are rotated at this age.
    absl::Duration token_lifetime_max = absl::InfiniteDuration();
    absl::Duration clock_ahead_max =
        absl::InfiniteDuration();  // HostedModelOptions, of every model
    // The free bytes of a folder's disk.
    FreeBytesOf free_bytes = FreeBytes;
    // Where other servers of the store reach this one; empty: it serves its models alone.
    std::string address;
    // Takes the slots of a decision for the model, to be recorded by its owner at this address.
    // Waits for nobody; what is lost is lost.
    HandDecision hand_decision;
    // Told of a server at this address that owned models and owns none any more: it may have
    // frozen. Waits for nobody. May be null.
    OwnerGone owner_gone;
    // Whether there is a connection to the server at this address, which owns models; where there
    // is none, one is made. Asked often, waits for nobody. Null: there always is.
    OwnerReached owner_reached;
    // Before this server owns a model whose releases have noise. Null: its own record is all that
    // it goes by.
    AskOthers ask_others;
    // Asks about decision logs that the servers of the store keep together. Null: nobody is asked.
    AskParts ask_parts;
    // Opens a model. For bandana-audit, which watches what a model does.
    std::function<absl::StatusOr<std::unique_ptr<ServedModel>>(
        ModelSpec spec, const std::string& folder, const Clock& clock,
        const HostedModelOptions& options)>
        open = HostedModel::Open;
  };
  // Finds the models that CreateModel made in earlier runs and opens them, unless `open_later`; one
  // that cannot be opened is absent. Errors: UNAVAILABLE I/O.
  static absl::StatusOr<std::unique_ptr<ModelRegistry>> Open(const Options& options,
                                                             const Clock& clock);

  // A model of the configuration file. Errors: ALREADY_EXISTS; HostedModel::Open's, and then it is
  // absent.
  virtual absl::Status AddConfigured(ModelSpec spec) = 0;

  // The models of the configuration file, whose configuration is read anew at each start: those
  // that are new are opened, those whose configuration changed are updated, those that are absent
  // are tried again, and configured models that are not among them are closed; their folders stay.
  // Models made in earlier runs are opened as well. Several at a time, each served as soon as it is
  // open. Returns what could not be done, by model: that model is absent, or served as before, and
  // the others are served.
  virtual std::vector<AbsentModel> Configure(std::vector<ModelSpec> specs) = 0;
  // Opens again each model whose log has failed, and those that are absent for a reason that may
  // pass (UNAVAILABLE).
  virtual void Recover() = 0;
  virtual void SetModelsMax(int models_max) = 0;
  // This server is about to end: other servers of the store need not count on it, and it takes no
  // further models over. Those that it owns it gives up when it ends.
  virtual void Leave() = 0;
  // The reasons that keep models from being served under aliases, for operators: a line each.
  virtual std::vector<std::string> AliasTroubles() const = 0;
  // The aliases of the configuration file, in place of those before; to be called before Configure.
  // Returns what could not be done, by alias, which then is as before.
  virtual std::vector<AbsentModel> ConfigureAliases(std::vector<AliasSpec> aliases) = 0;
};

}  // namespace bandana::server
