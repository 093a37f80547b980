#include "server/models/registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "server/models/registry/folder_registry.h"

namespace bandana::server {

absl::Status AbsenceOf(const ModelDirectory& registry, std::string_view name) {
  if (registry.FindAlias(name) != nullptr) {
    return FailedPrecondition("model: `", ToAbsl(name),
                              "` is an alias; name one of its models (Admin.ListAliases)");
  }
  const std::vector<AbsentModel> absent = registry.Absent();
  if (std::any_of(absent.begin(), absent.end(),
                  [&](const auto& one) { return one.name == name; })) {
    return Unavailable("model ", ToAbsl(name),
                       " is not open now; its operator finds the reason in the server's log");
  }
  if (!registry.KnowsAll() || registry.MayBeNew(name)) {
    return Unavailable("model ", ToAbsl(name.substr(0, kModelNameBytesMax)),
                       " is not known yet; try again");
  }
  BANDANA_RETURN_IF_ERROR(registry.AliasesStatus());  // it may be one of them
  return NotFound("model: no model `", absl::CHexEscape(ToAbsl(name.substr(0, kModelNameBytesMax))),
                  "`");
}

absl::StatusOr<std::unique_ptr<ModelRegistry>> ModelRegistry::Open(const Options& options,
                                                                   const Clock& clock) {
  BANDANA_ASSIGN_OR_RETURN(std::shared_ptr<SharedFiles> shared, options.log->Shared());
  Options all = options;
  if (!all.warn) all.warn = [](std::string_view, const std::string&) {};
  auto registry = std::make_unique<FolderRegistry>(all, std::move(shared), clock);
  BANDANA_RETURN_IF_ERROR(registry->Start());
  return registry;
}

}  // namespace bandana::server
