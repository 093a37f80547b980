#include "server/models/users/friends.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace bandana::server {
namespace {

// The text of the most frequent of the numbers of one group, which are put in order.
std::string_view MostFrequent(const GroupValues& values, std::vector<std::uint32_t>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  std::string_view best;
  std::ptrdiff_t most = 0;
  for (auto first = numbers.begin(); first != numbers.end();) {
    const auto end = std::upper_bound(first, numbers.end(), *first);
    const std::string_view text = values.text(*first);
    if (end - first > most || (end - first == most && text < best)) {
      most = end - first;
      best = text;
    }
    first = end;
  }
  return best;
}

}  // namespace

void JoinFriends(const KnownUsers& known, UserBatch& batch) {
  std::vector<std::span<const std::uint32_t>> rows;
  std::vector<std::uint32_t> numbers;
  for (std::size_t user = 0; user < batch.size(); ++user) {
    rows.clear();
    for (const EffectKey key : batch.friends(user)) {
      const auto row = known.Numbers(key);
      if (!row.empty() && key != batch.key(user)) rows.push_back(row);
    }
    if (rows.empty()) continue;
    for (std::size_t g = 0; g < batch.groups(); ++g) {
      if (batch.HasValue(user, g)) continue;
      numbers.clear();
      for (const auto& row : rows) {
        if (row[g] != GroupValues::kNone) numbers.push_back(row[g]);
      }
      if (!numbers.empty()) batch.SetValue(user, g, MostFrequent(known.ValuesOf(g), numbers));
    }
  }
}

}  // namespace bandana::server
