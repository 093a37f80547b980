// The registry's aliases: which there are, and which models are served under them.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "server/models/folder_registry.h"

namespace bandana::server {
namespace {

bool HasShareOf(const AliasSpec& alias, std::string_view model) {
  return std::ranges::any_of(alias.shares,
                             [&](const AliasShare& share) { return share.model == model; });
}

// `why`: "dimension", "" where nobody knows.
absl::Status PolicyStays(std::string_view alias, const std::string& why) {
  return FailedPrecondition("alias ", ToAbsl(alias), ": its policy would change",
                            why.empty() ? "" : " in ", why,
                            "; devices have agreed to it, so another policy needs another name");
}

absl::Status IsModel(std::string_view name) {
  return absl::AlreadyExistsError(
      absl::StrCat("alias ", ToAbsl(name),
                   ": a model has the name; models and aliases share one "
                   "space of names"));
}

absl::Status WasMadeHere(std::string_view name) {
  return absl::AlreadyExistsError(
      absl::StrCat("alias ", ToAbsl(name),
                   " of the configuration was made at run time; delete that "
                   "or choose another name"));
}

}  // namespace

void Registry::LoadAliases() {
  absl::StatusOr<Aliases> read = alias_store_.Read();
  const std::lock_guard lock(store_mutex_);
  if (read.ok()) {
    aliases_lost_.store(nullptr);
    stored_ = *read;
    for (auto& [name, alias] : *read) aliases_.emplace(name, std::move(alias));
    Bind(*models_.load());
    return;
  }
  Warn("",
       absl::StrCat("aliases are unknown, and names without a model are answered UNAVAILABLE: ",
                    read.status().message(), "; mend the file or move it away, then send SIGHUP"));
  aliases_lost_.store(std::make_shared<const absl::Status>(Unavailable(
      "the aliases of this server cannot be read now; its operator finds the reason in the "
      "server's log")));
}

absl::Status Registry::AliasesStatus() const {
  const auto lost = aliases_lost_.load();
  return lost == nullptr ? absl::OkStatus() : *lost;
}

std::vector<AliasSpec> Registry::ListAliases() const {
  std::vector<AliasSpec> list;
  const auto bound = bound_.load();
  for (const auto& [name, alias] : *bound) list.push_back(alias->spec);
  return list;
}

std::shared_ptr<const BoundAlias> Registry::FindAlias(std::string_view name) const {
  const auto bound = bound_.load();
  const auto it = bound->find(name);
  return it == bound->end() ? nullptr : it->second;
}

bool Registry::HidesReportsOf(std::string_view name) const {
  const auto models = models_.load();
  if (const auto it = models->find(name); it != models->end()) return MayHide(it->second);
  const std::shared_ptr<const BoundAlias> alias = FindAlias(name);
  // A name that was taken away may have stood for one that does: its reports still come.
  return alias == nullptr ? hides_reports() : alias->hides_reports;
}

std::vector<std::string> Registry::AliasTroubles() const {
  std::vector<std::string> troubles;
  const auto bound = bound_.load();
  for (const auto& [name, alias] : *bound) {
    for (std::size_t i = 0; i < alias->models.size(); ++i) {
      if (alias->models[i] != nullptr) continue;
      troubles.push_back(absl::StrCat("alias ", name, ": the users of model ",
                                      alias->spec.shares[i].model,
                                      " are not served: ", alias->why[i]));
    }
  }
  return troubles;
}

std::shared_ptr<const BoundAlias> Registry::BoundOf(const AliasSpec& alias,
                                                    const Models& models) const {
  auto bound = std::make_shared<BoundAlias>();
  bound->spec = alias;
  for (const AliasShare& share : alias.shares) {
    auto& model = bound->models.emplace_back();
    std::string& why = bound->why.emplace_back();
    const auto it = models.find(share.model);
    if (it == models.end()) {
      // Nobody knows what it was.
      bound->hides_reports = true;
      why = "the server does not have it";
      continue;
    }
    const Entry& entry = it->second;
    bound->hides_reports = bound->hides_reports || MayHide(entry);
    if (entry.model == nullptr) {
      why = std::string(entry.why.message());
    } else if (PolicyUnder(entry.model->spec().public_spec, alias.name) != alias.policy) {
      why = "its policy is not the one that devices agreed to under the alias";
    } else {
      model = entry.model;
    }
  }
  return bound;
}

void Registry::Bind(const Models& models) {
  BoundAliases bound;
  for (const auto& [name, alias] : aliases_) bound.emplace(name, BoundOf(alias, models));
  bound_.store(std::make_shared<const BoundAliases>(std::move(bound)));
}

void Registry::FollowAliases() {
  const absl::StatusOr<bool> changed = alias_store_.Changed();
  if (changed.ok() && *changed) TakeOverAliases();
}

void Registry::TakeOverAliases() {
  absl::StatusOr<Aliases> read = alias_store_.Read();
  if (!read.ok()) return;  // those that are known stay
  const std::lock_guard lock(store_mutex_);
  stored_ = *read;
  aliases_ = *std::move(read);
  Bind(*models_.load());
}

absl::Status Registry::ReplaceAliases(Aliases next) {
  if (AliasesStatus().ok() && next != stored_) {
    const absl::Status written = alias_store_.Write(next);
    if (absl::IsAborted(written)) {
      TakeOverAliases();
      if (next != stored_) {
        return Unavailable("another server has changed the aliases meanwhile; try again");
      }
    } else {
      BANDANA_RETURN_IF_ERROR(written);
    }
    stored_ = next;
  }
  if (next == aliases_) return absl::OkStatus();
  const std::lock_guard lock(store_mutex_);
  aliases_ = std::move(next);
  Bind(*models_.load());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::shared_ptr<HostedModel>>> Registry::CheckShares(
    const AliasSpec& alias) const {
  std::vector<std::shared_ptr<HostedModel>> models;
  std::vector<const ModelSpec*> specs;
  for (std::size_t i = 0; i < alias.shares.size(); ++i) {
    const std::string& name = alias.shares[i].model;
    if (name == alias.name || aliases_.contains(name)) {
      return InvalidArgument("shares[", i, "].model: ", name, " is an alias, not a model");
    }
    std::shared_ptr<HostedModel> model = Find(name);
    if (model == nullptr) return AbsenceOf(*this, name);
    specs.push_back(&model->spec());
    models.push_back(std::move(model));
  }
  BANDANA_RETURN_IF_ERROR(CheckBehindAlias(alias.name, specs));
  return models;
}

std::string Registry::PolicyChange(const AliasSpec& alias, const PublicSpec& next) const {
  const std::shared_ptr<const BoundAlias> bound = FindAlias(alias.name);
  if (bound == nullptr) return "";
  for (const auto& model : bound->models) {
    if (model != nullptr) return DifferingField(model->spec().public_spec, next);
  }
  return "";
}

absl::StatusOr<AliasSpec> Registry::PutAlias(AliasSpec alias) {
  const std::lock_guard lock(mutex_);
  BANDANA_RETURN_IF_ERROR(AliasesStatus());
  if (EntryOf(alias.name) || coming_.contains(alias.name)) return IsModel(alias.name);
  const auto before = aliases_.find(alias.name);
  const bool exists = before != aliases_.end();
  if (exists && before->second.configured) {
    return FailedPrecondition("alias ", alias.name,
                              " is in the configuration file; change it there, and send SIGHUP");
  }
  if (!exists && aliases_.size() >= std::size_t{kAliasesMax}) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the server has ", kAliasesMax, " aliases, and takes no more"));
  }
  BANDANA_ASSIGN_OR_RETURN(const auto models, CheckShares(alias));
  const PublicSpec& spec = models.front()->spec().public_spec;
  alias.policy = PolicyUnder(spec, alias.name);
  alias.configured = false;
  if (exists && before->second.policy != alias.policy) {
    return PolicyStays(alias.name, PolicyChange(before->second, spec));
  }
  Aliases next = aliases_;
  next[alias.name] = alias;
  BANDANA_RETURN_IF_ERROR(ReplaceAliases(std::move(next)));
  return alias;
}

absl::Status Registry::DeleteAlias(std::string_view name) {
  const std::lock_guard lock(mutex_);
  BANDANA_RETURN_IF_ERROR(AliasesStatus());
  const auto found = aliases_.find(name);
  if (found == aliases_.end()) return NotFound("alias ", ToAbsl(name), " does not exist");
  if (found->second.configured) {
    return FailedPrecondition("alias ", ToAbsl(name),
                              " is in the configuration file; remove it there");
  }
  Aliases next = aliases_;
  next.erase(std::string(name));
  return ReplaceAliases(std::move(next));
}

std::vector<AbsentModel> Registry::ConfigureAliases(std::vector<AliasSpec> aliases) {
  const std::lock_guard lock(mutex_);
  if (!AliasesStatus().ok()) LoadAliases();  // somebody may have mended the file
  std::vector<AbsentModel> failed;
  Aliases next;
  for (const auto& [name, alias] : aliases_) {
    if (!alias.configured) next.emplace(name, alias);
  }
  for (AliasSpec& alias : aliases) {
    alias.configured = true;
    const std::string name = alias.name;
    const auto before = aliases_.find(name);
    if (EntryOf(name) || coming_.contains(name)) {
      failed.push_back({name, IsModel(name)});
    } else if (next.contains(name)) {
      failed.push_back({name, WasMadeHere(name)});
    } else if (before != aliases_.end() && before->second.policy != alias.policy) {
      failed.push_back({name, PolicyStays(name, "")});
      next.emplace(name, before->second);
    } else {
      next.emplace(name, std::move(alias));
    }
  }
  const absl::Status replaced = ReplaceAliases(std::move(next));
  if (!replaced.ok()) failed.push_back({"", Annotate(replaced, "aliases stay as they were")});
  return failed;
}

absl::Status Registry::MayLeave(std::string_view model) const {
  for (const auto& [name, alias] : aliases_) {
    if (!HasShareOf(alias, model)) continue;
    return FailedPrecondition("model ", ToAbsl(model), " is behind alias ", name,
                              "; give the alias other models first");
  }
  return absl::OkStatus();
}

absl::Status Registry::MayBecome(std::string_view model, const PublicSpec& current,
                                 const PublicSpec& next) const {
  for (const auto& [name, alias] : aliases_) {
    if (!HasShareOf(alias, model) || PolicyUnder(next, name) == alias.policy) continue;
    return Annotate(PolicyStays(name, DifferingField(current, next)),
                    absl::StrCat("model ", ToAbsl(model), " is behind an alias"));
  }
  return absl::OkStatus();
}

absl::Status Registry::CheckNoAlias(std::string_view name) const {
  if (!aliases_.contains(name)) return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat("model ", ToAbsl(name),
                   ": an alias has the name; models and aliases share one space of "
                   "names"));
}

}  // namespace bandana::server
