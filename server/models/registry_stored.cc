// The registry's models that were made at run time, by this server or another one of the store: how
// they are found, and opened where the store was put back.
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/base/temp_folder.h"
#include "common/design/identity.h"
#include "common/random/bit_source.h"
#include "server/models/folder/noise_key_file.h"
#include "server/models/folder/publication.h"
#include "server/models/folder/recovery.h"
#include "server/models/folder/stored_config.h"
#include "server/models/folder_registry.h"

namespace bandana::server {

bool Registry::FindNamed() {
  const absl::StatusOr<std::vector<StoredModel>> known = log_->Models();
  if (!known.ok()) {
    Warn("",
         absl::StrCat("models that were made at run time are unknown: ", known.status().message()));
    return false;
  }
  bool all = true;
  for (const StoredModel& model : *known) {
    if (!model.made_at_run_time || EntryOf(model.name)) continue;
    const absl::Status adopted = AdoptFolder(model.name).status();
    if (!adopted.ok()) Warn(model.name, std::string(adopted.message()));
    const bool found = adopted.ok() ? FindStoredIn(model.name) : !absl::IsUnavailable(adopted);
    all = all && found;
  }
  return all;
}

absl::StatusOr<bool> Registry::AdoptFolder(const std::string& name) {
  BANDANA_RETURN_IF_ERROR(MakeFolders(Folder(name)));
  BANDANA_ASSIGN_OR_RETURN(const bool known, log_->Adopt(Folder(name)));
  if (!known) {
    std::error_code error;
    std::filesystem::remove(Folder(name), error);  // only where it is empty
  }
  return known;
}

bool Registry::FindStoredIn(const std::string& name) {
  const auto state = log_->OpenState(Folder(name), /*draws_noise=*/false);
  if (absl::IsNotFound(state.status())) return true;  // not complete
  const absl::StatusOr<bool> stored =
      state.ok() ? HasStoredConfig(**state) : absl::StatusOr<bool>(state.status());
  if (stored.ok() && *stored) Set(name, StoredEntry(name));
  if (stored.ok()) return true;
  // Not known whether it is one of the configuration: if so, it is opened as that.
  Warn(name, std::string(stored.status().message()));
  return !absl::IsUnavailable(stored.status());
}

Registry::Entry Registry::StoredEntry(const std::string& name) const {
  const auto state = log_->OpenState(Folder(name), /*draws_noise=*/false);
  if (!state.ok()) return {.why = state.status()};
  const absl::StatusOr<v1::ModelConfig> config = ReadStoredConfig(**state);
  if (!config.ok()) return {.why = config.status()};
  absl::StatusOr<ModelSpec> spec = ParseStoredConfig(*config);
  if (!spec.ok()) return {.why = spec.status()};
  if (const auto limit = config->privacy().events_per_user_max();
      limit != spec->config.privacy().events_per_user_max()) {
    Warn(name, absl::StrCat("events_per_user_max = ", limit,
                            " is left out: its users share a node, and nobody has kept it; the "
                            "policy hash is another one, so devices agree anew"));
  }
  return {.spec = std::make_shared<const ModelSpec>(*std::move(spec)),
          .why = Opening(),
          .opening = true};
}

void Registry::AddStoredJobs(Jobs& jobs) {
  const auto models = models_.load();
  for (const auto& [name, entry] : *models) {
    if (entry.model != nullptr || entry.configured) continue;
    Entry stored = StoredEntry(name);  // again: somebody may have mended it
    if (stored.spec == nullptr) {
      jobs.emplace_back(name, [why = stored.why] { return why; });
    } else {
      jobs.emplace_back(name, [this, spec = stored.spec] { return Add(*spec, false).status(); });
    }
    Set(name, std::move(stored));
  }
}

bool Registry::IsStored(const std::string& name) const {
  const auto state = log_->OpenState(Folder(name), /*draws_noise=*/false);
  return state.ok() && HasStoredConfig(**state).value_or(false);
}

void Registry::FindStoredLater() {
  if (!stored_unknown_ || !FindNamed()) return;
  stored_unknown_ = false;
  Jobs jobs;
  AddStoredJobs(jobs);
  for (const AbsentModel& absent : RunAll(std::move(jobs))) {
    Warn(absent.name, std::string(absent.why.message()));
  }
}

absl::StatusOr<std::uint64_t> ModelRegistry::OpenEpoch(std::string_view name) {
  const std::shared_ptr<HostedModel> model = Find(name);
  return model == nullptr ? AbsenceOf(*this, name) : model->OpenEpoch();
}

absl::StatusOr<std::uint64_t> Registry::OpenEpoch(std::string_view name) {
  std::shared_ptr<HostedModel> model = Find(name);
  if (model != nullptr && !model->owner()) return model->OpenEpoch();
  const std::lock_guard lock(mutex_);
  const std::optional<Entry> entry = EntryOf(name);
  if (!entry || !IsNeedsEpoch(entry->why)) return ModelRegistry::OpenEpoch(name);
  // One that nobody may own is followed meanwhile.
  if (entry->model != nullptr) entry->model->Retire();
  model.reset();
  BANDANA_ASSIGN_OR_RETURN(model, Add(*entry->spec, entry->configured, As::kAcceptLost));
  Warn(std::string(name), "is served again, in a new epoch: every user was charged once more");
  return model->epoch();
}

absl::Status Registry::TryOpen(ModelSpec spec) {
  BANDANA_ASSIGN_OR_RETURN(const TempFolder folder,
                           TempFolder::Make(Folder(std::string(kNewPrefix) + "try-")));
  HostedModelOptions options;
  options.stepped = true;
  options.free_bytes = free_bytes_;
  // Nothing that this noise is part of is kept: any key does.
  BANDANA_ASSIGN_OR_RETURN(options.noise_key, NewNoiseKey(SystemBits()));
  const std::string inside = folder.path() + "/" + spec.public_spec.name;
  return HostedModel::Open(std::move(spec), inside, clock_, options).status();
}

absl::Status Registry::FillNew(const std::string& folder, const ModelSpec& spec) {
  BANDANA_ASSIGN_OR_RETURN(const std::shared_ptr<const NoiseKey> key, KeyFor(spec));
  BANDANA_ASSIGN_OR_RETURN(const InstanceId instance, NewInstance());
  BANDANA_ASSIGN_OR_RETURN(const Identity identity, NewIdentity(spec, instance, key));
  BANDANA_ASSIGN_OR_RETURN(
      const std::shared_ptr<StateStore> state,
      MakeModelFolder(folder, spec, identity, nullptr, *log_, checkpoint_seal_));
  return WriteStoredConfig(*state, spec.config);
}

}  // namespace bandana::server
