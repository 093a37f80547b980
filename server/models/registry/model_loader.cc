#include "server/models/registry/model_loader.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/base/temp_file.h"
#include "server/models/folder/stored_config.h"

namespace bandana::server {

absl::Status ModelLoader::FindStored() {
  BANDANA_RETURN_IF_ERROR(MakeFolders(folders_.root()));
  BANDANA_RETURN_IF_ERROR(RemoveTempFiles(folders_.root()));
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folders_.root(), error), end; !error && it != end;
       it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error) return Unavailable("cannot list ", folders_.root(), ": ", error.message());
  bool known = true;
  for (const std::string& name : names) {
    if (ModelFolders::IsLeftover(name)) {
      // A folder that cannot be removed now goes at a later start.
      const absl::Status removed = folders_.Remove(folders_.PathOf(name));
      if (!removed.ok()) Warn("", std::string(removed.message()));
      continue;
    }
    if (!FindStoredIn(name)) known = false;
  }
  if (!FindNamed()) known = false;
  stored_unknown_ = !known;
  return absl::OkStatus();
}

std::vector<AbsentModel> ModelLoader::OpenStored() {
  ModelJobs jobs;
  AddStoredJobs(jobs);
  return RunAll(std::move(jobs));
}

bool ModelLoader::FindNamed() {
  const absl::StatusOr<std::vector<StoredModel>> known = options_.log->Models();
  if (!known.ok()) {
    Warn("",
         absl::StrCat("models that were made at run time are unknown: ", known.status().message()));
    return false;
  }
  bool all = true;
  for (const StoredModel& model : *known) {
    if (!model.made_at_run_time || models_.EntryOf(model.name)) continue;
    const absl::Status adopted = folders_.Adopt(model.name).status();
    if (!adopted.ok()) Warn(model.name, std::string(adopted.message()));
    const bool found = adopted.ok() ? FindStoredIn(model.name) : !absl::IsUnavailable(adopted);
    all = all && found;
  }
  return all;
}

bool ModelLoader::FindStoredIn(const std::string& name) {
  const auto state = options_.log->OpenState(folders_.PathOf(name), /*draws_noise=*/false);
  if (absl::IsNotFound(state.status())) return true;  // not complete
  const absl::StatusOr<bool> stored =
      state.ok() ? HasStoredConfig(**state) : absl::StatusOr<bool>(state.status());
  if (stored.ok() && *stored) models_.Set(name, StoredEntry(name));
  if (stored.ok()) return true;
  // Not known whether it is one of the configuration: if so, it is opened as that.
  Warn(name, std::string(stored.status().message()));
  return !absl::IsUnavailable(stored.status());
}

ModelEntry ModelLoader::StoredEntry(const std::string& name) const {
  const auto state = options_.log->OpenState(folders_.PathOf(name), /*draws_noise=*/false);
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
  return OpeningEntry(std::make_shared<const ModelSpec>(*std::move(spec)), /*configured=*/false);
}

void ModelLoader::AddStoredJobs(ModelJobs& jobs) {
  const auto models = models_.All();
  for (const auto& [name, entry] : *models) {
    if (entry.model() != nullptr || entry.configured) continue;
    ModelEntry stored = StoredEntry(name);  // again: somebody may have mended it
    if (stored.spec == nullptr) {
      jobs.emplace_back(name, [why = stored.why] { return why; });
    } else {
      jobs.emplace_back(name, [this, spec = stored.spec] { return Add(*spec, false).status(); });
    }
    models_.Set(name, std::move(stored));
  }
}

bool ModelLoader::IsStored(const std::string& name) const {
  const auto state = options_.log->OpenState(folders_.PathOf(name), /*draws_noise=*/false);
  return state.ok() && HasStoredConfig(**state).value_or(false);
}

void ModelLoader::FindStoredLater() {
  if (!stored_unknown_ || !FindNamed()) return;
  stored_unknown_ = false;
  ModelJobs jobs;
  AddStoredJobs(jobs);
  for (const AbsentModel& absent : RunAll(std::move(jobs))) {
    Warn(absent.name, std::string(absent.why.message()));
  }
}

absl::StatusOr<OpenedModel> ModelLoader::Add(ModelSpec spec, bool configured, OpenAs as) {
  const std::string name = spec.public_spec.name;
  ModelEntry entry{.configured = configured,
                   .spec = std::make_shared<const ModelSpec>(spec),
                   .fingerprint = FingerprintOf(spec)};
  absl::StatusOr<OpenedModel> model = opener_.Open(std::move(spec), as);
  if (model.ok()) {
    entry.opened = *model;
  } else {
    entry.why = model.status();
  }
  models_.Set(name, std::move(entry));
  return model;
}

absl::Status ModelLoader::Reopen(const std::string& name, ModelSpec spec) {
  const std::optional<ModelEntry> before = models_.EntryOf(name);
  const OpenAs as = before->opened.followed != nullptr ? OpenAs::kAny : OpenAs::kOwner;
  before->model()->Retire();
  ModelEntry entry{.configured = before->configured,
                   .spec = std::make_shared<const ModelSpec>(spec),
                   .fingerprint = FingerprintOf(spec)};
  absl::StatusOr<OpenedModel> opened = opener_.Open(std::move(spec), as);
  absl::Status done = opened.status();
  if (done.ok() && !entry.configured) {
    entry.spec = std::make_shared<const ModelSpec>(opened->model->spec());
    entry.fingerprint = FingerprintOf(*entry.spec);
    if (opened->owned != nullptr) done = opened->owned->StoreConfig(entry.spec->config);
  }
  if (done.ok()) {
    entry.opened = *std::move(opened);
    models_.Set(name, std::move(entry));
    return absl::OkStatus();
  }
  opened = done;
  Warn(name, absl::StrCat("cannot be opened with its new configuration: ", done.message(),
                          "; it is opened as before"));
  ModelEntry again = *before;
  opened = opener_.Open(*again.spec, as);
  if (opened.ok()) {
    again.opened = *std::move(opened);
  } else {
    again.opened = {};
    again.why = opened.status();
  }
  models_.Set(name, std::move(again));
  return done;
}

absl::Status ModelLoader::TakeIn(const std::string& name) {
  const std::optional<ModelEntry> entry = models_.EntryOf(name);
  if (entry && entry->model() != nullptr) return absl::OkStatus();
  if (entry && entry->spec != nullptr) return Add(*entry->spec, entry->configured).status();
  BANDANA_ASSIGN_OR_RETURN(const bool known, folders_.Adopt(name));
  if (!known) return absl::OkStatus();  // deleted since it was seen
  if (!FindStoredIn(name)) stored_unknown_ = true;
  const std::optional<ModelEntry> found = models_.EntryOf(name);
  if (!found || found->spec == nullptr) return found ? found->why : absl::OkStatus();
  return Add(*found->spec, /*configured=*/false).status();
}

bool ModelLoader::TakeStoredConfig(const std::string& name) {
  std::optional<ModelEntry> entry = models_.EntryOf(name);
  if (!entry || entry->configured || entry->spec == nullptr) return false;
  ModelEntry stored = StoredEntry(name);
  if (stored.spec == nullptr) return false;  // it stays as it was
  if (FingerprintOf(*stored.spec) == FingerprintOf(*entry->spec)) return false;
  entry->spec = std::move(stored.spec);
  models_.Set(name, *std::move(entry));
  return true;
}

}  // namespace bandana::server
