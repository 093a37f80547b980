// The registry's models that several servers share: who owns one, who follows, and how that
// changes. Leases decide who may try, never who may write: the store takes a change only from the
// owner of the present term.
#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/removal.h"
#include "common/base/status.h"
#include "server/models/folder/publication.h"
#include "server/models/folder/stored_config.h"
#include "server/models/folder_registry.h"
#include "server/models/replicas/followed_model.h"
#include "server/models/replicas/ranks.h"

namespace bandana::server {
namespace {

constexpr auto kLookInterval = std::chrono::milliseconds(100);
// A model that nobody owns is first claimed by the server whose turn it is; then by the others, one
// after the other.
constexpr absl::Duration kClaimInterval = absl::Milliseconds(150);
// A server must have been there for so long before it is given models.
constexpr absl::Duration kSettled = absl::Seconds(5);
constexpr int kFollowTries = 20;
constexpr absl::Duration kRetryInterval = absl::Seconds(1);  // of absent models, and aliases
constexpr absl::Duration kCompareInterval = absl::Seconds(5);

// Whether what keeps a model from being opened may end without anybody's doing: a database that
// fails over says many things.
bool Passing(const absl::Status& why) {
  return !absl::IsInvalidArgument(why) && !IsNeedsEpoch(why);
}

// Null: this server owns it.
FollowedModel* FollowedOf(HostedModel* model) { return dynamic_cast<FollowedModel*>(model); }

}  // namespace

const SharedModel* Registry::SharedIn(const StoreView& view, std::string_view name) {
  const auto found =
      std::ranges::find_if(view.models, [&](const auto& one) { return one.stored.name == name; });
  return found == view.models.end() ? nullptr : &*found;
}

absl::StatusOr<std::shared_ptr<const StoreView>> Registry::Look() {
  const std::lock_guard lock(watch_mutex_);
  BANDANA_ASSIGN_OR_RETURN(StoreView view, watch_->Look());
  std::vector<std::string> others = view.servers;
  std::erase(others, address_);
  // Addresses without a proof are called by nobody; who must reach all learns that it cannot.
  others.insert(others.end(), view.unproven.size(), "");
  others_.store(std::make_shared<const std::vector<std::string>>(std::move(others)));
  kind_read_->store(view.kind_read);
  if (reads_least_ != view.reads_least) {
    reads_least_ = view.reads_least;
    Warn("",
         view.reads_least.empty()
             ? std::string("every server reads again what this version writes")
             : absl::StrCat("server ", view.reads_least, " reads log entries of kinds up to ",
                            view.kind_read, ", this version writes kinds up to ", kEntryKindRead,
                            ": what needs others waits until that server is "
                            "updated or gone"));
  }
  auto seen = std::make_shared<const StoreView>(std::move(view));
  seen_.store(seen);
  return seen;
}

absl::StatusOr<std::shared_ptr<HostedModel>> Registry::OpenShared(ModelSpec spec) {
  const std::string name = spec.public_spec.name;
  BANDANA_ASSIGN_OR_RETURN(std::shared_ptr<const StoreView> view, Look());
  const SharedModel* seen = SharedIn(*view, name);
  // An earlier run of this server may still have the lease.
  const bool own = seen == nullptr || seen->mine ||
                   (!seen->owned && RankOf(seen->stored.log, view->servers, address_) == 0);
  if (own) {
    absl::StatusOr<std::shared_ptr<HostedModel>> model = OpenOwned(spec, As::kOwn);
    const bool doubted = IsNeedsEpoch(model.status());
    if (model.ok() || !(absl::IsUnavailable(model.status()) || doubted)) return model;
    // Another server may have been faster. What may not go on may still be selected from.
    BANDANA_ASSIGN_OR_RETURN(view, Look());
    seen = SharedIn(*view, name);
    if (seen == nullptr || !(seen->owned || doubted)) return model;
  }
  return OpenFollowed(std::move(spec), *seen);
}

absl::StatusOr<std::shared_ptr<HostedModel>> Registry::OpenFollowed(ModelSpec spec,
                                                                    const SharedModel& seen) {
  const std::string name = spec.public_spec.name;
  BANDANA_ASSIGN_OR_RETURN(const bool known, AdoptFolder(name));
  if (!known) return Unavailable("the store does not have model ", name, " any more");
  FollowOptions options;
  BANDANA_ASSIGN_OR_RETURN(options.hosted, ModelOptions(spec, As::kAny));
  if (hand_decision_) {
    options.hand_decision = [this, name](const std::string& owner,
                                         std::span<const Decision> slots) {
      hand_decision_(owner, name, slots);
    };
  }
  BANDANA_ASSIGN_OR_RETURN(
      std::shared_ptr<FollowedModel> model,
      FollowedModel::Open(std::move(spec), Folder(name), clock_, options, seen));
  return std::shared_ptr<HostedModel>(std::move(model));
}

void Registry::StartWatching() {
  if (address_.empty()) return;
  watch_ = log_->Watch(address_);
  if (watch_ != nullptr) watching_ = std::thread([this] { Watch(); });
}

void Registry::StopWatching() {
  {
    const std::lock_guard lock(watching_mutex_);
    stop_watching_ = true;
  }
  watching_changed_.notify_one();
  if (watching_.joinable()) watching_.join();
  if (changing_.valid()) changing_.wait();
}

void Registry::Leave() {
  leaving_ = true;
  const std::lock_guard lock(watch_mutex_);
  if (watch_ != nullptr) watch_->Leave();
}

std::vector<std::string> Registry::Others() const {
  const auto others = others_.load();
  return others == nullptr ? std::vector<std::string>() : *others;
}

void Registry::Watch() {
  std::unique_lock lock(watching_mutex_);
  while (!watching_changed_.wait_for(lock, kLookInterval, [this] { return stop_watching_; })) {
    lock.unlock();
    WatchOnce();
    lock.lock();
  }
}

void Registry::WatchOnce() {
  if (leaving_) return;
  // A look that began before a change has ended does not show it.
  const bool busy =
      changing_.valid() && changing_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  const std::int64_t began = absl::ToInt64Nanoseconds(
      absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch()));
  const absl::StatusOr<std::shared_ptr<const StoreView>> view = Look();
  if (!view.ok()) {
    if (!away_ && !leaving_)
      Warn("", absl::StrCat("other servers are out of sight: ", view.status().message()));
    away_ = true;
    return;
  }
  if (away_) Warn("", "other servers are in sight again");
  away_ = false;
  const auto models = models_.load();
  for (const SharedModel& shared : (*view)->models) {
    const auto known = models->find(shared.stored.name);
    if (known == models->end() || known->second.model == nullptr) continue;
    HostedModel& model = *known->second.model;
    if (FollowedModel* const followed = FollowedOf(&model)) {
      const bool reached = shared.owner.empty() || !owner_reached_ || owner_reached_(shared.owner);
      followed->See(shared, reached);
    } else if (model.term() == shared.term && shared.owner != address_) {
      const std::lock_guard lock(watch_mutex_);
      watch_->Serve(shared.stored.log, shared.term).IgnoreError();  // again at the next look
    }
    SeeTouch(shared.stored.name, model, shared, **view);
  }
  SeeOwners(**view);
  if (busy) return;
  // Aliases are looked at less often.
  if (clock_.Steady() < aliases_at_ + kRetryInterval) {
    NoteLook(std::min(began, aliases_began_));
  } else {
    aliases_began_ = began;
  }
  Jobs jobs = RolesDue(**view);
  if (jobs.empty()) return;
  changing_ = std::async(std::launch::async, [this, jobs = std::move(jobs)] {
    const std::lock_guard lock(mutex_);
    for (const AbsentModel& failed : RunAll(jobs)) {
      Warn(failed.name, std::string(failed.why.message()));
    }
  });
}

void Registry::SeeOwners(const StoreView& view) {
  std::set<std::string> now;
  for (const SharedModel& shared : view.models) {
    if (shared.owned && !shared.owner.empty()) now.insert(shared.owner);
  }
  for (const std::string& former : owners_) {
    if (!now.contains(former) && owner_gone_) owner_gone_(former);
  }
  owners_ = std::move(now);
}

Registry::Jobs Registry::RolesDue(const StoreView& view) {
  Jobs jobs;
  for (const SharedModel& shared : view.models) AddRoleJob(shared, view, jobs);
  const auto models = models_.load();
  for (const auto& [name, entry] : *models) {
    const bool followed = entry.model != nullptr && entry.model->owner().has_value();
    if (!followed || entry.configured || SharedIn(view, name) != nullptr) continue;
    jobs.emplace_back(name, [this, name = name] { return LetGo(name); });
  }
  const absl::Time now = clock_.Steady();
  if (now >= aliases_at_ + kRetryInterval) {
    aliases_at_ = now;
    jobs.emplace_back("", [this] {
      FollowAliases();
      return absl::OkStatus();
    });
  }
  return jobs;
}

void Registry::AddRoleJob(const SharedModel& shared, const StoreView& view, Jobs& jobs) {
  const std::span<const std::string> servers = view.servers;
  const std::string& name = shared.stored.name;
  Turn& turn = turns_[name];
  const absl::Time now = clock_.Steady();
  const std::string& first = servers.empty() ? address_ : FirstOf(shared.stored.log, servers);
  if (first != turn.first) {
    turn.first = first;
    turn.first_since = now;
    turn.handed_to.clear();
  }
  const std::optional<Entry> entry = EntryOf(name);
  if (!entry || entry->model == nullptr) {
    // A server without a record of releases takes the word of an owner, which may serve only now.
    const bool vouched = shared.owned && !shared.owner.empty() && turn.word_of != shared.term;
    const bool passes = entry
                            ? (Passing(entry->why) || vouched) && !entry->opening && !entry->differs
                            : shared.stored.made_at_run_time;
    if (!passes || !turn.MayTry(now)) return;
    if (vouched) turn.word_of = shared.term;
    jobs.emplace_back(name, [this, name] { return TakeIn(name); });
    return;
  }
  const FollowedModel* const followed = FollowedOf(entry->model.get());
  const bool free = followed != nullptr && (!shared.owned || shared.mine);
  turn.free_since = free ? std::min(turn.free_since, now) : absl::InfiniteFuture();
  if (followed == nullptr) {
    if (shared.term > entry->model->term()) {
      if (turn.MayTry(now)) jobs.emplace_back(name, [this, name] { return StepDown(name); });
    } else if (entry->retired) {
      // It was to be handed over, and could not be followed.
      if (turn.MayTry(now)) jobs.emplace_back(name, [this, name] { return OwnAgain(name); });
    } else if (MayHandOver(shared)) {
      turn.handed_to = turn.first;
      jobs.emplace_back(name, [this, name] { return StepDown(name); });
    }
    return;
  }
  const bool changed = turn.files != shared.stored.versions.files;
  turn.files = shared.stored.versions.files;
  const bool knows = Knows(*entry->model, shared, view.place);
  if (!knows && turn.asked + kRetryInterval <= now) {
    turn.asked = now;
    jobs.emplace_back(name, [this, name] { return Confirm(name); });
  } else if (knows && MayClaim(shared, servers)) {
    jobs.emplace_back(name, [this, name, log = shared.stored.log] { return Promote(name, log); });
  } else if (followed->Stale()) {
    if (turn.MayTry(now)) jobs.emplace_back(name, [this, name] { return FollowAnew(name); });
  } else if (changed && shared.stored.made_at_run_time) {
    jobs.emplace_back(name, [this, name] {
      return TakeStoredConfig(name) ? FollowAnew(name) : absl::OkStatus();
    });
  } else if (ask_others_ && turn.compared + kCompareInterval <= now) {
    turn.compared = now;
    jobs.emplace_back(name, [this, name] { return CompareWithOwner(name); });
  }
}

bool Registry::MayClaim(const SharedModel& shared, std::span<const std::string> servers) {
  if (leaving_ || (shared.owned && !shared.mine)) return false;
  const auto rank = static_cast<int>(RankOf(shared.stored.log, servers, address_));
  return clock_.Steady() >= turns_[shared.stored.name].free_since + rank * kClaimInterval;
}

bool Registry::MayHandOver(const SharedModel& shared) {
  const Turn& turn = turns_[shared.stored.name];
  const bool settled = clock_.Steady() >= turn.first_since + kSettled;
  return shared.owned && turn.first != address_ && settled && turn.handed_to != turn.first &&
         !leaving_;
}

absl::Status Registry::Replace(const std::string& name,
                               absl::StatusOr<std::shared_ptr<HostedModel>> model) {
  std::optional<Entry> entry = EntryOf(name);
  if (!entry) return absl::OkStatus();
  absl::Status opened = model.status();
  entry->model = model.ok() ? *std::move(model) : nullptr;
  entry->retired = false;
  entry->why = opened;
  Set(name, *std::move(entry));
  return opened;
}

absl::Status Registry::Promote(const std::string& name, const std::string& log) {
  TakeStoredConfig(name);
  const std::optional<Entry> before = EntryOf(name);
  FollowedModel* const followed = before ? FollowedOf(before->model.get()) : nullptr;
  if (followed == nullptr) return absl::OkStatus();
  // Entries after it are read again; without it, all since the owner's checkpoint.
  std::shared_ptr<const std::string> state;
  if (absl::StatusOr<std::string> captured = followed->Capture(); captured.ok()) {
    state = std::make_shared<const std::string>(*std::move(captured));
  }
  followed->Retire();
  absl::StatusOr<std::shared_ptr<HostedModel>> model =
      OpenOwned(*before->spec, As::kOwn, std::move(state));
  if (!model.ok()) {
    if (!absl::IsUnavailable(model.status())) {
      Warn(name, absl::StrCat("cannot be taken over: ", model.status().message()));
    }
    return FollowAnew(name);
  }
  const std::int64_t term = (*model)->term();
  Warn(name, absl::StrCat("this server owns it now, under term ", term));
  BANDANA_RETURN_IF_ERROR(Replace(name, std::move(model)));
  // The others wait for it.
  const std::lock_guard lock(watch_mutex_);
  watch_->Serve(log, term).IgnoreError();  // again at the next look
  return absl::OkStatus();
}

absl::Status Registry::StepDown(const std::string& name) {
  std::optional<Entry> before = EntryOf(name);
  if (!before || before->model == nullptr || before->model->owner()) return absl::OkStatus();
  if (!before->retired) {
    Warn(name, "another server is to own it: this one follows");
    before->model->Retire();
    before->retired = true;
    Set(name, *before);
  }
  const std::weak_ptr<HostedModel> ends = before->model;
  before.reset();
  BANDANA_RETURN_IF_ERROR(FollowAnew(name));
  AwaitEnd(ends);  // gives the log back
  return absl::OkStatus();
}

bool Registry::TakeStoredConfig(const std::string& name) {
  std::optional<Entry> entry = EntryOf(name);
  if (!entry || entry->configured || entry->spec == nullptr) return false;
  Entry stored = StoredEntry(name);
  if (stored.spec == nullptr) return false;  // it stays as it was
  if (FingerprintOf(*stored.spec) == FingerprintOf(*entry->spec)) return false;
  entry->spec = std::move(stored.spec);
  Set(name, *std::move(entry));
  return true;
}

absl::Status Registry::OwnAgain(const std::string& name) {
  const std::optional<Entry> entry = EntryOf(name);
  if (!entry || !entry->retired) return absl::OkStatus();
  absl::StatusOr<std::shared_ptr<HostedModel>> model = OpenOwned(*entry->spec, As::kOwn);
  return model.ok() ? Replace(name, std::move(model)) : model.status();
}

absl::Status Registry::FollowAnew(const std::string& name) {
  TakeStoredConfig(name);
  const std::optional<Entry> entry = EntryOf(name);
  if (!entry || entry->spec == nullptr) return absl::OkStatus();
  FollowedModel* const former = FollowedOf(entry->model.get());
  // Two that follow would both keep a record of what is published.
  if (former != nullptr) former->Retire();
  absl::StatusOr<std::shared_ptr<HostedModel>> model = Unavailable("not tried yet");
  for (int tried = 0; absl::IsUnavailable(model.status()) && tried < kFollowTries; ++tried) {
    // What changes in the store while it is read is right at the next look.
    if (tried > 0) std::this_thread::sleep_for(kLookInterval);
    const absl::StatusOr<std::shared_ptr<const StoreView>> view = Look();
    const SharedModel* const seen = view.ok() ? SharedIn(**view, name) : nullptr;
    model = seen == nullptr ? Unavailable("the store does not show it")
                            : OpenFollowed(*entry->spec, *seen);
  }
  // The former one answers selections until there is another.
  if (!model.ok() && entry->model != nullptr) return model.status();
  return Replace(name, std::move(model));
}

absl::Status Registry::TakeIn(const std::string& name) {
  const std::optional<Entry> entry = EntryOf(name);
  if (entry && entry->model != nullptr) return absl::OkStatus();
  if (entry && entry->spec != nullptr) return Add(*entry->spec, entry->configured).status();
  BANDANA_ASSIGN_OR_RETURN(const bool known, AdoptFolder(name));
  if (!known) return absl::OkStatus();  // deleted since it was seen
  if (!FindStoredIn(name)) stored_unknown_ = true;
  const std::optional<Entry> found = EntryOf(name);
  if (!found || found->spec == nullptr) return found ? found->why : absl::OkStatus();
  return Add(*found->spec, /*configured=*/false).status();
}

absl::Status Registry::LetGo(const std::string& name) {
  const std::optional<Entry> entry = EntryOf(name);
  if (!entry || entry->model == nullptr || !entry->model->owner()) return absl::OkStatus();
  Remove(name);
  entry->model->Retire();
  Warn(name, "another server deleted it");
  const absl::Status removed = bandana::RemoveFolder(Folder(name));
  if (!removed.ok()) Warn(name, std::string(removed.message()));
  return absl::OkStatus();
}

}  // namespace bandana::server
