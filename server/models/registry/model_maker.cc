#include "server/models/registry/model_maker.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/design/identity.h"
#include "server/models/catalogue/arm_store.h"
#include "server/models/folder/export_header.h"
#include "server/models/folder/recovery.h"
#include "server/models/folder/stored_config.h"
#include "server/models/import_check.h"
#include "server/models/users/user_copy.h"

namespace bandana::server {
namespace {

// How often an import takes the size of the export from the disk: the bytes that came, and a folder
// of up to two checkpoints.
constexpr int kCopiesOfImport = 3;

absl::Status HoldsState(const std::string& folder) {
  return FailedPrecondition(
      folder, " holds the state of a model that was in the configuration; move it away first");
}

absl::Status BeingImported(const std::string& name) {
  return absl::AlreadyExistsError(absl::StrCat("model ", name, " is being imported"));
}

// In some transactions: nobody sees the file before it is complete.
absl::Status StoreArms(const ExportedArms& arms, const TablePlace& place) {
  constexpr std::size_t kBatchBytes = std::size_t{8} << 20;
  BANDANA_ASSIGN_OR_RETURN(ArmStore store, ArmStore::Open(place));
  std::vector<CatalogueArm> batch;
  std::size_t bytes = 0;
  const auto put = [&] {
    absl::Status stored = store.Put(batch);
    batch.clear();
    bytes = 0;
    return stored;
  };
  BANDANA_RETURN_IF_ERROR(arms.ForEach([&](CatalogueArm arm) {
    bytes += sizeof arm + arm.features.size() * sizeof(double);
    batch.push_back(std::move(arm));
    return bytes < kBatchBytes ? absl::OkStatus() : put();
  }));
  return put();
}

}  // namespace

absl::Status ModelMaker::CheckFree(const std::string& name, std::size_t others) const {
  const auto models = models_.All();
  if (models->contains(name)) {
    return absl::AlreadyExistsError(absl::StrCat("model ", name, " exists"));
  }
  BANDANA_RETURN_IF_ERROR(aliases_.CheckNone(name));
  const std::size_t size = models->size() + others;
  if (static_cast<int>(size) >= models_max_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the server has ", size, " models, models_max is ", models_max_.load()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<HostedModel>> ModelMaker::Create(ModelSpec spec) {
  if (IsImporting(spec.public_spec.name)) return BeingImported(spec.public_spec.name);
  BANDANA_RETURN_IF_ERROR(CheckFree(spec.public_spec.name, importing_.size()));
  const std::string half_made = folders_.HalfMade(spec.public_spec.name);
  BANDANA_RETURN_IF_ERROR(folders_.Remove(half_made));
  absl::Status filled = FillNew(half_made, spec);
  if (!filled.ok()) {
    folders_.Remove(half_made).IgnoreError();  // removed at the next start otherwise
    return filled;
  }
  return Finish(std::move(spec), half_made);
}

absl::StatusOr<std::shared_ptr<HostedModel>> ModelMaker::Finish(ModelSpec spec,
                                                                const std::string& half_made) {
  const std::string name = spec.public_spec.name;
  const std::string folder = folders_.PathOf(name);
  std::error_code error;
  if (std::filesystem::exists(folder, error)) {
    folders_.Remove(half_made).IgnoreError();  // removed at the next start otherwise
    return HoldsState(folder);
  }
  BANDANA_RETURN_IF_ERROR(folders_.Rename(half_made, folder));
  if (const absl::Status published = options_.log->Publish(folder, /*replace=*/false);
      !published.ok()) {
    folders_.Remove(folder).IgnoreError();
    return published;
  }
  absl::StatusOr<OpenedModel> opened =
      loader_.Add(std::move(spec), /*configured=*/false, OpenAs::kOwner);
  if (opened.ok()) return std::shared_ptr<HostedModel>(opened->model, opened->owned);
  models_.Remove(name);
  folders_.Remove(folder).IgnoreError();
  return opened.status();
}

absl::Status ModelMaker::CheckFreeForCopy(const std::string& name) const {
  if (IsImporting(name)) return BeingImported(name);
  BANDANA_RETURN_IF_ERROR(CheckFree(name, importing_.size()));
  std::error_code error;
  return std::filesystem::exists(folders_.PathOf(name), error) ? HoldsState(folders_.PathOf(name))
                                                               : absl::OkStatus();
}

absl::Status ModelMaker::CheckRoom(std::uint64_t bytes, int times) const {
  BANDANA_ASSIGN_OR_RETURN(const std::uint64_t free, options_.free_bytes(folders_.root()));
  return CheckDisk("an import", bytes, times, free, folders_.root());
}

absl::Status ModelMaker::CheckImport(std::string_view name, const v1::ExportHeader& header) {
  BANDANA_RETURN_IF_ERROR(CheckHeader(header));
  {
    std::lock_guard lock(changes_);
    BANDANA_RETURN_IF_ERROR(CheckFreeForCopy(std::string(name)));
  }
  BANDANA_RETURN_IF_ERROR(CheckRoom(header.bytes(), kCopiesOfImport));
  // Its graph is not there: what follows is found when it is.
  if (header.config_abridged()) return absl::OkStatus();
  v1::ModelConfig config = header.config();
  config.set_name(std::string(name));
  const absl::StatusOr<ModelSpec> spec = ParseStoredConfig(config);
  BANDANA_RETURN_IF_ERROR(Annotate(spec.status(), "config"));
  BANDANA_RETURN_IF_ERROR(CheckHeaderFits(header, *spec, options_.token_lifetime_max));
  BANDANA_RETURN_IF_ERROR(opener_.CheckKey(*spec));
  return opener_.Try(*spec);
}

absl::StatusOr<std::shared_ptr<HostedModel>> ModelMaker::Import(std::string_view name,
                                                                std::string_view exported,
                                                                const v1::ExportHeader* promised) {
  BANDANA_ASSIGN_OR_RETURN(ExportedModel copy, DecodeExport(exported));
  if (promised != nullptr) BANDANA_RETURN_IF_ERROR(CheckPromised(*promised, exported));
  copy.config.set_name(std::string(name));
  BANDANA_ASSIGN_OR_RETURN(ModelSpec spec, ParseStoredConfig(copy.config));
  BANDANA_ASSIGN_OR_RETURN(const v1::ExportHeader header, HeaderOfExport(exported));
  BANDANA_RETURN_IF_ERROR(CheckHeader(header));
  BANDANA_RETURN_IF_ERROR(CheckHeaderFits(header, spec, options_.token_lifetime_max));
  BANDANA_RETURN_IF_ERROR(CheckRoom(header.bytes(), kCopiesOfImport - 1));
  const std::string half_made = folders_.HalfMade(spec.public_spec.name);
  std::shared_ptr<const NoiseKey> key;
  {
    std::lock_guard lock(changes_);
    BANDANA_RETURN_IF_ERROR(CheckFreeForCopy(spec.public_spec.name));
    BANDANA_ASSIGN_OR_RETURN(key, opener_.KeyFor(spec));
    importing_.insert(spec.public_spec.name);
  }
  // The long part: other models come and go meanwhile.
  absl::Status filled = folders_.Remove(half_made);
  if (filled.ok()) filled = FillCopy(half_made, spec, key, std::move(copy));
  std::lock_guard lock(changes_);
  importing_.erase(spec.public_spec.name);
  if (!filled.ok()) {
    folders_.Remove(half_made).IgnoreError();  // removed at the next start otherwise
    return filled;
  }
  return Finish(std::move(spec), half_made);
}

absl::Status ModelMaker::FillCopy(const std::string& folder, const ModelSpec& spec,
                                  const std::shared_ptr<const NoiseKey>& key,
                                  ExportedModel exported) const {
  BANDANA_ASSIGN_OR_RETURN(const InstanceId instance, NewInstance());
  BANDANA_ASSIGN_OR_RETURN(const Identity identity, NewIdentity(spec, instance, key));
  if (!IsOfModel(exported.checkpoint, identity)) {
    return DataLoss("export: configuration and state are of different models");
  }
  exported.checkpoint.fixed = FixedDigest(identity);
  BecomeCopy(exported.checkpoint, instance);
  BANDANA_ASSIGN_OR_RETURN(const std::shared_ptr<StateStore> state,
                           MakeModelFolder(folder, spec, identity, &exported.checkpoint,
                                           *options_.log, options_.checkpoint_seal));
  BANDANA_RETURN_IF_ERROR(StoreArms(exported.arms, state->Table(TableKind::kArms)));
  BANDANA_RETURN_IF_ERROR(MakeUsers(spec, exported.users, state->Table(TableKind::kUsers)));
  return WriteStoredConfig(*state, spec.config);
}

absl::Status ModelMaker::FillNew(const std::string& folder, const ModelSpec& spec) {
  BANDANA_ASSIGN_OR_RETURN(const std::shared_ptr<const NoiseKey> key, opener_.KeyFor(spec));
  BANDANA_ASSIGN_OR_RETURN(const InstanceId instance, NewInstance());
  BANDANA_ASSIGN_OR_RETURN(const Identity identity, NewIdentity(spec, instance, key));
  BANDANA_ASSIGN_OR_RETURN(
      const std::shared_ptr<StateStore> state,
      MakeModelFolder(folder, spec, identity, nullptr, *options_.log, options_.checkpoint_seal));
  return WriteStoredConfig(*state, spec.config);
}

}  // namespace bandana::server
