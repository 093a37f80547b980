#include "server/models/registry.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
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
#include "server/models/folder/export_header.h"
#include "server/models/folder/noise_key_file.h"
#include "server/models/folder/recovery.h"
#include "server/models/folder/stored_config.h"
#include "server/models/import_check.h"
#include "server/models/users/user_copy.h"

namespace bandana::server {
namespace {

namespace fs = std::filesystem;

// Folders that are not models: half-made ones, and deleted ones that are not empty yet.
constexpr std::string_view kNewPrefix = ".new-";
constexpr std::string_view kDeletedPrefix = ".deleted-";
// Calls in flight keep a deleted model alive; they take milliseconds.
constexpr auto kReleaseTime = std::chrono::seconds(10);
// What an import takes of the disk, in units of the export: the bytes that came, and a folder of up
// to two checkpoints.
constexpr int kCopiesOfImport = 3;

absl::Status FromErrorCode(const std::error_code& error, std::string_view what,
                           const std::string& path) {
  if (!error) return absl::OkStatus();
  return Unavailable("cannot ", ToAbsl(what), " ", path, ": ", error.message());
}

absl::Status HoldsState(const std::string& folder) {
  return FailedPrecondition(
      folder, " holds the state of a model that was in the configuration; move it away first");
}

absl::Status BeingImported(const std::string& name) {
  return absl::AlreadyExistsError(absl::StrCat("model ", name, " is being imported"));
}

// In some transactions: nobody sees the file before it is complete.
absl::Status StoreArms(const ExportedArms& arms, const std::string& path) {
  constexpr std::size_t kBatchBytes = std::size_t{8} << 20;
  BANDANA_ASSIGN_OR_RETURN(ArmStore store, ArmStore::Open(path));
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
        token_lifetime_max_(options.token_lifetime_max),
        free_bytes_(options.free_bytes),
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
  absl::Status CheckImport(std::string_view name, const v1::ExportHeader& header) override;
  absl::StatusOr<TempFile> NewImportFile() override { return TempFile::Make(folder_); }
  absl::StatusOr<std::shared_ptr<HostedModel>> Import(std::string_view name,
                                                      std::string_view exported,
                                                      const v1::ExportHeader* promised) override;
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
  // That no model has the name, and there may be one more. `others`: names that imports have taken.
  absl::Status CheckFree(const std::string& name, std::size_t others = 0) const;
  // Also that no import and no folder has it. Under mutex_.
  absl::Status CheckFreeForCopy(const std::string& name) const;
  absl::Status CheckKey(const ModelSpec& spec);
  absl::Status CheckRoom(std::uint64_t bytes, int times) const;
  absl::StatusOr<std::shared_ptr<HostedModel>> Add(ModelSpec spec, bool configured);
  // The server's noise key, made at the first central model; null for other modes.
  absl::StatusOr<std::shared_ptr<const NoiseKey>> KeyFor(const ModelSpec& spec);
  // Gives the half-made folder its name, then opens the model in it.
  absl::StatusOr<std::shared_ptr<HostedModel>> Finish(ModelSpec spec, const std::string& half_made);
  absl::Status FillCopy(const std::string& folder, const ModelSpec& spec,
                        const std::shared_ptr<const NoiseKey>& key, ExportedModel exported) const;

  const std::string folder_;
  const std::string data_dir_;
  const int models_max_;
  const std::shared_ptr<const LogEngine> log_;
  const std::shared_ptr<const CheckpointSeal> checkpoint_seal_;
  const std::function<void(std::string_view, const std::string&)> warn_;
  const bool stepped_;
  const absl::Duration token_lifetime_max_;
  const FreeBytesOf free_bytes_;
  const Clock& clock_;
  std::shared_ptr<const NoiseKey> noise_key_;
  std::atomic<bool> hides_reports_{false};
  std::mutex mutex_;                           // for changes, and what follows
  std::set<std::string, std::less<>> coming_;  // names of models that are being imported
  SharedCell<const Models> models_;
};

absl::Status Registry::OpenStored() {
  BANDANA_RETURN_IF_ERROR(MakeFolders(folder_));
  BANDANA_RETURN_IF_ERROR(RemoveTempFiles(folder_));
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

absl::Status Registry::CheckFree(const std::string& name, std::size_t others) const {
  const auto models = models_.load();
  if (models->contains(name)) {
    return absl::AlreadyExistsError(absl::StrCat("model ", name, " exists"));
  }
  const std::size_t size = models->size() + others;
  if (static_cast<int>(size) >= models_max_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the server has ", size, " models, models_max is ", models_max_));
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
  model_options.free_bytes = free_bytes_;
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
  if (coming_.contains(spec.public_spec.name)) return BeingImported(spec.public_spec.name);
  BANDANA_RETURN_IF_ERROR(CheckFree(spec.public_spec.name, coming_.size()));
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
    return HoldsState(folder);
  }
  fs::rename(half_made, folder, error);
  BANDANA_RETURN_IF_ERROR(FromErrorCode(error, "rename", half_made));
  BANDANA_RETURN_IF_ERROR(SyncFolderOf(folder));
  absl::StatusOr<std::shared_ptr<HostedModel>> model = Add(std::move(spec), /*configured=*/false);
  if (!model.ok()) RemoveFolder(folder).IgnoreError();
  return model;
}

absl::Status Registry::CheckFreeForCopy(const std::string& name) const {
  if (coming_.contains(name)) return BeingImported(name);
  BANDANA_RETURN_IF_ERROR(CheckFree(name, coming_.size()));
  std::error_code error;
  return fs::exists(Folder(name), error) ? HoldsState(Folder(name)) : absl::OkStatus();
}

absl::Status Registry::CheckKey(const ModelSpec& spec) {
  // One that is not there yet would be made.
  if (noise_key_ == nullptr && !HasNoiseKey(data_dir_)) return absl::OkStatus();
  return KeyFor(spec).status();
}

absl::Status Registry::CheckRoom(std::uint64_t bytes, int times) const {
  BANDANA_ASSIGN_OR_RETURN(const std::uint64_t free, free_bytes_(folder_));
  return CheckDisk("an import", bytes, times, free, folder_);
}

absl::Status Registry::CheckImport(std::string_view name, const v1::ExportHeader& header) {
  BANDANA_RETURN_IF_ERROR(CheckHeader(header));
  {
    std::lock_guard lock(mutex_);
    BANDANA_RETURN_IF_ERROR(CheckFreeForCopy(std::string(name)));
  }
  BANDANA_RETURN_IF_ERROR(CheckRoom(header.bytes(), kCopiesOfImport));
  // Its graph is not there: what follows is found when it is.
  if (header.config_abridged()) return absl::OkStatus();
  v1::ModelConfig config = header.config();
  config.set_name(std::string(name));
  const absl::StatusOr<ModelSpec> spec = ParseStoredConfig(config);
  BANDANA_RETURN_IF_ERROR(Annotate(spec.status(), "config"));
  BANDANA_RETURN_IF_ERROR(CheckHeaderFits(header, *spec, token_lifetime_max_));
  std::lock_guard lock(mutex_);
  return CheckKey(*spec);
}

absl::StatusOr<std::shared_ptr<HostedModel>> Registry::Import(std::string_view name,
                                                              std::string_view exported,
                                                              const v1::ExportHeader* promised) {
  BANDANA_ASSIGN_OR_RETURN(ExportedModel copy, DecodeExport(exported));
  if (promised != nullptr) BANDANA_RETURN_IF_ERROR(CheckPromised(*promised, exported));
  copy.config.set_name(std::string(name));
  BANDANA_ASSIGN_OR_RETURN(ModelSpec spec, ParseStoredConfig(copy.config));
  BANDANA_ASSIGN_OR_RETURN(const v1::ExportHeader header, HeaderOfExport(exported));
  BANDANA_RETURN_IF_ERROR(CheckHeader(header));
  BANDANA_RETURN_IF_ERROR(CheckHeaderFits(header, spec, token_lifetime_max_));
  BANDANA_RETURN_IF_ERROR(CheckRoom(header.bytes(), kCopiesOfImport - 1));
  const std::string half_made = Folder(std::string(kNewPrefix) + spec.public_spec.name);
  std::shared_ptr<const NoiseKey> key;
  {
    std::lock_guard lock(mutex_);
    BANDANA_RETURN_IF_ERROR(CheckFreeForCopy(spec.public_spec.name));
    BANDANA_ASSIGN_OR_RETURN(key, KeyFor(spec));
    coming_.insert(spec.public_spec.name);
  }
  // The long part: other models come and go meanwhile.
  absl::Status filled = RemoveFolder(half_made);
  if (filled.ok()) filled = FillCopy(half_made, spec, key, std::move(copy));
  std::lock_guard lock(mutex_);
  coming_.erase(spec.public_spec.name);
  if (!filled.ok()) {
    RemoveFolder(half_made).IgnoreError();  // removed at the next start otherwise
    return filled;
  }
  return Finish(std::move(spec), half_made);
}

absl::Status Registry::FillCopy(const std::string& folder, const ModelSpec& spec,
                                const std::shared_ptr<const NoiseKey>& key,
                                ExportedModel exported) const {
  BANDANA_ASSIGN_OR_RETURN(const InstanceId instance, NewInstance());
  BANDANA_ASSIGN_OR_RETURN(const Identity identity, NewIdentity(spec, instance, key));
  if (!IsOfModel(exported.checkpoint, identity)) {
    return DataLoss("export: configuration and state are of different models");
  }
  exported.checkpoint.fixed = FixedDigest(identity);
  const std::string bytes = CheckpointOfCopy(exported.checkpoint, instance);
  BANDANA_RETURN_IF_ERROR(
      MakeModelFolder(folder, identity, &exported.checkpoint, bytes, *log_, checkpoint_seal_));
  BANDANA_RETURN_IF_ERROR(StoreArms(exported.arms, ArmsPath(folder)));
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
