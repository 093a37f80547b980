// The registry of the models in a data folder.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/models/registry.h"
#include "server/models/registry/alias_table.h"
#include "server/models/registry/model_folders.h"
#include "server/models/registry/model_jobs.h"
#include "server/models/registry/model_loader.h"
#include "server/models/registry/model_maker.h"
#include "server/models/registry/model_opener.h"
#include "server/models/registry/model_set.h"
#include "server/models/registry/role_keeper.h"
#include "server/models/registry/standings.h"
#include "server/models/replicas/asked_names.h"
#include "server/models/replicas/cluster.h"

namespace bandana::server {

class FolderRegistry final : public ModelRegistry {
 public:
  // `options.warn` is not null.
  FolderRegistry(const Options& options, std::shared_ptr<SharedFiles> shared, const Clock& clock);

  // Finds models and aliases of earlier runs, opens the models unless `open_later`, and begins to
  // watch other servers. Errors: UNAVAILABLE I/O.
  absl::Status Start();

  std::shared_ptr<ServedModel> Find(std::string_view name) const override {
    return models_.Find(name);
  }
  std::vector<std::shared_ptr<ServedModel>> List() const override { return models_.List(); }
  std::vector<AbsentModel> Absent() const override { return models_.Absent(); }
  bool MayBeNew(std::string_view name) const override;
  absl::StatusOr<Standing> Stand(const std::string& model,
                                 const InstanceId& instance) const override {
    return standings_.Stand(model, instance, models_.Find(model).get());
  }
  bool KnowsAll() const override { return named_ && loader_.knows_stored(); }
  bool hides_reports() const override { return models_.hides_reports() || !KnowsAll(); }
  bool HidesReportsOf(std::string_view name) const override;
  void SetModelsMax(int models_max) override { maker_.SetModelsMax(models_max); }

  std::vector<AbsentModel> Configure(std::vector<ModelSpec> specs) override;
  absl::Status AddConfigured(ModelSpec spec) override;
  void Recover() override;
  std::vector<std::string> Others() const override { return cluster_.Others(); }
  void Leave() override { cluster_.Leave(); }
  absl::Status MayUpdate(std::string_view name) const override;
  absl::StatusOr<std::shared_ptr<HostedModel>> Update(ModelSpec spec) override;
  absl::StatusOr<std::uint64_t> OpenEpoch(std::string_view name) override;
  absl::StatusOr<std::shared_ptr<HostedModel>> Create(ModelSpec spec) override;
  absl::Status CheckImport(std::string_view name, const v1::ExportHeader& header) override {
    return maker_.CheckImport(name, header);
  }
  absl::StatusOr<TempFile> NewImportFile() override { return TempFile::Make(folders_.root()); }
  absl::StatusOr<std::shared_ptr<HostedModel>> Import(std::string_view name,
                                                      std::string_view exported,
                                                      const v1::ExportHeader* promised) override {
    return maker_.Import(name, exported, promised);
  }
  absl::Status Delete(std::string_view name) override;

  std::shared_ptr<const BoundAlias> FindAlias(std::string_view name) const override {
    return aliases_.Find(name);
  }
  std::vector<AliasSpec> ListAliases() const override { return aliases_.List(); }
  absl::Status AliasesStatus() const override { return aliases_.status(); }
  std::vector<std::string> AliasTroubles() const override { return aliases_.Troubles(); }
  absl::StatusOr<AliasSpec> PutAlias(AliasSpec alias) override;
  absl::Status DeleteAlias(std::string_view name) override;
  std::vector<AbsentModel> ConfigureAliases(std::vector<AliasSpec> aliases) override;

 private:
  absl::Status AddConfiguredJob(ModelSpec spec, ModelJobs& jobs);
  // Whether a model has the name, or is about to have it.
  bool IsTaken(std::string_view name) const;
  // Errors: UNAVAILABLE another server owns it.
  static absl::Status CheckOwned(const ModelEntry& entry);
  void Warn(const std::string& name, const std::string& message) const {
    options_.warn(name, message);
  }

  const Options options_;
  const Clock& clock_;
  const ModelFolders folders_;
  std::mutex changes_;       // one change of models or aliases at a time, and the jobs of one
  std::atomic<bool> named_;  // Configure has set the names of its models
  ModelSet models_;
  AliasTable aliases_;
  Cluster cluster_;
  Standings standings_;
  const std::shared_ptr<PartStore> parts_;  // null: no server shares decision logs with this one
  ModelOpener opener_;
  ModelLoader loader_;
  ModelMaker maker_;
  mutable AskedNames asked_;
  RoleKeeper roles_;
};

}  // namespace bandana::server
