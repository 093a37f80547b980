// The aliases of a server: which there are, and which models are served under them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/shared_cell.h"
#include "common/design/alias.h"
#include "server/models/aliases/alias_file.h"
#include "server/models/aliases/resolved_name.h"
#include "server/models/registry/model_set.h"

namespace bandana::server {

// Threads: Find, List, Troubles and status wait for nobody's work. All others are called under the
// registry's lock for changes.
class AliasTable {
 public:
  using Warn = std::function<void(std::string_view model, const std::string& message)>;
  // Whether a model has the name, or is about to have it.
  using IsTaken = std::function<bool(std::string_view name)>;
  // Why no model has the name (AbsenceOf).
  using WhyAbsent = std::function<absl::Status(std::string_view name)>;

  // `models` must outlive the table, which follows it from now on.
  AliasTable(AliasStore store, ModelSet& models, Warn warn);

  // nullptr: there is none of the name.
  std::shared_ptr<const BoundAlias> Find(std::string_view name) const;
  std::vector<AliasSpec> List() const;
  // ModelRegistry::AliasesStatus.
  absl::Status status() const;
  // ModelRegistry::AliasTroubles.
  std::vector<std::string> Troubles() const;

  // Reads the file of aliases.
  void Load();
  // Takes over changes that another server made to the shared aliases, if any.
  void Follow();
  // ModelRegistry::PutAlias, DeleteAlias and ConfigureAliases.
  absl::StatusOr<AliasSpec> Put(AliasSpec alias, const IsTaken& taken, const WhyAbsent& absence);
  absl::Status Delete(std::string_view name);
  std::vector<AbsentModel> Configure(std::vector<AliasSpec> aliases, const IsTaken& taken);

  // Errors: FAILED_PRECONDITION the model is behind an alias, or would leave an alias's policy.
  absl::Status MayLeave(std::string_view model) const;
  absl::Status MayBecome(std::string_view model, const PublicSpec& current,
                         const PublicSpec& next) const;
  // Errors: ALREADY_EXISTS an alias has the name.
  absl::Status CheckNone(std::string_view name) const;

 private:
  using BoundAliases = std::map<std::string, std::shared_ptr<const BoundAlias>, std::less<>>;

  // Finds the models of all aliases. While the set of models is locked.
  void Bind(const ModelSet::Models& models);
  static std::shared_ptr<const BoundAlias> BoundOf(const AliasSpec& alias,
                                                   const ModelSet::Models& models);
  void TakeOver();
  // Durably, unless the file cannot be read.
  absl::Status Replace(Aliases next);
  // The models of an alias that is to be. Errors: those of Put.
  absl::StatusOr<std::vector<std::shared_ptr<ServedModel>>> CheckShares(
      const AliasSpec& alias, const WhyAbsent& absence) const;
  // In which field the policy of an alias differs from this one, where a model of it can say.
  std::string PolicyChange(const AliasSpec& alias, const PublicSpec& next) const;

  AliasStore store_;
  ModelSet& models_;
  const Warn warn_;
  Aliases stored_;   // what the file of aliases holds
  Aliases aliases_;  // changed while the set of models is locked
  SharedCell<const BoundAliases> bound_;
  SharedCell<const absl::Status> lost_;  // null: the file of aliases was read
};

}  // namespace bandana::server
