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

absl::Duration FieldChecks::Span(std::string_view field, const google::protobuf::Duration& value,
                                 absl::Duration min, absl::Duration max) const {
  const auto duration = DurationFromProto(value);
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

absl::StatusOr<absl::Duration> DurationFromProto(const google::protobuf::Duration& duration) {
  constexpr std::int64_t kSecondsMax = 315'576'000'000;  // google/protobuf/duration.proto
  const std::int64_t seconds = duration.seconds();
  const std::int32_t nanos = duration.nanos();
  if (seconds < -kSecondsMax || seconds > kSecondsMax || nanos <= -1'000'000'000 ||
      nanos >= 1'000'000'000 || (seconds > 0 && nanos < 0) || (seconds < 0 && nanos > 0)) {
    return InvalidArgument("is not a valid duration: ", seconds, " seconds and ", nanos, " nanos");
  }
  return absl::Seconds(seconds) + absl::Nanoseconds(nanos);
}

google::protobuf::Duration DurationToProto(absl::Duration duration) {
  absl::Duration rest;
  google::protobuf::Duration proto;
  proto.set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &rest));
  proto.set_nanos(static_cast<std::int32_t>(absl::ToInt64Nanoseconds(rest)));
  return proto;
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
