#include "server/models/aliases/resolved_name.h"

#include <cstring>

#include "common/base/own_number.h"
#include "common/base/status.h"
#include "server/models/aliases/share_of.h"
#include "server/models/model_directory.h"

namespace bandana::server {
namespace {

// 23 bits, so that what is shown fits into 63.
std::uint64_t TagOf(const ServedModel& model) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, model.instance().data(), sizeof bits);
  return bits >> 9;
}

constexpr std::uint64_t kOwnNumberMask = (std::uint64_t{1} << kOwnNumberBits) - 1;

}  // namespace

std::uint64_t ResolvedModel::Shown(std::uint64_t number) const {
  if (alias == nullptr) return number;
  return TagOf(*model) << kOwnNumberBits | (number & kOwnNumberMask);
}

std::optional<std::uint64_t> ResolvedModel::Own(std::uint64_t shown) const {
  if (alias == nullptr) return shown;
  if (shown >> kOwnNumberBits != TagOf(*model)) return std::nullopt;
  return shown & kOwnNumberMask;
}

absl::StatusOr<ResolvedModel> ResolvedName::At(std::size_t share) const {
  if (alias_->models[share] == nullptr) {
    return Unavailable("alias ", alias_->spec.name,
                       " is not served now; its operator finds the reason in the server's log");
  }
  return ResolvedModel{alias_->models[share], alias_};
}

absl::StatusOr<ResolvedModel> ResolvedName::Of(std::string_view user) const {
  if (alias_ == nullptr) return ResolvedModel{model_, nullptr};
  return At(ShareOf(alias_->spec, user));
}

absl::StatusOr<ResolvedModel> ResolvedName::Only() const {
  if (alias_ == nullptr) return ResolvedModel{model_, nullptr};
  if (alias_->models.size() > 1) {
    return FailedPrecondition("alias ", alias_->spec.name, " stands for ", alias_->models.size(),
                              " models, and the call names no user");
  }
  return At(0);
}

absl::StatusOr<ResolvedModel> ResolvedName::First() const {
  if (alias_ == nullptr) return ResolvedModel{model_, nullptr};
  for (const auto& model : alias_->models) {
    if (model != nullptr) return ResolvedModel{model, alias_};
  }
  return At(0);
}

absl::StatusOr<ResolvedName> Resolve(const ModelDirectory& registry, std::string_view name) {
  if (auto model = registry.Find(name); model != nullptr) return ResolvedName(std::move(model));
  if (auto alias = registry.FindAlias(name); alias != nullptr)
    return ResolvedName(std::move(alias));
  if (name.empty()) return InvalidArgument("model: must be set");
  return AbsenceOf(registry, name);
}

}  // namespace bandana::server
