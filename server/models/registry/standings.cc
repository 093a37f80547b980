#include "server/models/registry/standings.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/identity.h"
#include "common/promise/mode.h"
#include "server/models/folder/publication.h"
#include "server/models/folder/recovery.h"
#include "server/models/replicas/others_file.h"

namespace bandana::server {

Standings::Standings(std::shared_ptr<const LogEngine> log, const ModelFolders& folders,
                     Cluster& cluster, AskOthers ask_others)
    : log_(std::move(log)),
      folders_(folders),
      cluster_(cluster),
      ask_others_(std::move(ask_others)) {}

std::string Standings::TouchOf(const InstanceId& instance) const {
  const std::lock_guard lock(mutex_);
  const auto found = touch_.find(instance);
  return found == touch_.end() ? "" : found->second;
}

void Standings::SetTouch(const InstanceId& instance, const std::string& place) {
  const std::lock_guard lock(mutex_);
  if (place.empty()) {
    touch_.erase(instance);
  } else {
    touch_[instance] = place;
  }
}

bool Standings::Knows(const ServedModel& model, const SharedModel& shared,
                      const std::string& place) const {
  const bool asked = ask_others_ && DrawsNoise(model.spec()) && shared.last.sequence > 0;
  return !asked || TouchOf(model.instance()) == place;
}

void Standings::See(const std::string& name, const OpenedModel& opened, const SharedModel& shared,
                    const StoreView& view) {
  const ServedModel& model = *opened.model;
  if (!ask_others_ || !DrawsNoise(model.spec())) return;
  const InstanceId& instance = model.instance();
  if (opened.followed != nullptr) {
    const bool back = shared.last.sequence < opened.followed->applied();
    if (back) {
      SetTouch(instance, "");
    } else if (shared.last.sequence == 0) {
      SetTouch(instance, view.place);  // it follows from the first entry on
    } else if (TouchOf(instance) != view.place) {
      SetTouch(instance, "");
    }
  } else {
    // Its releases of its own term are in the log, or the log was put back.
    const bool whole =
        opened.owned->term() == shared.term && shared.last.sequence >= model.posterior()->version();
    SetTouch(instance, whole ? view.place : "");
  }
  NoteOthers(name, instance, view);
}

void Standings::NoteOthers(const std::string& name, const InstanceId& instance,
                           const StoreView& view) {
  std::set<std::string> now(view.names.begin(), view.names.end());
  now.erase(view.self);
  // Without the whole log, those from whom it may have missed something stay as well.
  if (TouchOf(instance).empty()) {
    const absl::StatusOr<std::vector<std::string>> before =
        ReadOthers(folders_.PathOf(name), instance);
    if (before.ok()) now.insert(before->begin(), before->end());
  }
  std::vector<std::string> names(now.begin(), now.end());
  const auto noted = noted_.find(instance);
  if (noted != noted_.end() && noted->second == names) return;
  // A write that fails is tried again at the next look.
  if (WriteOthers(folders_.PathOf(name), instance, names).ok()) noted_[instance] = std::move(names);
}

absl::StatusOr<InstanceId> Standings::InstanceIn(const std::string& name,
                                                 const ModelSpec& spec) const {
  BANDANA_ASSIGN_OR_RETURN(const bool known, folders_.Adopt(name));
  if (!known) return NotFound("the store does not have model ", name);
  BANDANA_ASSIGN_OR_RETURN(const std::shared_ptr<StateStore> state,
                           log_->OpenState(folders_.PathOf(name), DrawsNoise(spec)));
  BANDANA_ASSIGN_OR_RETURN(const std::string text, ReadIdentityFile(*state));
  BANDANA_ASSIGN_OR_RETURN(const Identity identity, ParseIdentity(text));
  return identity.instance;
}

absl::Status Standings::Vouch(const ModelSpec& spec, bool ask,
                              std::vector<Published>& elsewhere) const {
  const std::string name = spec.public_spec.name;
  if (!cluster_.shared() || !ask_others_ || !DrawsNoise(spec)) return absl::OkStatus();
  BANDANA_ASSIGN_OR_RETURN(const std::shared_ptr<const StoreView> view, cluster_.Look());
  const SharedModel* const seen = SharedIn(*view, name);
  if (seen == nullptr || seen->last.sequence == 0) return absl::OkStatus();
  const absl::StatusOr<InstanceId> instance = InstanceIn(name, spec);
  if (absl::IsNotFound(instance.status())) return absl::OkStatus();  // it is being made
  BANDANA_RETURN_IF_ERROR(instance.status());
  if (!ask && TouchOf(*instance) == view->place) return absl::OkStatus();
  BANDANA_ASSIGN_OR_RETURN(const std::vector<std::string> others,
                           ReadOthers(folders_.PathOf(name), *instance));
  std::vector<std::string> addresses = view->servers;
  std::erase(addresses, cluster_.address());
  const std::vector<Standing> answers = ask_others_(addresses, name, *instance);
  for (const Standing& answer : answers) {
    if (answer.published.known) elsewhere.push_back(answer.published);
  }
  return CheckStandings(answers, others, view->self, view->place, seen->last.sequence);
}

absl::Status Standings::Confirm(const ModelSpec& spec, const InstanceId& instance) {
  const std::shared_ptr<const StoreView> view = cluster_.seen();
  std::vector<Published> elsewhere;
  BANDANA_RETURN_IF_ERROR(Vouch(spec, /*ask=*/true, elsewhere));
  if (view != nullptr) SetTouch(instance, view->place);
  return absl::OkStatus();
}

absl::Status Standings::CompareWithOwner(const FollowedModel& followed) const {
  const std::vector<std::string> owner = {*followed.owner()};
  if (owner.front().empty()) return absl::OkStatus();
  for (const Standing& answer :
       ask_others_(owner, followed.spec().public_spec.name, followed.instance())) {
    BANDANA_RETURN_IF_ERROR(CompareReleased(followed.Released(), answer.released));
  }
  return absl::OkStatus();
}

absl::StatusOr<Standing> Standings::Stand(const std::string& model, const InstanceId& instance,
                                          const ServedModel* served) const {
  const bool a_name = !model.empty() && model.size() <= kModelNameBytesMax && model[0] != '.' &&
                      model.find('/') == std::string::npos;
  if (!a_name) return InvalidArgument("model: is no name of a model");
  Standing standing{.in_touch = TouchOf(instance)};
  if (const std::shared_ptr<const StoreView> view = cluster_.seen()) standing.name = view->self;
  if (standing.name.empty()) return Unavailable("this server has not seen its database yet");
  BANDANA_ASSIGN_OR_RETURN(standing.published, ReadPublished(folders_.PathOf(model), instance));
  BANDANA_ASSIGN_OR_RETURN(standing.others, ReadOthers(folders_.PathOf(model), instance));
  if (served != nullptr && served->instance() == instance) standing.released = served->Released();
  return standing;
}

}  // namespace bandana::server
