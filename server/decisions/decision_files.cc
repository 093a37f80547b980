#include "server/decisions/decision_files.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr std::size_t kDigits = 16;

std::string_view SuffixOf(SegmentKind kind) {
  switch (kind) {
    case SegmentKind::kDecisions:
      return ".decisions";
    case SegmentKind::kUsers:
      return ".users";
    case SegmentKind::kRewards:
      break;
  }
  return ".rewards";
}

}  // namespace

std::string SegmentPath(std::string_view folder, SegmentKind kind, std::uint64_t number) {
  return absl::StrCat(ToAbsl(folder), "/", absl::StrFormat("%016x", number),
                      ToAbsl(SuffixOf(kind)));
}

std::optional<std::uint64_t> SegmentNumber(std::string_view name, SegmentKind kind) {
  if (name.size() < kDigits || name.substr(kDigits) != SuffixOf(kind)) return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + kDigits, number, 16);
  if (error != std::errc() || end != name.data() + kDigits) return std::nullopt;
  return number;
}

absl::StatusOr<std::vector<std::uint64_t>> ListSegments(const std::string& folder,
                                                        SegmentKind kind) {
  std::vector<std::uint64_t> numbers;
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  if (error == std::errc::no_such_file_or_directory) return numbers;
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (const auto number = SegmentNumber(name, kind)) numbers.push_back(*number);
  }
  if (error) return Unavailable(folder, ": ", error.message());
  std::ranges::sort(numbers);
  return numbers;
}

}  // namespace bandana::server
