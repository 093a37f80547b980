// The registry's word among servers that share a store: what this one has shown of a model, what
// others have, and whether the store may have been put back behind it. What a server has shown is
// in a file of its machine (publication.h). Where it has followed the log without a break it knows
// what all have shown: all of it came from the log. Where it has not, it asks.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "server/models/folder/publication.h"
#include "server/models/folder/recovery.h"
#include "server/models/folder_registry.h"
#include "server/models/replicas/followed_model.h"
#include "server/models/replicas/others_file.h"

namespace bandana::server {
namespace {

// So long a name that nobody knew is remembered: who asks again within it is told.
constexpr auto kAskedFor = std::chrono::seconds(3);

std::int64_t SteadyNanos() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

}  // namespace

std::string Registry::TouchOf(const InstanceId& instance) const {
  const std::lock_guard lock(touch_mutex_);
  const auto found = touch_.find(instance);
  return found == touch_.end() ? "" : found->second;
}

void Registry::SetTouch(const InstanceId& instance, const std::string& place) {
  const std::lock_guard lock(touch_mutex_);
  if (place.empty()) {
    touch_.erase(instance);
  } else {
    touch_[instance] = place;
  }
}

bool Registry::Knows(const HostedModel& model, const SharedModel& shared,
                     const std::string& place) const {
  const bool asked = ask_others_ && DrawsNoise(model.spec()) && shared.last.sequence > 0;
  return !asked || TouchOf(model.instance()) == place;
}

void Registry::SeeTouch(const std::string& name, HostedModel& model, const SharedModel& shared,
                        const StoreView& view) {
  if (!ask_others_ || !DrawsNoise(model.spec())) return;
  const InstanceId& instance = model.instance();
  if (const auto* const followed = dynamic_cast<const FollowedModel*>(&model)) {
    const bool back = shared.last.sequence < followed->applied();
    if (back) {
      SetTouch(instance, "");
    } else if (shared.last.sequence == 0) {
      SetTouch(instance, view.place);  // it follows from the first entry on
    } else if (TouchOf(instance) != view.place) {
      SetTouch(instance, "");
    }
  } else {
    // What it has shown of its own term is in the log, or the log was put back.
    const bool whole =
        model.term() == shared.term && shared.last.sequence >= model.posterior()->version();
    SetTouch(instance, whole ? view.place : "");
  }
  NoteOthers(name, instance, view);
}

void Registry::NoteOthers(const std::string& name, const InstanceId& instance,
                          const StoreView& view) {
  std::set<std::string> now(view.names.begin(), view.names.end());
  now.erase(view.self);
  // Without the whole log, those from whom it may have missed something stay as well.
  if (TouchOf(instance).empty()) {
    const absl::StatusOr<std::vector<std::string>> before = ReadOthers(Folder(name), instance);
    if (before.ok()) now.insert(before->begin(), before->end());
  }
  std::vector<std::string> names(now.begin(), now.end());
  const auto noted = noted_.find(instance);
  if (noted != noted_.end() && noted->second == names) return;
  // One that fails is tried again at the next look.
  if (WriteOthers(Folder(name), instance, names).ok()) noted_[instance] = std::move(names);
}

absl::StatusOr<InstanceId> Registry::InstanceIn(const std::string& name, const ModelSpec& spec) {
  BANDANA_ASSIGN_OR_RETURN(const bool known, AdoptFolder(name));
  if (!known) return NotFound("the store does not have model ", name);
  BANDANA_ASSIGN_OR_RETURN(const std::shared_ptr<StateStore> state,
                           log_->OpenState(Folder(name), DrawsNoise(spec)));
  BANDANA_ASSIGN_OR_RETURN(const std::string text, ReadIdentityFile(*state));
  BANDANA_ASSIGN_OR_RETURN(const Identity identity, ParseIdentity(text));
  return identity.instance;
}

absl::Status Registry::Vouch(const ModelSpec& spec, bool ask, std::vector<Published>& elsewhere) {
  const std::string name = spec.public_spec.name;
  if (watch_ == nullptr || !ask_others_ || !DrawsNoise(spec)) return absl::OkStatus();
  BANDANA_ASSIGN_OR_RETURN(const std::shared_ptr<const StoreView> view, Look());
  const SharedModel* const seen = SharedIn(*view, name);
  if (seen == nullptr || seen->last.sequence == 0) return absl::OkStatus();
  const absl::StatusOr<InstanceId> instance = InstanceIn(name, spec);
  if (absl::IsNotFound(instance.status())) return absl::OkStatus();  // it is being made
  BANDANA_RETURN_IF_ERROR(instance.status());
  if (!ask && TouchOf(*instance) == view->place) return absl::OkStatus();
  BANDANA_ASSIGN_OR_RETURN(const std::vector<std::string> others,
                           ReadOthers(Folder(name), *instance));
  std::vector<std::string> addresses = view->servers;
  std::erase(addresses, address_);
  const std::vector<Standing> answers = ask_others_(addresses, name, *instance);
  for (const Standing& answer : answers) {
    if (answer.published.known) elsewhere.push_back(answer.published);
  }
  return CheckStandings(answers, others, view->self, view->place, seen->last.sequence);
}

absl::Status Registry::Confirm(const std::string& name) {
  std::optional<Entry> entry = EntryOf(name);
  auto* const followed = entry ? dynamic_cast<FollowedModel*>(entry->model.get()) : nullptr;
  if (followed == nullptr) return absl::OkStatus();
  const std::shared_ptr<const StoreView> view = seen_.load();
  std::vector<Published> elsewhere;
  const absl::Status vouched = Vouch(*entry->spec, /*ask=*/true, elsewhere);
  if (!vouched.ok() && !IsNeedsEpoch(vouched)) return absl::OkStatus();  // the store is away
  if (vouched.ok() && view != nullptr) SetTouch(followed->instance(), view->place);
  followed->SetDoubt(vouched);
  if (entry->why == vouched) return absl::OkStatus();
  const bool orphan = followed->owner()->empty();
  if (!vouched.ok() && orphan) {
    Warn(name, absl::StrCat("is owned by nobody: ", vouched.message()));
  }
  // By which OpenEpoch knows that it may go on.
  entry->why = orphan ? vouched : absl::OkStatus();
  Set(name, *std::move(entry));
  return absl::OkStatus();
}

absl::Status Registry::CompareWithOwner(const std::string& name) {
  std::optional<Entry> entry = EntryOf(name);
  auto* const followed = entry ? dynamic_cast<FollowedModel*>(entry->model.get()) : nullptr;
  if (followed == nullptr || followed->owner()->empty()) return absl::OkStatus();
  const std::vector<std::string> owner = {*followed->owner()};
  for (const Standing& answer : ask_others_(owner, name, followed->instance())) {
    absl::Status same = CompareReleased(followed->Released(), answer.released);
    if (same.ok()) continue;
    followed->Retire();
    entry->model = nullptr;
    entry->why = same;
    entry->differs = true;
    Set(name, *std::move(entry));
    return same;
  }
  return absl::OkStatus();
}

absl::StatusOr<Standing> Registry::Stand(const std::string& model, const InstanceId& instance) {
  const bool a_name = !model.empty() && model.size() <= kModelNameBytesMax && model[0] != '.' &&
                      model.find('/') == std::string::npos;
  if (!a_name) return InvalidArgument("model: is no name of a model");
  Standing standing{.in_touch = TouchOf(instance)};
  if (const std::shared_ptr<const StoreView> view = seen_.load()) standing.name = view->self;
  if (standing.name.empty()) return Unavailable("this server has not seen its database yet");
  BANDANA_ASSIGN_OR_RETURN(standing.published, ReadPublished(Folder(model), instance));
  BANDANA_ASSIGN_OR_RETURN(standing.others, ReadOthers(Folder(model), instance));
  const std::shared_ptr<HostedModel> served = Find(model);
  if (served != nullptr && served->instance() == instance) standing.released = served->Released();
  return standing;
}

bool Registry::MayBeNew(std::string_view name) const {
  if (address_.empty()) return false;
  const std::shared_ptr<const StoreView> view = seen_.load();
  if (view == nullptr || SharedIn(*view, name) != nullptr) return true;
  const std::size_t hash = std::hash<std::string_view>()(name);
  const std::int64_t now = SteadyNanos();
  const std::lock_guard lock(asked_mutex_);
  Asked& asked = asked_[hash % asked_.size()];
  const bool again = asked.name == hash && now - asked.at < kAskedFor / std::chrono::nanoseconds(1);
  if (!again) asked = {.name = hash, .at = now};
  return !again || looked_at_ < asked.at;
}

void Registry::NoteLook(std::int64_t began) {
  const std::lock_guard lock(asked_mutex_);
  looked_at_ = began;
}

}  // namespace bandana::server
