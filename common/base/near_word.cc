#include "common/base/near_word.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"

namespace bandana {
namespace {

constexpr std::size_t kBytesMax = 64;

char Plain(char c) { return c == '-' ? '_' : absl::ascii_tolower(static_cast<unsigned char>(c)); }

}  // namespace

int EditDistance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<int> before(width);  // two rows up, one row up, and the present one
  std::vector<int> above(width);
  std::vector<int> row(width);
  for (std::size_t j = 0; j < width; ++j) above[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j < width; ++j) {
      const int change = Plain(a[i - 1]) == Plain(b[j - 1]) ? 0 : 1;
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + change});
      const bool swapped = i > 1 && j > 1 && Plain(a[i - 1]) == Plain(b[j - 2]) &&
                           Plain(a[i - 2]) == Plain(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

std::string_view NearestWord(std::string_view given, std::span<const std::string_view> words) {
  if (given.size() > kBytesMax) return {};
  std::string_view nearest;
  int least = static_cast<int>(kBytesMax);
  for (const std::string_view word : words) {
    const auto allowed = static_cast<int>(std::min(given.size(), word.size()) / 3);
    const int distance = EditDistance(given, word);
    if (distance > allowed || distance >= least) continue;
    nearest = word;
    least = distance;
  }
  return nearest;
}

std::string DidYouMean(std::string_view given, std::span<const std::string_view> words) {
  const std::string_view word = NearestWord(given, words);
  return word.empty() ? "" : ": did you mean " + std::string(word) + "?";
}

}  // namespace bandana
