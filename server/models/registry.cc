#include "server/models/registry.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "common/base/file.h"
#include "common/base/shared_cell.h"
#include "common/base/status.h"
#include "common/design/event_rule.h"
#include "common/design/mode.h"
#include "server/models/catalogue/arm_store.h"
#include "server/models/folder/export.h"
#include "server/models/folder/noise_key_file.h"
#include "server/models/folder/recovery.h"
#include "server/models/folder/stored_config.h"
#include "server/models/users/user_copy.h"

namespace bandana::server {
namespace {

namespace fs = std::filesystem;

// Folders that are not models: half-made ones, and deleted ones that are not empty yet.
constexpr std::string_view kNewPrefix = ".new-";
constexpr std::string_view kDeletedPrefix = ".deleted-";
// Calls in flight keep a deleted model alive; they take milliseconds.
constexpr auto kReleaseTime = std::chrono::seconds(10);

absl::Status FromErrorCode(const std::error_code& error, std::string_view what,
                           const std::string& path) {
  if (!error) return absl::OkStatus();
  return Unavailable("cannot ", ToAbsl(what), " ", path, ": ", error.message());
}

class Registry final : public ModelRegistry {
 public:
  Registry(const Options& options, const Clock& clock)
      : folder_(options.data_dir + "/models"),
        data_dir_(options.data_dir),
        models_max_(options.models_max),
        log_(options.log),
        checkpoint_seal_(options.checkpoint_seal),
        warn_(options.warn),
        stepped_(options.stepped),
        clock_(clock) {
    models_.store(std::make_shared<const Models>());
  }

  absl::Status OpenStored();

  std::shared_ptr<HostedModel> Find(std::string_view name) const override {
    const auto models = models_.load();
    const auto it = models->find(name);
    return it == models->end() ? nullptr : it->second.model;
  }
  std::vector<std::shared_ptr<HostedModel>> List() const override {
    std::vector<std::shared_ptr<HostedModel>> list;
    const auto models = models_.load();  // kept: another thread may replace it meanwhile
    for (const auto& [name, entry] : *models) list.push_back(entry.model);
    return list;
  }

  bool hides_reports() const override { return hides_reports_; }

  absl::Status AddConfigured(ModelSpec spec) override;
  absl::StatusOr<std::shared_ptr<HostedModel>> Create(ModelSpec spec) override;
  absl::StatusOr<std::shared_ptr<HostedModel>> Import(std::string_view name,
                                                      std::string_view exported) override;
  absl::Status Delete(std::string_view name) override;

 private:
  struct Entry {
    std::shared_ptr<HostedModel> model;
    bool configured = false;
  };
  using Models = std::map<std::string, Entry, std::less<>>;

  std::string Folder(std::string_view name) const { return folder_ + "/" + std::string(name); }
  void Store(Models models) {
    hides_reports_ = std::any_of(models.begin(), models.end(), [](const auto& named) {
      return HidesReports(named.second.model->spec().public_spec);
    });
    models_.store(std::make_shared<const Models>(std::move(models)));
  }
  // With its log.
  absl::Status RemoveFolder(const std::string& path) const;
  absl::Status CheckFree(const std::string& name) const;
  absl::StatusOr<std::shared_ptr<HostedModel>> Add(ModelSpec spec, bool configured);
  // The server's noise key, made at the first central model; null for other modes.
  absl::StatusOr<std::shared_ptr<const NoiseKey>> KeyFor(const ModelSpec& spec);
  // Gives the half-made folder its name, then opens the model in it.
  absl::StatusOr<std::shared_ptr<HostedModel>> Finish(ModelSpec spec, const std::string& half_made);
  absl::Status FillCopy(const std::string& folder, const ModelSpec& spec, ExportedModel exported);

  const std::string folder_;
  const std::string data_dir_;
  const int models_max_;
  const std::shared_ptr<const LogEngine> log_;
  const std::shared_ptr<const CheckpointSeal> checkpoint_seal_;
  const std::function<void(std::string_view, const std::string&)> warn_;
  const bool stepped_;
  const Clock& clock_;
  std::shared_ptr<const NoiseKey> noise_key_;
  std::atomic<bool> hides_reports_{false};
  std::mutex mutex_;  // for changes
  SharedCell<const Models> models_;
};

absl::Status Registry::OpenStored() {
  BANDANA_RETURN_IF_ERROR(MakeFolders(folder_));
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  BANDANA_RETURN_IF_ERROR(FromErrorCode(error, "list", folder_));
  for (const std::string& name : names) {
    if (name.starts_with(kNewPrefix) || name.starts_with(kDeletedPrefix)) {
      BANDANA_RETURN_IF_ERROR(RemoveFolder(Folder(name)));
      continue;
    }
    if (!HasStoredConfig(Folder(name))) continue;  // of a configured model
    BANDANA_ASSIGN_OR_RETURN(const v1::ModelConfig config, ReadStoredConfig(Folder(name)));
    absl::StatusOr<ModelSpec> spec = ParseStoredConfig(config);
    if (!spec.ok()) return Annotate(spec.status(), absl::StrCat("model ", name));
    BANDANA_RETURN_IF_ERROR(Add(*std::move(spec), /*configured=*/false).status());
  }
  return absl::OkStatus();
}

absl::Status Registry::RemoveFolder(const std::string& path) const {
  BANDANA_RETURN_IF_ERROR(log_->Remove(path));
  std::error_code error;
  fs::remove_all(path, error);
  return FromErrorCode(error, "remove", path);
}

absl::Status Registry::CheckFree(const std::string& name) const {
  const auto models = models_.load();
  if (models->contains(name)) {
    return absl::AlreadyExistsError(absl::StrCat("model ", name, " exists"));
  }
  if (static_cast<int>(models->size()) >= models_max_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the server has ", models->size(), " models, models_max is ", models_max_));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<HostedModel>> Registry::Add(ModelSpec spec, bool configured) {
  const std::string name = spec.public_spec.name;
  BANDANA_RETURN_IF_ERROR(CheckFree(name));
  HostedModelOptions model_options;
  model_options.log = log_;
  model_options.checkpoint_seal = checkpoint_seal_;
  model_options.stepped = stepped_;
  if (warn_) {
    model_options.warn = [warn = warn_, name](const std::string& message) { warn(name, message); };
  }
  BANDANA_ASSIGN_OR_RETURN(model_options.noise_key, KeyFor(spec));
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<HostedModel> opened,
                           HostedModel::Open(std::move(spec), Folder(name), clock_, model_options));
  std::shared_ptr<HostedModel> model = std::move(opened);
  Models next = *models_.load();
  next.emplace(name, Entry{model, configured});
  Store(std::move(next));
  return model;
}

absl::StatusOr<std::shared_ptr<const NoiseKey>> Registry::KeyFor(const ModelSpec& spec) {
  if (!ModeOf(spec.public_spec.mode).server_draws) return std::shared_ptr<const NoiseKey>();
  if (noise_key_ == nullptr) {
    BANDANA_ASSIGN_OR_RETURN(noise_key_, OpenNoiseKey(data_dir_, SystemBits()));
  }
  return noise_key_;
}

absl::Status Registry::AddConfigured(ModelSpec spec) {
  std::lock_guard lock(mutex_);
  const std::string name = spec.public_spec.name;
  if (HasStoredConfig(Folder(name))) {
    return absl::AlreadyExistsError(
        absl::StrCat("model ", name,
                     " of the configuration was made at run time by an earlier one of this name; "
                     "delete that or choose another name"));
  }
  return Add(std::move(spec), /*configured=*/true).status();
}

absl::StatusOr<std::shared_ptr<HostedModel>> Registry::Create(ModelSpec spec) {
  std::lock_guard lock(mutex_);
  BANDANA_RETURN_IF_ERROR(CheckFree(spec.public_spec.name));
  const std::string half_made = Folder(std::string(kNewPrefix) + spec.public_spec.name);
  BANDANA_RETURN_IF_ERROR(RemoveFolder(half_made));
  BANDANA_RETURN_IF_ERROR(MakeFolders(half_made));
  BANDANA_RETURN_IF_ERROR(WriteStoredConfig(half_made, spec.config));
  return Finish(std::move(spec), half_made);
}

absl::StatusOr<std::shared_ptr<HostedModel>> Registry::Finish(ModelSpec spec,
                                                              const std::string& half_made) {
  const std::string folder = Folder(spec.public_spec.name);
  std::error_code error;
  if (fs::exists(folder, error)) {
    RemoveFolder(half_made).IgnoreError();  // removed at the next start otherwise
    return FailedPrecondition(
        folder, " holds the state of a model that was in the configuration; move it away first");
  }
  fs::rename(half_made, folder, error);
  BANDANA_RETURN_IF_ERROR(FromErrorCode(error, "rename", half_made));
  BANDANA_RETURN_IF_ERROR(SyncFolderOf(folder));
  absl::StatusOr<std::shared_ptr<HostedModel>> model = Add(std::move(spec), /*configured=*/false);
  if (!model.ok()) RemoveFolder(folder).IgnoreError();
  return model;
}

absl::StatusOr<std::shared_ptr<HostedModel>> Registry::Import(std::string_view name,
                                                              std::string_view exported) {
  BANDANA_ASSIGN_OR_RETURN(ExportedModel copy, DecodeExport(exported));
  copy.config.set_name(std::string(name));
  BANDANA_ASSIGN_OR_RETURN(ModelSpec spec, ParseStoredConfig(copy.config));
  std::lock_guard lock(mutex_);
  BANDANA_RETURN_IF_ERROR(CheckFree(spec.public_spec.name));
  const std::string half_made = Folder(std::string(kNewPrefix) + spec.public_spec.name);
  BANDANA_RETURN_IF_ERROR(RemoveFolder(half_made));
  const absl::Status filled = FillCopy(half_made, spec, std::move(copy));
  if (!filled.ok()) {
    RemoveFolder(half_made).IgnoreError();  // removed at the next start otherwise
    return filled;
  }
  return Finish(std::move(spec), half_made);
}

absl::Status Registry::FillCopy(const std::string& folder, const ModelSpec& spec,
                                ExportedModel exported) {
  BANDANA_ASSIGN_OR_RETURN(const InstanceId instance, NewInstance());
  BANDANA_ASSIGN_OR_RETURN(const auto key, KeyFor(spec));
  BANDANA_ASSIGN_OR_RETURN(const Identity identity, NewIdentity(spec, instance, key));
  if (!IsOfModel(exported.checkpoint, identity)) {
    return DataLoss("export: configuration and state are of different models");
  }
  exported.checkpoint.fixed = FixedDigest(identity);
  const std::string bytes = CheckpointOfCopy(exported.checkpoint, instance);
  BANDANA_RETURN_IF_ERROR(
      MakeModelFolder(folder, identity, &exported.checkpoint, bytes, *log_, checkpoint_seal_));
  BANDANA_ASSIGN_OR_RETURN(ArmStore arms, ArmStore::Open(ArmsPath(folder)));
  BANDANA_RETURN_IF_ERROR(arms.Put(exported.arms));
  BANDANA_RETURN_IF_ERROR(MakeUsers(spec, exported.users, UsersPath(folder)));
  return WriteStoredConfig(folder, spec.config);
}

absl::Status Registry::Delete(std::string_view name) {
  std::lock_guard lock(mutex_);
  Models next = *models_.load();
  const auto it = next.find(name);
  if (it == next.end()) return NotFound("model ", ToAbsl(name), " does not exist");
  if (it->second.configured) {
    return FailedPrecondition("model ", ToAbsl(name),
                              " is in the configuration file; remove it there");
  }
  const std::weak_ptr<HostedModel> model = it->second.model;
  next.erase(it);
  Store(std::move(next));
  const auto give_up = std::chrono::steady_clock::now() + kReleaseTime;
  while (!model.expired() && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const std::string grave = Folder(std::string(kDeletedPrefix) + std::string(name));
  BANDANA_RETURN_IF_ERROR(RemoveFolder(grave));
  std::error_code error;
  fs::rename(Folder(name), grave, error);
  BANDANA_RETURN_IF_ERROR(FromErrorCode(error, "rename", Folder(name)));
  BANDANA_RETURN_IF_ERROR(SyncFolderOf(grave));
  return RemoveFolder(grave);
}

}  // namespace

bool ModelRegistry::hides_reports() const {
  const auto models = List();
  return std::any_of(models.begin(), models.end(),
                     [](const auto& model) { return HidesReports(model->spec().public_spec); });
}

absl::StatusOr<std::unique_ptr<ModelRegistry>> ModelRegistry::Open(const Options& options,
                                                                   const Clock& clock) {
  auto registry = std::make_unique<Registry>(options, clock);
  BANDANA_RETURN_IF_ERROR(registry->OpenStored());
  return registry;
}

}  // namespace bandana::server
