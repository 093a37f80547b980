// The files of a decision log's folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/decisions/segment.h"

namespace bandana::server {

inline constexpr std::string_view kDecisionFolder = "decisions";  // in a model's folder
// Pseudonyms whose lines are being erased, 16 bytes each: there while lines of them may be left.
inline constexpr std::string_view kErasingName = "erasing";
inline constexpr std::string_view kCountsName = "counts";

// Decisions and users of one number belong together; rewards have numbers of their own.
std::string SegmentPath(std::string_view folder, SegmentKind kind, std::uint64_t number);

// The number of a file of this kind, by its name; nothing for other files.
std::optional<std::uint64_t> SegmentNumber(std::string_view name, SegmentKind kind);

// The numbers of the folder's segments of a kind, ascending; none where there is no folder. Errors:
// UNAVAILABLE I/O.
absl::StatusOr<std::vector<std::uint64_t>> ListSegments(const std::string& folder,
                                                        SegmentKind kind);

}  // namespace bandana::server
