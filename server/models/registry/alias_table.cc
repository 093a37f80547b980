#include "server/models/registry/alias_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status.h"

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

AliasTable::AliasTable(AliasStore store, ModelSet& models, Warn warn)
    : store_(std::move(store)), models_(models), warn_(std::move(warn)) {
  bound_.store(std::make_shared<const BoundAliases>());
  models_.OnChange([this](const ModelSet::Models& all) { Bind(all); });
}

void AliasTable::Load() {
  absl::StatusOr<Aliases> read = store_.Read();
  if (read.ok()) {
    lost_.store(nullptr);
    stored_ = *read;
    models_.Renew([&] {
      for (auto& [name, alias] : *read) aliases_.emplace(name, std::move(alias));
    });
    return;
  }
  warn_("",
        absl::StrCat("aliases are unknown, and names without a model are answered UNAVAILABLE: ",
                     read.status().message(), "; mend the file or move it away, then send SIGHUP"));
  lost_.store(std::make_shared<const absl::Status>(Unavailable(
      "the aliases of this server cannot be read now; its operator finds the reason in the "
      "server's log")));
}

absl::Status AliasTable::status() const {
  const auto lost = lost_.load();
  return lost == nullptr ? absl::OkStatus() : *lost;
}

std::vector<AliasSpec> AliasTable::List() const {
  std::vector<AliasSpec> list;
  const auto bound = bound_.load();
  for (const auto& [name, alias] : *bound) list.push_back(alias->spec);
  return list;
}

std::shared_ptr<const BoundAlias> AliasTable::Find(std::string_view name) const {
  const auto bound = bound_.load();
  const auto it = bound->find(name);
  return it == bound->end() ? nullptr : it->second;
}

std::vector<std::string> AliasTable::Troubles() const {
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

std::shared_ptr<const BoundAlias> AliasTable::BoundOf(const AliasSpec& alias,
                                                      const ModelSet::Models& models) {
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
    const ModelEntry& entry = it->second;
    bound->hides_reports = bound->hides_reports || entry.MayHideReports();
    if (entry.model() == nullptr) {
      why = std::string(entry.why.message());
    } else if (PolicyUnder(entry.model()->spec().public_spec, alias.name) != alias.policy) {
      why = "its policy is not the one that devices agreed to under the alias";
    } else {
      model = entry.model();
    }
  }
  return bound;
}

void AliasTable::Bind(const ModelSet::Models& models) {
  BoundAliases bound;
  for (const auto& [name, alias] : aliases_) bound.emplace(name, BoundOf(alias, models));
  bound_.store(std::make_shared<const BoundAliases>(std::move(bound)));
}

void AliasTable::Follow() {
  const absl::StatusOr<bool> changed = store_.Changed();
  if (changed.ok() && *changed) TakeOver();
}

void AliasTable::TakeOver() {
  absl::StatusOr<Aliases> read = store_.Read();
  if (!read.ok()) return;  // those that are known stay
  stored_ = *read;
  models_.Renew([&] { aliases_ = *std::move(read); });
}

absl::Status AliasTable::Replace(Aliases next) {
  if (status().ok() && next != stored_) {
    const absl::Status written = store_.Write(next);
    if (absl::IsAborted(written)) {
      TakeOver();
      if (next != stored_) {
        return Unavailable("another server has changed the aliases meanwhile; try again");
      }
    } else {
      BANDANA_RETURN_IF_ERROR(written);
    }
    stored_ = next;
  }
  if (next == aliases_) return absl::OkStatus();
  models_.Renew([&] { aliases_ = std::move(next); });
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::shared_ptr<ServedModel>>> AliasTable::CheckShares(
    const AliasSpec& alias, const WhyAbsent& absence) const {
  std::vector<std::shared_ptr<ServedModel>> models;
  std::vector<const ModelSpec*> specs;
  for (std::size_t i = 0; i < alias.shares.size(); ++i) {
    const std::string& name = alias.shares[i].model;
    if (name == alias.name || aliases_.contains(name)) {
      return InvalidArgument("shares[", i, "].model: ", name, " is an alias, not a model");
    }
    std::shared_ptr<ServedModel> model = models_.Find(name);
    if (model == nullptr) return absence(name);
    specs.push_back(&model->spec());
    models.push_back(std::move(model));
  }
  BANDANA_RETURN_IF_ERROR(CheckBehindAlias(alias.name, specs));
  return models;
}

std::string AliasTable::PolicyChange(const AliasSpec& alias, const PublicSpec& next) const {
  const std::shared_ptr<const BoundAlias> bound = Find(alias.name);
  if (bound == nullptr) return "";
  for (const auto& model : bound->models) {
    if (model != nullptr) return DifferingField(model->spec().public_spec, next);
  }
  return "";
}

absl::StatusOr<AliasSpec> AliasTable::Put(AliasSpec alias, const IsTaken& taken,
                                          const WhyAbsent& absence) {
  BANDANA_RETURN_IF_ERROR(status());
  if (taken(alias.name)) return IsModel(alias.name);
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
  BANDANA_ASSIGN_OR_RETURN(const auto models, CheckShares(alias, absence));
  const PublicSpec& spec = models.front()->spec().public_spec;
  alias.policy = PolicyUnder(spec, alias.name);
  alias.configured = false;
  if (exists && before->second.policy != alias.policy) {
    return PolicyStays(alias.name, PolicyChange(before->second, spec));
  }
  Aliases next = aliases_;
  next[alias.name] = alias;
  BANDANA_RETURN_IF_ERROR(Replace(std::move(next)));
  return alias;
}

absl::Status AliasTable::Delete(std::string_view name) {
  BANDANA_RETURN_IF_ERROR(status());
  const auto found = aliases_.find(name);
  if (found == aliases_.end()) return NotFound("alias ", ToAbsl(name), " does not exist");
  if (found->second.configured) {
    return FailedPrecondition("alias ", ToAbsl(name),
                              " is in the configuration file; remove it there");
  }
  Aliases next = aliases_;
  next.erase(std::string(name));
  return Replace(std::move(next));
}

std::vector<AbsentModel> AliasTable::Configure(std::vector<AliasSpec> aliases,
                                               const IsTaken& taken) {
  if (!status().ok()) Load();  // somebody may have mended the file
  std::vector<AbsentModel> failed;
  Aliases next;
  for (const auto& [name, alias] : aliases_) {
    if (!alias.configured) next.emplace(name, alias);
  }
  for (AliasSpec& alias : aliases) {
    alias.configured = true;
    const std::string name = alias.name;
    const auto before = aliases_.find(name);
    if (taken(name)) {
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
  const absl::Status replaced = Replace(std::move(next));
  if (!replaced.ok()) failed.push_back({"", Annotate(replaced, "aliases stay as they were")});
  return failed;
}

absl::Status AliasTable::MayLeave(std::string_view model) const {
  for (const auto& [name, alias] : aliases_) {
    if (!HasShareOf(alias, model)) continue;
    return FailedPrecondition("model ", ToAbsl(model), " is behind alias ", name,
                              "; give the alias other models first");
  }
  return absl::OkStatus();
}

absl::Status AliasTable::MayBecome(std::string_view model, const PublicSpec& current,
                                   const PublicSpec& next) const {
  for (const auto& [name, alias] : aliases_) {
    if (!HasShareOf(alias, model) || PolicyUnder(next, name) == alias.policy) continue;
    return Annotate(PolicyStays(name, DifferingField(current, next)),
                    absl::StrCat("model ", ToAbsl(model), " is behind an alias"));
  }
  return absl::OkStatus();
}

absl::Status AliasTable::CheckNone(std::string_view name) const {
  if (!aliases_.contains(name)) return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat("model ", ToAbsl(name),
                   ": an alias has the name; models and aliases share one space of "
                   "names"));
}

}  // namespace bandana::server
