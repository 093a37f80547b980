#include "server/models/registry.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/escaping.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/removal.h"
#include "common/base/shared_cell.h"
#include "common/base/status.h"
#include "common/design/event_rule.h"
#include "common/design/identity.h"
#include "common/design/mode.h"
#include "common/random/bit_source.h"
#include "server/models/catalogue/arm_store.h"
#include "server/models/folder/export.h"
#include "server/models/folder/export_header.h"
#include "server/models/folder/noise_key_file.h"
#include "server/models/folder/publication.h"
#include "server/models/folder/recovery.h"
#include "server/models/folder/stored_config.h"
#include "server/models/folder_registry.h"
#include "server/models/import_check.h"
#include "server/models/users/user_copy.h"

namespace bandana::server {
namespace {

namespace fs = std::filesystem;

// Folders of models that were deleted and are not empty yet.
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

std::string Registry::FingerprintOf(const ModelSpec& spec) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    spec.config.SerializeToCodedStream(&out);
  }
  absl::StrAppend(&bytes, IdentityOf(spec, {}).graph);
  const auto add_time = [&](const std::string& file) {
    std::error_code error;
    const auto time = fs::last_write_time(file, error);
    absl::StrAppend(&bytes, file, error ? 0 : time.time_since_epoch().count());
  };
  if (!spec.arms_file.empty()) add_time(spec.arms_file);
  if (spec.effects && !spec.effects->users_file.empty()) add_time(spec.effects->users_file);
  return bytes;
}

absl::Status Registry::FindStored() {
  BANDANA_RETURN_IF_ERROR(MakeFolders(folder_));
  BANDANA_RETURN_IF_ERROR(RemoveTempFiles(folder_));
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  BANDANA_RETURN_IF_ERROR(FromErrorCode(error, "list", folder_));
  bool known = true;
  for (const std::string& name : names) {
    if (name.starts_with(kNewPrefix) || name.starts_with(kDeletedPrefix)) {
      // What cannot be removed now goes at a later start.
      const absl::Status removed = RemoveFolder(Folder(name));
      if (!removed.ok()) Warn("", std::string(removed.message()));
      continue;
    }
    if (!FindStoredIn(name)) known = false;
  }
  if (!FindNamed()) known = false;
  stored_unknown_ = !known;
  LoadAliases();
  return absl::OkStatus();
}

std::vector<AbsentModel> Registry::OpenStored() {
  const std::lock_guard lock(mutex_);
  Jobs jobs;
  AddStoredJobs(jobs);
  return RunAll(std::move(jobs));
}

std::vector<AbsentModel> Registry::RunAll(Jobs jobs) {
  std::vector<absl::Status> results(jobs.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < jobs.size(); i = next++) results[i] = jobs[i].second();
  };
  std::vector<std::thread> threads;
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  for (std::size_t t = 1; t < std::min(cores, jobs.size()); ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  std::vector<AbsentModel> failed;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!results[i].ok()) failed.push_back({jobs[i].first, results[i]});
  }
  return failed;
}

absl::Status Registry::RemoveFolder(const std::string& path) const {
  BANDANA_RETURN_IF_ERROR(log_->Remove(path));
  return bandana::RemoveFolder(path);
}

absl::Status Registry::CheckFree(const std::string& name, std::size_t others) const {
  const auto models = models_.load();
  if (models->contains(name)) {
    return absl::AlreadyExistsError(absl::StrCat("model ", name, " exists"));
  }
  BANDANA_RETURN_IF_ERROR(CheckNoAlias(name));
  const std::size_t size = models->size() + others;
  if (static_cast<int>(size) >= models_max_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the server has ", size, " models, models_max is ", models_max_.load()));
  }
  return absl::OkStatus();
}

absl::StatusOr<HostedModelOptions> Registry::ModelOptions(const ModelSpec& spec, As as) {
  HostedModelOptions options;
  options.log = log_;
  options.checkpoint_seal = checkpoint_seal_;
  options.stepped = stepped_;
  options.clock_ahead_max = clock_ahead_max_;
  options.accept_lost = as == As::kAcceptLost;
  options.warn = [this, name = spec.public_spec.name](const std::string& message) {
    Warn(name, message);
  };
  options.free_bytes = free_bytes_;
  options.kind_read = kind_read_;
  BANDANA_ASSIGN_OR_RETURN(options.noise_key, KeyFor(spec));
  return options;
}

absl::StatusOr<std::shared_ptr<HostedModel>> Registry::OpenOwned(
    ModelSpec spec, As as, std::shared_ptr<const std::string> followed) {
  const std::string name = spec.public_spec.name;
  BANDANA_ASSIGN_OR_RETURN(HostedModelOptions options, ModelOptions(spec, as));
  options.followed = std::move(followed);
  const bool accepts = as == As::kAcceptLost;
  options.doubt = Vouch(spec, /*ask=*/accepts, options.elsewhere);
  if (!options.doubt.ok() && !(accepts && IsNeedsEpoch(options.doubt))) return options.doubt;
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<HostedModel> opened,
                           open_(std::move(spec), Folder(name), clock_, options));
  return std::shared_ptr<HostedModel>(std::move(opened));
}

absl::StatusOr<std::shared_ptr<HostedModel>> Registry::OpenModel(ModelSpec spec, As as) {
  const bool shared = watch_ != nullptr && as == As::kAny;
  return shared ? OpenShared(std::move(spec)) : OpenOwned(std::move(spec), as);
}

absl::StatusOr<std::shared_ptr<HostedModel>> Registry::Add(ModelSpec spec, bool configured, As as) {
  const std::string name = spec.public_spec.name;
  Entry entry{.configured = configured,
              .spec = std::make_shared<const ModelSpec>(spec),
              .fingerprint = FingerprintOf(spec)};
  absl::StatusOr<std::shared_ptr<HostedModel>> model = OpenModel(std::move(spec), as);
  if (model.ok()) {
    entry.model = *model;
  } else {
    entry.why = model.status();
  }
  Set(name, std::move(entry));
  return model;
}

absl::StatusOr<std::shared_ptr<const NoiseKey>> Registry::KeyFor(const ModelSpec& spec) {
  if (!ModeOf(spec.public_spec.mode).server_draws) return std::shared_ptr<const NoiseKey>();
  const std::lock_guard lock(key_mutex_);
  if (noise_key_ == nullptr) {
    BANDANA_ASSIGN_OR_RETURN(noise_key_, noise_key_file_.empty()
                                             ? OpenNoiseKey(data_dir_, SystemBits())
                                             : ReadNoiseKey(noise_key_file_));
  }
  return noise_key_;
}

absl::Status Registry::AddConfigured(ModelSpec spec) {
  const std::lock_guard lock(mutex_);
  const std::string name = spec.public_spec.name;
  if (EntryOf(name)) return CheckFree(name);
  Jobs jobs;
  BANDANA_RETURN_IF_ERROR(AddConfiguredJob(std::move(spec), jobs));
  const std::vector<AbsentModel> failed = RunAll(std::move(jobs));
  return failed.empty() ? absl::OkStatus() : failed.front().why;
}

absl::Status Registry::AddConfiguredJob(ModelSpec spec, Jobs& jobs) {
  const std::string name = spec.public_spec.name;
  if (IsStored(name)) {
    return absl::AlreadyExistsError(
        absl::StrCat("model ", name,
                     " of the configuration was made at run time by an earlier one of this name; "
                     "delete that or choose another name"));
  }
  const std::optional<Entry> entry = EntryOf(name);
  if (!entry) BANDANA_RETURN_IF_ERROR(CheckFree(name));
  if (entry && entry->model != nullptr) {
    if (entry->fingerprint == FingerprintOf(spec)) return absl::OkStatus();
    BANDANA_RETURN_IF_ERROR(
        Annotate(entry->model->CheckUpdate(spec), absl::StrCat("model ", name)));
    BANDANA_RETURN_IF_ERROR(MayBecome(name, entry->model->spec().public_spec, spec.public_spec));
    jobs.emplace_back(name, [this, name, spec = std::move(spec)] {
      const absl::Status tried = TryOpen(spec);
      if (tried.ok()) return Reopen(name, spec);
      return Annotate(tried, absl::StrCat("model ", name, ", which is served as before"));
    });
    return absl::OkStatus();
  }
  Set(name, {.configured = true,
             .spec = std::make_shared<const ModelSpec>(spec),
             .why = Opening(),
             .opening = true});
  jobs.emplace_back(name, [this, spec = std::move(spec)] { return Add(spec, true).status(); });
  return absl::OkStatus();
}

std::vector<AbsentModel> Registry::Configure(std::vector<ModelSpec> specs) {
  const std::lock_guard lock(mutex_);
  std::set<std::string> named;
  std::vector<AbsentModel> failed;
  for (const ModelSpec& spec : specs) named.insert(spec.public_spec.name);
  for (const auto& [name, entry] : Models(*models_.load())) {
    if (!entry.configured || named.contains(name)) continue;
    if (const absl::Status may = MayLeave(name); !may.ok()) {
      failed.push_back({name, may});
      continue;
    }
    Remove(name);
    Warn(name, "the configuration does not name it any more: it is closed, its folder stays");
    if (entry.model != nullptr) entry.model->Retire();
  }
  Jobs jobs;
  AddStoredJobs(jobs);
  for (ModelSpec& spec : specs) {
    const std::string name = spec.public_spec.name;
    const absl::Status added = AddConfiguredJob(std::move(spec), jobs);
    if (!added.ok()) failed.push_back({name, added});
  }
  named_ = true;
  for (AbsentModel& one : RunAll(std::move(jobs))) failed.push_back(std::move(one));
  return failed;
}

absl::Status Registry::Reopen(const std::string& name, ModelSpec spec) {
  const std::optional<Entry> before = EntryOf(name);
  const As as = before->model->owner() ? As::kAny : As::kOwn;
  before->model->Retire();
  Entry entry{.configured = before->configured,
              .spec = std::make_shared<const ModelSpec>(spec),
              .fingerprint = FingerprintOf(spec)};
  absl::StatusOr<std::shared_ptr<HostedModel>> opened = OpenModel(std::move(spec), as);
  absl::Status done = opened.status();
  if (done.ok() && !entry.configured) done = (*opened)->StoreConfig(entry.spec->config);
  if (done.ok()) {
    entry.model = *std::move(opened);
    Set(name, std::move(entry));
    return absl::OkStatus();
  }
  opened = done;
  Warn(name, absl::StrCat("cannot be opened with its new configuration: ", done.message(),
                          "; it is opened as before"));
  Entry again = *before;
  opened = OpenModel(*again.spec, as);
  if (opened.ok()) {
    again.model = *std::move(opened);
  } else {
    again.model = nullptr;
    again.why = opened.status();
  }
  Set(name, std::move(again));
  return done;
}

void Registry::Recover() {
  const std::lock_guard lock(mutex_);
  FindStoredLater();
  FollowAliases();
  const auto models = models_.load();
  for (const auto& [name, entry] : *models) {
    if (entry.spec == nullptr) continue;
    absl::Status again;
    if (entry.model == nullptr) {
      if (!absl::IsUnavailable(entry.why)) continue;
      again = Add(*entry.spec, entry.configured).status();
    } else {
      const absl::Status health = entry.model->Health();
      if (health.ok() || Passes(health)) continue;
      Warn(name, absl::StrCat("is opened again, as it can go on no further: ", health.message()));
      again = Reopen(name, *entry.spec);
    }
    if (again.ok()) Warn(name, "is served again");
  }
}

absl::Status Registry::CheckOwned(std::string_view name, const Entry& entry) {
  if (entry.model == nullptr || !entry.model->owner()) return absl::OkStatus();
  return Unavailable("another server owns model ", ToAbsl(name), " now; try again");
}

absl::Status Registry::MayUpdate(std::string_view name) const {
  const std::optional<Entry> entry = EntryOf(name);
  if (!entry) return AbsenceOf(*this, name);
  if (entry->configured) {
    return FailedPrecondition("model ", ToAbsl(name),
                              " is in the configuration file; change it there, and send SIGHUP");
  }
  return CheckOwned(name, *entry);
}

absl::StatusOr<std::shared_ptr<HostedModel>> Registry::Update(ModelSpec spec) {
  const std::lock_guard lock(mutex_);
  const std::string name = spec.public_spec.name;
  BANDANA_RETURN_IF_ERROR(MayUpdate(name));
  const std::shared_ptr<HostedModel> model = Find(name);
  if (model == nullptr) return AbsenceOf(*this, name);
  BANDANA_RETURN_IF_ERROR(model->CheckUpdate(spec));
  BANDANA_RETURN_IF_ERROR(MayBecome(name, model->spec().public_spec, spec.public_spec));
  BANDANA_RETURN_IF_ERROR(TryOpen(spec));
  BANDANA_RETURN_IF_ERROR(Reopen(name, std::move(spec)));
  return Find(name);
}

absl::StatusOr<std::shared_ptr<HostedModel>> Registry::Create(ModelSpec spec) {
  std::lock_guard lock(mutex_);
  if (coming_.contains(spec.public_spec.name)) return BeingImported(spec.public_spec.name);
  BANDANA_RETURN_IF_ERROR(CheckFree(spec.public_spec.name, coming_.size()));
  const std::string half_made = Folder(std::string(kNewPrefix) + spec.public_spec.name);
  BANDANA_RETURN_IF_ERROR(RemoveFolder(half_made));
  absl::Status filled = FillNew(half_made, spec);
  if (!filled.ok()) {
    RemoveFolder(half_made).IgnoreError();  // removed at the next start otherwise
    return filled;
  }
  return Finish(std::move(spec), half_made);
}

absl::StatusOr<std::shared_ptr<HostedModel>> Registry::Finish(ModelSpec spec,
                                                              const std::string& half_made) {
  const std::string folder_name = spec.public_spec.name;
  const std::string folder = Folder(folder_name);
  std::error_code error;
  if (fs::exists(folder, error)) {
    RemoveFolder(half_made).IgnoreError();  // removed at the next start otherwise
    return HoldsState(folder);
  }
  fs::rename(half_made, folder, error);
  BANDANA_RETURN_IF_ERROR(FromErrorCode(error, "rename", half_made));
  BANDANA_RETURN_IF_ERROR(SyncFolderOf(folder));
  if (const absl::Status published = log_->Publish(folder, /*replace=*/false); !published.ok()) {
    RemoveFolder(folder).IgnoreError();
    return published;
  }
  absl::StatusOr<std::shared_ptr<HostedModel>> model =
      Add(std::move(spec), /*configured=*/false, As::kOwn);
  if (!model.ok()) {
    Remove(folder_name);
    RemoveFolder(folder).IgnoreError();
  }
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
  const bool made = !noise_key_file_.empty() || HasNoiseKey(data_dir_);
  if (noise_key_ == nullptr && !made) return absl::OkStatus();
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
  {
    std::lock_guard lock(mutex_);
    BANDANA_RETURN_IF_ERROR(CheckKey(*spec));
  }
  return TryOpen(*spec);
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
  BecomeCopy(exported.checkpoint, instance);
  BANDANA_ASSIGN_OR_RETURN(
      const std::shared_ptr<StateStore> state,
      MakeModelFolder(folder, spec, identity, &exported.checkpoint, *log_, checkpoint_seal_));
  BANDANA_RETURN_IF_ERROR(StoreArms(exported.arms, state->Table(TableKind::kArms)));
  BANDANA_RETURN_IF_ERROR(MakeUsers(spec, exported.users, state->Table(TableKind::kUsers)));
  return WriteStoredConfig(*state, spec.config);
}

void Registry::AwaitEnd(const std::weak_ptr<HostedModel>& model) {
  const auto give_up = std::chrono::steady_clock::now() + kReleaseTime;
  while (!model.expired() && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

absl::Status Registry::Delete(std::string_view name) {
  std::lock_guard lock(mutex_);
  std::optional<Entry> entry = EntryOf(name);
  if (!entry && FindAlias(name) != nullptr) return AbsenceOf(*this, name);
  if (!entry) return NotFound("model ", ToAbsl(name), " does not exist");
  if (entry->configured) {
    return FailedPrecondition("model ", ToAbsl(name),
                              " is in the configuration file; remove it there");
  }
  BANDANA_RETURN_IF_ERROR(CheckOwned(name, *entry));
  BANDANA_RETURN_IF_ERROR(MayLeave(name));
  const std::weak_ptr<HostedModel> model = entry->model;
  entry.reset();
  Remove(std::string(name));
  AwaitEnd(model);
  BANDANA_RETURN_IF_ERROR(log_->Withdraw(Folder(name)));
  const std::string grave = Folder(std::string(kDeletedPrefix) + std::string(name));
  BANDANA_RETURN_IF_ERROR(RemoveFolder(grave));
  std::error_code error;
  fs::rename(Folder(name), grave, error);
  BANDANA_RETURN_IF_ERROR(FromErrorCode(error, "rename", Folder(name)));
  BANDANA_RETURN_IF_ERROR(SyncFolderOf(grave));
  return RemoveFolder(grave);
}

bool ModelRegistry::hides_reports() const {
  const auto models = List();
  return std::any_of(models.begin(), models.end(),
                     [](const auto& model) { return HidesReports(model->spec().public_spec); });
}

absl::Status AbsenceOf(const ModelRegistry& registry, std::string_view name) {
  if (registry.FindAlias(name) != nullptr) {
    return FailedPrecondition("model: `", ToAbsl(name),
                              "` is an alias; name one of its models (Admin.ListAliases)");
  }
  const std::vector<AbsentModel> absent = registry.Absent();
  if (std::any_of(absent.begin(), absent.end(),
                  [&](const auto& one) { return one.name == name; })) {
    return Unavailable("model ", ToAbsl(name),
                       " is not open now; its operator finds the reason in the server's log");
  }
  if (!registry.KnowsAll() || registry.MayBeNew(name)) {
    return Unavailable("model ", ToAbsl(name.substr(0, kModelNameBytesMax)),
                       " is not known yet; try again");
  }
  BANDANA_RETURN_IF_ERROR(registry.AliasesStatus());  // it may be one of them
  return NotFound("model: no model `", absl::CHexEscape(ToAbsl(name.substr(0, kModelNameBytesMax))),
                  "`");
}

bool ModelRegistry::HidesReportsOf(std::string_view name) const {
  if (const auto model = Find(name); model != nullptr) {
    return HidesReports(model->spec().public_spec);
  }
  const std::shared_ptr<const BoundAlias> alias = FindAlias(name);
  return alias == nullptr ? hides_reports() : alias->hides_reports;
}

absl::StatusOr<std::unique_ptr<ModelRegistry>> ModelRegistry::Open(const Options& options,
                                                                   const Clock& clock) {
  BANDANA_ASSIGN_OR_RETURN(std::shared_ptr<SharedFiles> shared, options.log->Shared());
  auto registry = std::make_unique<Registry>(options, std::move(shared), clock);
  BANDANA_RETURN_IF_ERROR(registry->FindStored());
  registry->StartWatching();
  if (!options.open_later) {
    for (const AbsentModel& absent : registry->OpenStored()) {
      if (options.warn) options.warn(absent.name, std::string(absent.why.message()));
    }
  }
  return registry;
}

}  // namespace bandana::server
