#include "server/models/registry/role_keeper.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/removal.h"
#include "common/base/status.h"
#include "server/models/folder/publication.h"

namespace bandana::server {
namespace {

constexpr auto kLookInterval = std::chrono::milliseconds(100);
constexpr int kFollowTries = 20;

// Whether what keeps a model from being opened may end without anybody's doing: a database that
// fails over says many things.
bool Passing(const absl::Status& why) {
  return !absl::IsInvalidArgument(why) && !IsNeedsEpoch(why);
}

}  // namespace

void RoleKeeper::Start() {
  if (parts_.cluster.shared()) watching_ = std::thread([this] { Watch(); });
}

void RoleKeeper::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  if (watching_.joinable()) watching_.join();
  if (running_.valid()) running_.wait();
}

void RoleKeeper::Watch() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kLookInterval, [this] { return stop_; })) {
    lock.unlock();
    WatchOnce();
    lock.lock();
  }
}

void RoleKeeper::WatchOnce() {
  if (parts_.cluster.leaving()) return;
  // A look that began before a change has ended does not show it.
  const bool busy =
      running_.valid() && running_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  const absl::Time began = parts_.clock.Steady();
  const absl::StatusOr<std::shared_ptr<const StoreView>> view = parts_.cluster.Look();
  if (!view.ok()) {
    if (!away_ && !parts_.cluster.leaving()) {
      Warn("", absl::StrCat("other servers are out of sight: ", view.status().message()));
    }
    away_ = true;
    return;
  }
  if (away_) Warn("", "other servers are in sight again");
  away_ = false;
  Show(**view);
  if (busy) return;
  std::vector<RoleJob> jobs =
      machine_.Due(**view, Here(**view), parts_.cluster.leaving(), parts_.clock.Steady());
  // Aliases are looked at less often.
  if (std::ranges::find(jobs, RoleJob::Action::kFollowAliases, &RoleJob::action) == jobs.end()) {
    parts_.asked.Looked(std::min(began, aliases_began_));
  } else {
    aliases_began_ = began;
  }
  if (!jobs.empty()) Begin(std::move(jobs));
}

void RoleKeeper::Show(const StoreView& view) {
  const auto models = parts_.models.All();
  const auto& owner_reached = parts_.options.owner_reached;
  for (const SharedModel& shared : view.models) {
    const auto known = models->find(shared.stored.name);
    if (known == models->end() || known->second.model() == nullptr) continue;
    const OpenedModel& opened = known->second.opened;
    if (opened.followed != nullptr) {
      const bool reached = shared.owner.empty() || !owner_reached || owner_reached(shared.owner);
      opened.followed->See(shared, reached);
    } else if (opened.owned->term() == shared.term && shared.owner != parts_.cluster.address()) {
      parts_.cluster.Serve(shared.stored.log, shared.term);
    }
    parts_.standings.See(shared.stored.name, opened, shared, view);
  }
  for (const std::string& former : machine_.GoneOwners(view)) {
    if (parts_.options.owner_gone) parts_.options.owner_gone(former);
  }
}

std::map<std::string, ModelHere> RoleKeeper::Here(const StoreView& view) const {
  std::map<std::string, ModelHere> here;
  const auto models = parts_.models.All();
  for (const auto& [name, entry] : *models) {
    ModelHere& model = here[name];
    model.configured = entry.configured;
    if (entry.model() == nullptr) {
      model.passes = Passing(entry.why);
      model.opening = entry.opening;
      model.differs = entry.differs;
    } else if (entry.opened.followed == nullptr) {
      model.role = ModelHere::Role::kOwner;
      model.term = entry.opened.owned->term();
      model.retired = entry.retired;
    } else {
      model.role = ModelHere::Role::kFollower;
      model.stale = entry.opened.followed->Stale();
      const SharedModel* const shared = SharedIn(view, name);
      model.knows =
          shared != nullptr && parts_.standings.Knows(*entry.model(), *shared, view.place);
    }
  }
  return here;
}

void RoleKeeper::Begin(std::vector<RoleJob> jobs) {
  ModelJobs due;
  for (RoleJob& job : jobs) {
    std::string name = job.model;
    due.emplace_back(std::move(name), [this, job = std::move(job)] { return Run(job); });
  }
  running_ = std::async(std::launch::async, [this, due = std::move(due)] {
    const std::lock_guard lock(parts_.changes);
    for (const AbsentModel& failed : RunAll(due)) {
      Warn(failed.name, std::string(failed.why.message()));
    }
  });
}

absl::Status RoleKeeper::Run(const RoleJob& job) {
  using enum RoleJob::Action;
  switch (job.action) {
    case kTakeIn:
      return parts_.loader.TakeIn(job.model);
    case kStepDown:
      return StepDown(job.model);
    case kOwnAgain:
      return OwnAgain(job.model);
    case kConfirm:
      return Confirm(job.model);
    case kPromote:
      return Promote(job);
    case kFollowAnew:
      return FollowAnew(job.model);
    case kTakeConfig:
      return parts_.loader.TakeStoredConfig(job.model) ? FollowAnew(job.model) : absl::OkStatus();
    case kCompare:
      return CompareWithOwner(job.model);
    case kLetGo:
      return LetGo(job.model);
    case kFollowAliases:
      parts_.aliases.Follow();
      FollowDeletions();
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

absl::Status RoleKeeper::Promote(const RoleJob& job) {
  const std::string& name = job.model;
  parts_.loader.TakeStoredConfig(name);
  const std::optional<ModelEntry> before = parts_.models.EntryOf(name);
  if (!before || before->opened.followed == nullptr) return absl::OkStatus();
  FollowedModel& followed = *before->opened.followed;
  // Entries after it are read again; without it, all since the owner's checkpoint.
  std::shared_ptr<const std::string> state;
  if (absl::StatusOr<std::string> captured = followed.Capture(); captured.ok()) {
    state = std::make_shared<const std::string>(*std::move(captured));
  }
  followed.Retire();
  absl::StatusOr<OpenedModel> opened =
      parts_.opener.OpenOwned(*before->spec, OpenAs::kOwner, std::move(state));
  if (!opened.ok()) {
    if (!absl::IsUnavailable(opened.status())) {
      Warn(name, absl::StrCat("cannot be taken over: ", opened.status().message()));
    }
    return FollowAnew(name);
  }
  const std::int64_t term = opened->owned->term();
  Warn(name, absl::StrCat("this server owns it now, under term ", term));
  BANDANA_RETURN_IF_ERROR(parts_.models.Replace(name, std::move(opened)));
  parts_.cluster.Serve(job.log, term);  // the others wait for it
  return absl::OkStatus();
}

absl::Status RoleKeeper::StepDown(const std::string& name) {
  std::optional<ModelEntry> before = parts_.models.EntryOf(name);
  const bool owner = before && before->model() != nullptr && before->opened.followed == nullptr;
  if (!owner) return absl::OkStatus();
  if (!before->retired) {
    Warn(name, "another server is to own it: this one follows");
    before->model()->Retire();
    before->retired = true;
    parts_.models.Set(name, *before);
  }
  const std::weak_ptr<ServedModel> ends = before->model();
  before.reset();
  BANDANA_RETURN_IF_ERROR(FollowAnew(name));
  AwaitRelease(ends);  // gives the log back
  return absl::OkStatus();
}

absl::Status RoleKeeper::OwnAgain(const std::string& name) {
  const std::optional<ModelEntry> entry = parts_.models.EntryOf(name);
  if (!entry || !entry->retired) return absl::OkStatus();
  absl::StatusOr<OpenedModel> opened = parts_.opener.OpenOwned(*entry->spec);
  return opened.ok() ? parts_.models.Replace(name, std::move(opened)) : opened.status();
}

absl::Status RoleKeeper::FollowAnew(const std::string& name) {
  parts_.loader.TakeStoredConfig(name);
  const std::optional<ModelEntry> entry = parts_.models.EntryOf(name);
  if (!entry || entry->spec == nullptr) return absl::OkStatus();
  // Two that follow would both keep a record of what is published.
  if (entry->opened.followed != nullptr) entry->opened.followed->Retire();
  absl::StatusOr<OpenedModel> opened = Unavailable("not tried yet");
  for (int tried = 0; absl::IsUnavailable(opened.status()) && tried < kFollowTries; ++tried) {
    // A read that a change of the store disturbs succeeds at the next look.
    if (tried > 0) std::this_thread::sleep_for(kLookInterval);
    const absl::StatusOr<std::shared_ptr<const StoreView>> view = parts_.cluster.Look();
    const SharedModel* const seen = view.ok() ? SharedIn(**view, name) : nullptr;
    opened = seen == nullptr ? Unavailable("the store does not show it")
                             : parts_.opener.OpenFollowed(*entry->spec, *seen);
  }
  // The former one answers selections until there is another.
  if (!opened.ok() && entry->model() != nullptr) return opened.status();
  return parts_.models.Replace(name, std::move(opened));
}

absl::Status RoleKeeper::Confirm(const std::string& name) {
  std::optional<ModelEntry> entry = parts_.models.EntryOf(name);
  if (!entry || entry->opened.followed == nullptr) return absl::OkStatus();
  FollowedModel& followed = *entry->opened.followed;
  const absl::Status vouched = parts_.standings.Confirm(*entry->spec, followed.instance());
  if (!vouched.ok() && !IsNeedsEpoch(vouched)) return absl::OkStatus();  // the store is away
  followed.SetDoubt(vouched);
  if (entry->why == vouched) return absl::OkStatus();
  const bool orphan = followed.owner()->empty();
  if (!vouched.ok() && orphan) {
    Warn(name, absl::StrCat("is owned by nobody: ", vouched.message()));
  }
  // By which OpenEpoch knows that it may go on.
  entry->why = orphan ? vouched : absl::OkStatus();
  parts_.models.Set(name, *std::move(entry));
  return absl::OkStatus();
}

absl::Status RoleKeeper::CompareWithOwner(const std::string& name) {
  std::optional<ModelEntry> entry = parts_.models.EntryOf(name);
  if (!entry || entry->opened.followed == nullptr) return absl::OkStatus();
  const absl::Status same = parts_.standings.CompareWithOwner(*entry->opened.followed);
  if (same.ok()) return absl::OkStatus();
  entry->opened.followed->Retire();
  entry->opened = {};
  entry->why = same;
  entry->differs = true;
  parts_.models.Set(name, *std::move(entry));
  return same;
}

void RoleKeeper::FollowDeletions() const {
  for (const auto& [name, entry] : *parts_.models.All()) {
    const std::shared_ptr<ServedModel> model = entry.model();
    const absl::Status followed = model == nullptr ? absl::OkStatus() : model->FollowDeletions();
    // A store that is away is told of elsewhere.
    if (!followed.ok() && !absl::IsUnavailable(followed)) {
      Warn(name, absl::StrCat("deletions of other servers: ", followed.message()));
    }
  }
}

absl::Status RoleKeeper::LetGo(const std::string& name) {
  const std::optional<ModelEntry> entry = parts_.models.EntryOf(name);
  if (!entry || entry->opened.followed == nullptr) return absl::OkStatus();
  parts_.models.Remove(name);
  entry->opened.followed->Retire();
  Warn(name, "another server deleted it");
  const absl::Status removed = RemoveFolder(parts_.folders.PathOf(name));
  if (!removed.ok()) Warn(name, std::string(removed.message()));
  return absl::OkStatus();
}

}  // namespace bandana::server
