#include "common/promise/field_checks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace bandana {

FieldChecks FieldChecks::Inside(std::string_view field) const {
  return FieldChecks(errors_, absl::StrCat(prefix_, ToAbsl(field), "."));
}

void FieldChecks::Add(std::string_view field, std::string message) const {
  errors_.push_back({absl::StrCat(prefix_, ToAbsl(field)), std::move(message)});
}

double FieldChecks::Closed(std::string_view field, double value, double min, double max) const {
  if (!(value >= min && value <= max)) {
    Add(field, absl::StrCat("must be in [", min, ", ", max, "], got ", value));
  }
  return value;
}

double FieldChecks::Positive(std::string_view field, double value, double max) const {
  if (!(value > 0 && value <= max)) {
    Add(field, absl::StrCat("must be in (0, ", max, "], got ", value));
  }
  return value;
}

double FieldChecks::OpenUnit(std::string_view field, double value) const {
  if (!(value > 0 && value < 1)) Add(field, absl::StrCat("must be in (0, 1), got ", value));
  return value;
}

std::uint64_t FieldChecks::Count(std::string_view field, std::uint64_t value, std::uint64_t min,
                                 std::uint64_t max) const {
  if (value < min || value > max) {
    Add(field, absl::StrCat("must be in [", min, ", ", max, "], got ", value));
  }
  return value;
}

absl::Duration FieldChecks::Span(std::string_view field, const wire::Duration& value,
                                 absl::Duration min, absl::Duration max) const {
  const auto duration = DurationOf(value);
  if (!duration.ok()) {
    Add(field, std::string(duration.status().message()));
    return min;
  }
  if (*duration < min || *duration > max) {
    Add(field, absl::StrCat("must be in [", absl::FormatDuration(min), ", ",
                            absl::FormatDuration(max), "], got ", absl::FormatDuration(*duration)));
  }
  return *duration;
}

absl::Status ToStatus(const std::vector<ConfigError>& errors) {
  if (errors.empty()) return absl::OkStatus();
  constexpr std::size_t kShownMax = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(errors.size(), kShownMax); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : "; ", errors[i].field, ": ", errors[i].message);
  }
  if (errors.size() > kShownMax) {
    absl::StrAppend(&text, "; and ", errors.size() - kShownMax, " more");
  }
  return absl::InvalidArgumentError(text);
}

}  // namespace bandana
