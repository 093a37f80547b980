#include "server/models/effect_names.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

std::string ArmName(const Catalogue& catalogue, const SentNames& sent, EffectKey key) {
  const std::optional<std::uint32_t> id = ArmIdOf(key);
  if (!id) return sent.NameOf(key);
  const std::optional<CatalogueEntry> arm = catalogue.Find(*id);
  const std::string_view name = arm ? catalogue.NameOf(*arm) : std::string_view();
  return absl::StrCat("arm ", *id, name.empty() ? "" : ", ", ToAbsl(name));
}

std::string ArmGroupName(const Catalogue& catalogue, std::size_t group, EffectKey key) {
  const ArmNames& values = catalogue.group_values(group);
  const std::uint32_t number = values.FindKey(key);
  return number == ArmNames::kNone ? "" : values.text(number);
}

}  // namespace

void NameValues(const Catalogue& catalogue, const UserTable& users, const SentNames& sent,
                std::vector<EffectLook>& looks) {
  for (EffectLook& look : looks) {
    const EffectScope& scope = look.scope;
    for (EffectLook::Value& value : look.largest) {
      if (scope.arm == 0) {
        value.name = ArmName(catalogue, sent, value.key);
      } else if (scope.arm > 0) {
        value.name = ArmGroupName(catalogue, static_cast<std::size_t>(scope.arm) - 1, value.key);
      } else if (scope.user > 0) {
        value.name = users.ValueName(static_cast<std::size_t>(scope.user) - 1, value.key);
      } else {
        value.name = "everybody";
      }
    }
  }
}

}  // namespace bandana::server
