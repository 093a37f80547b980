// Makes models at run time: new ones, and copies of exported ones.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bandana/v1/admin.pb.h"
#include "server/models/folder/export.h"
#include "server/models/registry/alias_table.h"
#include "server/models/registry/model_loader.h"
#include "server/models/registry/model_opener.h"

namespace bandana::server {

// Threads: Import and CheckImport lock `changes` for as long as they need it; all else is called
// under it.
class ModelMaker {
 public:
  // All references must outlive this.
  ModelMaker(const ModelRegistry::Options& options, const ModelFolders& folders,
             std::mutex& changes, ModelSet& models, const AliasTable& aliases, ModelOpener& opener,
             ModelLoader& loader)
      : options_(options),
        folders_(folders),
        changes_(changes),
        models_(models),
        aliases_(aliases),
        opener_(opener),
        loader_(loader),
        models_max_(options.models_max) {}

  void SetModelsMax(int models_max) { models_max_ = models_max; }
  // That no model or alias has the name, and there may be one more. `others`: names that imports
  // have taken.
  absl::Status CheckFree(const std::string& name, std::size_t others = 0) const;
  bool IsImporting(std::string_view name) const { return importing_.contains(name); }

  // ModelRegistry::Create, CheckImport and Import.
  absl::StatusOr<std::shared_ptr<HostedModel>> Create(ModelSpec spec);
  absl::Status CheckImport(std::string_view name, const v1::ExportHeader& header);
  absl::StatusOr<std::shared_ptr<HostedModel>> Import(std::string_view name,
                                                      std::string_view exported,
                                                      const v1::ExportHeader* promised);

 private:
  // Also that no import and no folder has it.
  absl::Status CheckFreeForCopy(const std::string& name) const;
  absl::Status CheckRoom(std::uint64_t bytes, int times) const;
  absl::Status FillNew(const std::string& folder, const ModelSpec& spec);
  absl::Status FillCopy(const std::string& folder, const ModelSpec& spec,
                        const std::shared_ptr<const NoiseKey>& key, ExportedModel exported) const;
  // Gives the half-made folder its name, then opens the model in it.
  absl::StatusOr<std::shared_ptr<HostedModel>> Finish(ModelSpec spec, const std::string& half_made);

  const ModelRegistry::Options& options_;
  const ModelFolders& folders_;
  std::mutex& changes_;
  ModelSet& models_;
  const AliasTable& aliases_;
  ModelOpener& opener_;
  ModelLoader& loader_;
  std::atomic<int> models_max_;
  std::set<std::string, std::less<>> importing_;  // names
};

}  // namespace bandana::server
