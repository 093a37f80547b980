#include "server/models/users/group_change.h"

#include <span>

namespace bandana::server {

GroupChange::GroupChange(const KnownUsers& known, const std::vector<std::string>& names)
    : known_(known), names_(names), left_(names.size()), joined_(names.size()) {
  for (std::size_t g = 0; g < names.size(); ++g) left_[g].resize(known.ValuesOf(g).numbers());
}

void GroupChange::Leave(EffectKey user) {
  const std::span<const std::uint32_t> numbers = known_.Numbers(user);
  for (std::size_t g = 0; g < numbers.size(); ++g) ++left_[g][numbers[g]];
}

void GroupChange::Join(UserRows& rows) {
  for (std::size_t user = 0; user < rows.size(); ++user) {
    for (std::size_t g = 0; g < rows.groups(); ++g) {
      const std::string_view value = rows.value(user, g);
      if (!value.empty()) joined_[g].insert(value);
    }
  }
}

KeyChange GroupChange::Keys(absl::Time now, bool with_returned) const {
  KeyChange change{.returned = {}, .left = {}, .now = now};
  for (std::size_t g = 0; g < names_.size(); ++g) {
    const GroupValues& values = known_.ValuesOf(g);
    for (std::uint32_t number = 1; number < left_[g].size(); ++number) {
      const std::uint32_t left = left_[g][number];
      if (left == 0 || left < values.users(number)) continue;
      if (!joined_[g].contains(values.text(number))) change.left.push_back(values.key(number));
    }
    if (!with_returned) continue;
    for (const std::string_view value : joined_[g]) {
      if (values.Find(value) == GroupValues::kNone) {
        change.returned.push_back(GroupKey(names_[g], value));
      }
    }
  }
  return change;
}

}  // namespace bandana::server
