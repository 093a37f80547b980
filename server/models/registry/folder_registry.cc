#include "server/models/registry/folder_registry.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "server/models/folder/publication.h"

namespace bandana::server {

namespace {

std::shared_ptr<PartStore> PartsIn(const ModelRegistry::Options& options,
                                   const std::shared_ptr<SharedFiles>& shared) {
  return shared == nullptr ? nullptr : std::make_shared<PartStore>(shared, options.log->holder());
}

}  // namespace

FolderRegistry::FolderRegistry(const Options& options, std::shared_ptr<SharedFiles> shared,
                               const Clock& clock)
    : options_(options),
      clock_(clock),
      folders_(options.data_dir, options.log),
      named_(!options.open_later),
      aliases_(AliasStore(options.data_dir, shared), models_, options_.warn),
      cluster_(options.log, options.address,
               [this](const std::string& message) { Warn("", message); }),
      standings_(options.log, folders_, cluster_, options.ask_others),
      parts_(PartsIn(options, shared)),
      opener_(options_, clock_, folders_, cluster_, standings_, parts_),
      loader_(options_, folders_, models_, opener_),
      maker_(options_, folders_, changes_, models_, aliases_, opener_, loader_),
      roles_({.options = options_,
              .clock = clock_,
              .changes = changes_,
              .folders = folders_,
              .models = models_,
              .aliases = aliases_,
              .cluster = cluster_,
              .standings = standings_,
              .opener = opener_,
              .loader = loader_,
              .asked = asked_}) {}

absl::Status FolderRegistry::Start() {
  {
    const std::lock_guard lock(changes_);
    BANDANA_RETURN_IF_ERROR(loader_.FindStored());
    aliases_.Load();
  }
  roles_.Start();
  if (options_.open_later) return absl::OkStatus();
  const std::lock_guard lock(changes_);
  for (const AbsentModel& absent : loader_.OpenStored()) {
    Warn(absent.name, std::string(absent.why.message()));
  }
  return absl::OkStatus();
}

bool FolderRegistry::MayBeNew(std::string_view name) const {
  if (cluster_.address().empty()) return false;
  const std::shared_ptr<const StoreView> view = cluster_.seen();
  if (view == nullptr || SharedIn(*view, name) != nullptr) return true;
  return asked_.MayBeNew(name, clock_.Steady());
}

bool FolderRegistry::HidesReportsOf(std::string_view name) const {
  if (const auto entry = models_.EntryOf(name)) return entry->MayHideReports();
  const std::shared_ptr<const BoundAlias> alias = FindAlias(name);
  // A name that was taken away may have stood for one that does: its reports still come.
  return alias == nullptr ? hides_reports() : alias->hides_reports;
}

absl::Status FolderRegistry::AddConfigured(ModelSpec spec) {
  const std::lock_guard lock(changes_);
  const std::string name = spec.public_spec.name;
  if (models_.EntryOf(name)) return maker_.CheckFree(name);
  ModelJobs jobs;
  BANDANA_RETURN_IF_ERROR(AddConfiguredJob(std::move(spec), jobs));
  const std::vector<AbsentModel> failed = RunAll(std::move(jobs));
  return failed.empty() ? absl::OkStatus() : failed.front().why;
}

absl::Status FolderRegistry::AddConfiguredJob(ModelSpec spec, ModelJobs& jobs) {
  const std::string name = spec.public_spec.name;
  if (loader_.IsStored(name)) {
    return absl::AlreadyExistsError(
        absl::StrCat("model ", name,
                     " of the configuration was made at run time by an earlier one of this name; "
                     "delete that or choose another name"));
  }
  const std::optional<ModelEntry> entry = models_.EntryOf(name);
  if (!entry) BANDANA_RETURN_IF_ERROR(maker_.CheckFree(name));
  if (entry && entry->model() != nullptr) {
    if (entry->fingerprint == FingerprintOf(spec)) return absl::OkStatus();
    BANDANA_RETURN_IF_ERROR(
        Annotate(entry->model()->CheckUpdate(spec), absl::StrCat("model ", name)));
    BANDANA_RETURN_IF_ERROR(
        aliases_.MayBecome(name, entry->model()->spec().public_spec, spec.public_spec));
    jobs.emplace_back(name, [this, name, spec = std::move(spec)] {
      const absl::Status tried = opener_.Try(spec);
      if (tried.ok()) return loader_.Reopen(name, spec);
      return Annotate(tried, absl::StrCat("model ", name, ", which is served as before"));
    });
    return absl::OkStatus();
  }
  models_.Set(name, OpeningEntry(std::make_shared<const ModelSpec>(spec), /*configured=*/true));
  jobs.emplace_back(name,
                    [this, spec = std::move(spec)] { return loader_.Add(spec, true).status(); });
  return absl::OkStatus();
}

std::vector<AbsentModel> FolderRegistry::Configure(std::vector<ModelSpec> specs) {
  const std::lock_guard lock(changes_);
  std::set<std::string> named;
  std::vector<AbsentModel> failed;
  for (const ModelSpec& spec : specs) named.insert(spec.public_spec.name);
  const auto models = models_.All();
  for (const auto& [name, entry] : *models) {
    if (!entry.configured || named.contains(name)) continue;
    if (const absl::Status may = aliases_.MayLeave(name); !may.ok()) {
      failed.push_back({name, may});
      continue;
    }
    models_.Remove(name);
    Warn(name, "the configuration does not name it any more: it is closed, its folder stays");
    if (entry.model() != nullptr) entry.model()->Retire();
  }
  ModelJobs jobs;
  loader_.AddStoredJobs(jobs);
  for (ModelSpec& spec : specs) {
    const std::string name = spec.public_spec.name;
    const absl::Status added = AddConfiguredJob(std::move(spec), jobs);
    if (!added.ok()) failed.push_back({name, added});
  }
  named_ = true;
  for (AbsentModel& one : RunAll(std::move(jobs))) failed.push_back(std::move(one));
  return failed;
}

void FolderRegistry::Recover() {
  const std::lock_guard lock(changes_);
  loader_.FindStoredLater();
  aliases_.Follow();
  const auto models = models_.All();
  for (const auto& [name, entry] : *models) {
    if (entry.spec == nullptr) continue;
    absl::Status again;
    if (entry.model() == nullptr) {
      if (!absl::IsUnavailable(entry.why)) continue;
      again = loader_.Add(*entry.spec, entry.configured).status();
    } else {
      const absl::Status health = entry.model()->Health();
      if (health.ok() || Passes(health)) continue;
      Warn(name, absl::StrCat("is opened again, as it can go on no further: ", health.message()));
      again = loader_.Reopen(name, *entry.spec);
    }
    if (again.ok()) Warn(name, "is served again");
  }
}

absl::Status FolderRegistry::CheckOwned(const ModelEntry& entry) {
  const bool elsewhere = entry.model() != nullptr && entry.opened.owned == nullptr;
  return elsewhere ? OwnedElsewhere(*entry.model()) : absl::OkStatus();
}

absl::Status FolderRegistry::MayUpdate(std::string_view name) const {
  const std::optional<ModelEntry> entry = models_.EntryOf(name);
  if (!entry) return AbsenceOf(*this, name);
  if (entry->configured) {
    return FailedPrecondition("model ", ToAbsl(name),
                              " is in the configuration file; change it there, and send SIGHUP");
  }
  return CheckOwned(*entry);
}

absl::StatusOr<std::shared_ptr<HostedModel>> FolderRegistry::Update(ModelSpec spec) {
  const std::lock_guard lock(changes_);
  const std::string name = spec.public_spec.name;
  BANDANA_RETURN_IF_ERROR(MayUpdate(name));
  const std::shared_ptr<ServedModel> model = Find(name);
  if (model == nullptr) return AbsenceOf(*this, name);
  BANDANA_RETURN_IF_ERROR(model->CheckUpdate(spec));
  BANDANA_RETURN_IF_ERROR(aliases_.MayBecome(name, model->spec().public_spec, spec.public_spec));
  BANDANA_RETURN_IF_ERROR(opener_.Try(spec));
  BANDANA_RETURN_IF_ERROR(loader_.Reopen(name, std::move(spec)));
  return FindOwned(name);
}

absl::StatusOr<std::shared_ptr<HostedModel>> FolderRegistry::Create(ModelSpec spec) {
  const std::lock_guard lock(changes_);
  return maker_.Create(std::move(spec));
}

absl::StatusOr<std::uint64_t> FolderRegistry::OpenEpoch(std::string_view name) {
  if (const auto owned = FindOwned(name)) return owned->OpenEpoch();
  const std::lock_guard lock(changes_);
  const std::optional<ModelEntry> entry = models_.EntryOf(name);
  if (!entry || !IsNeedsEpoch(entry->why)) {
    if (const auto owned = FindOwned(name)) return owned->OpenEpoch();  // by now
    return entry && entry->model() != nullptr ? OwnedElsewhere(*entry->model())
                                              : AbsenceOf(*this, name);
  }
  // A model that nobody may own is followed meanwhile.
  if (entry->model() != nullptr) entry->model()->Retire();
  BANDANA_ASSIGN_OR_RETURN(const OpenedModel opened,
                           loader_.Add(*entry->spec, entry->configured, OpenAs::kAcceptLost));
  Warn(std::string(name), "is served again, in a new epoch: every user was charged once more");
  return opened.model->epoch();
}

absl::Status FolderRegistry::Delete(std::string_view name) {
  std::lock_guard lock(changes_);
  std::optional<ModelEntry> entry = models_.EntryOf(name);
  if (!entry && FindAlias(name) != nullptr) return AbsenceOf(*this, name);
  if (!entry) return NotFound("model ", ToAbsl(name), " does not exist");
  if (entry->configured) {
    return FailedPrecondition("model ", ToAbsl(name),
                              " is in the configuration file; remove it there");
  }
  BANDANA_RETURN_IF_ERROR(CheckOwned(*entry));
  BANDANA_RETURN_IF_ERROR(aliases_.MayLeave(name));
  // A model that could not be opened is not there to ask; its instance never comes back.
  std::optional<InstanceId> parts_of;
  if (parts_ != nullptr && entry->model() != nullptr && entry->model()->spec().decision_log) {
    parts_of = entry->model()->instance();
  }
  const std::weak_ptr<ServedModel> model = entry->model();
  entry.reset();
  models_.Remove(std::string(name));
  AwaitRelease(model);
  BANDANA_RETURN_IF_ERROR(options_.log->Withdraw(folders_.PathOf(name)));
  BANDANA_RETURN_IF_ERROR(folders_.Bury(name));
  if (!parts_of) return absl::OkStatus();
  return parts_->Change(*parts_of, [](LogParts& parts) { parts = {}; }).status();
}

absl::StatusOr<AliasSpec> FolderRegistry::PutAlias(AliasSpec alias) {
  const std::lock_guard lock(changes_);
  return aliases_.Put(
      std::move(alias), [this](std::string_view name) { return IsTaken(name); },
      [this](std::string_view name) { return AbsenceOf(*this, name); });
}

absl::Status FolderRegistry::DeleteAlias(std::string_view name) {
  const std::lock_guard lock(changes_);
  return aliases_.Delete(name);
}

std::vector<AbsentModel> FolderRegistry::ConfigureAliases(std::vector<AliasSpec> aliases) {
  const std::lock_guard lock(changes_);
  return aliases_.Configure(std::move(aliases),
                            [this](std::string_view name) { return IsTaken(name); });
}

bool FolderRegistry::IsTaken(std::string_view name) const {
  return models_.EntryOf(name).has_value() || maker_.IsImporting(name);
}

}  // namespace bandana::server
