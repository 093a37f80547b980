// Looks up the name in a call: a model, or the models behind an alias.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/design/alias.h"
#include "server/models/served_model.h"

namespace bandana::server {

class ModelDirectory;

// An alias with the models that are served under it. Immutable.
struct BoundAlias {
  AliasSpec spec;
  // One per share. Null: absent, or its policy is not the alias's.
  std::vector<std::shared_ptr<ServedModel>> models;
  std::vector<std::string> why;  // one per share, for operators: why it is null; else ""
  bool hides_reports = false;    // of a model behind it: ModelDirectory::HidesReportsOf
};

// The model that answers a call, and the alias that the call named.
struct ResolvedModel {
  std::shared_ptr<ServedModel> model;       // never null
  std::shared_ptr<const BoundAlias> alias;  // that was asked for; null: the model's own name was

  // The policy that callers agree to under the name that was asked.
  const Sha256Digest& policy() const {
    return alias == nullptr ? model->policy() : alias->spec.policy;
  }
  // A number that the model counts by itself (its epoch, a version of its posterior) as callers see
  // it. Under an alias it says whose it is, so that those of two models are not taken for one
  // another: it is made of 23 bits of the instance and the last kOwnNumberBits of the number.
  std::uint64_t Shown(std::uint64_t number) const;
  // The number behind one that was shown; nullopt: another model's.
  std::optional<std::uint64_t> Own(std::uint64_t shown) const;
};

// A name in a call, looked up.
class ResolvedName {
 public:
  explicit ResolvedName(std::shared_ptr<ServedModel> model) : model_(std::move(model)) {}
  explicit ResolvedName(std::shared_ptr<const BoundAlias> alias) : alias_(std::move(alias)) {}

  // Null: a model by its own name.
  const std::shared_ptr<const BoundAlias>& alias() const { return alias_; }
  // Who answers this user. Errors: UNAVAILABLE the user's model is not served now.
  absl::StatusOr<ResolvedModel> Of(std::string_view user) const;
  // Who answers a call that names no user. Errors: also FAILED_PRECONDITION there are several.
  absl::StatusOr<ResolvedModel> Only() const;
  // Who answers what all of them would say alike: the first that is served.
  absl::StatusOr<ResolvedModel> First() const;
  // All of them; null: one that is not served now.
  std::span<const std::shared_ptr<ServedModel>> Models() const {
    return alias_ == nullptr ? std::span(&model_, 1) : std::span(alias_->models);
  }

 private:
  absl::StatusOr<ResolvedModel> At(std::size_t share) const;

  std::shared_ptr<ServedModel> model_;
  std::shared_ptr<const BoundAlias> alias_;
};

// The one place where a name becomes a model. Waits for nobody. Errors: INVALID_ARGUMENT no name;
// AbsenceOf.
absl::StatusOr<ResolvedName> Resolve(const ModelDirectory& registry, std::string_view name);

}  // namespace bandana::server
