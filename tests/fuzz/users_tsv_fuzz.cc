// users.tsv: any text is users within the limits or an error, and both readers agree on its users.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/check.h"
#include "common/design/files/group_names.h"
#include "common/design/files/users_tsv.h"

namespace {

constexpr int kNodes = 4;
constexpr std::size_t kUsersMax = 100;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto nodes = bandana::ParseUsersTsv(text, kNodes);
  const auto groups = bandana::ParseUserGroupsTsv(text, kUsersMax);
  if (!groups.ok()) return 0;
  BANDANA_CHECK(groups->ids.size() <= kUsersMax);
  BANDANA_CHECK(groups->names.size() == groups->values.size());
  BANDANA_CHECK(groups->cells.size() == groups->ids.size() * groups->names.size());
  for (std::size_t user = 0; user < groups->ids.size(); ++user) {
    for (std::size_t group = 0; group < groups->names.size(); ++group) {
      const std::uint32_t value = groups->cell(user, group);
      BANDANA_CHECK(value == bandana::UserGroups::kNone || value < groups->values[group].size());
    }
  }
  for (const auto& values : groups->values) {
    for (const auto value : values) BANDANA_CHECK(bandana::CheckGroupValue(value).ok());
  }
  if (nodes.ok()) BANDANA_CHECK(nodes->size() <= groups->ids.size());
  return 0;
}
