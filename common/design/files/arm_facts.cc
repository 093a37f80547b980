#include "common/design/files/arm_facts.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <system_error>

#include "absl/strings/str_format.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/design/files/group_names.h"

namespace bandana {
namespace {

constexpr std::int64_t kNoStart = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();
// google.protobuf.Timestamp has the years 1 to 9999.
constexpr std::int64_t kSecondsMin = -62'135'596'800;
constexpr std::int64_t kSecondsMax = 253'402'300'799;

absl::Status ParseTime(std::string_view text, std::string_view what, absl::Time& time) {
  if (text.empty()) return absl::OkStatus();
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, ToAbsl(text), &time, &error)) {
    return InvalidArgument(ToAbsl(what), ": must be a time such as 2026-11-01T08:00:00Z: ", error);
  }
  time = absl::FromUnixMillis(absl::ToUnixMillis(time));
  return absl::OkStatus();
}

absl::Status TakeTime(const google::protobuf::Timestamp& given, std::string_view field,
                      absl::Time& time) {
  const bool right = given.seconds() >= kSecondsMin && given.seconds() <= kSecondsMax &&
                     given.nanos() >= 0 && given.nanos() < 1'000'000'000;
  if (!right) return InvalidArgument(ToAbsl(field), ": must be in the years 1 to 9999");
  time = absl::FromUnixMillis(given.seconds() * 1000 + given.nanos() / 1'000'000);
  return absl::OkStatus();
}

void FillTime(absl::Time time, google::protobuf::Timestamp& out) {
  const std::int64_t seconds = absl::ToUnixSeconds(time);
  out.set_seconds(seconds);
  out.set_nanos(static_cast<std::int32_t>((absl::ToUnixMillis(time) - seconds * 1000) * 1'000'000));
}

}  // namespace

absl::Status CheckFacts(const ArmFacts& facts) {
  if (facts.fields.size() > kFieldsPerArmMax) {
    return InvalidArgument("fields: at most ", kFieldsPerArmMax, ", got ", facts.fields.size());
  }
  for (const auto& [name, value] : facts.fields) {
    BANDANA_RETURN_IF_ERROR(Annotate(CheckGroupName(name), "fields"));
    if (!std::isfinite(value)) return InvalidArgument("fields.", name, ": must be finite");
  }
  if (facts.available_from < facts.available_to) return absl::OkStatus();
  return InvalidArgument("available_to: must be after available_from");
}

void EncodeFacts(const ArmFacts& facts, ByteWriter& out) {
  out.U8(static_cast<std::uint8_t>(facts.fields.size()));
  for (const auto& [name, value] : facts.fields) {
    out.Block(name);
    out.F64(value);
  }
  const bool starts = facts.available_from != absl::InfinitePast();
  const bool ends = facts.available_to != absl::InfiniteFuture();
  out.I64(starts ? absl::ToUnixMillis(facts.available_from) : kNoStart);
  out.I64(ends ? absl::ToUnixMillis(facts.available_to) : kNoEnd);
}

ArmFacts DecodeFacts(ByteReader& in) {
  ArmFacts facts;
  const int count = in.U8();
  for (int i = 0; i < count && in.ok(); ++i) {
    const std::string_view name = in.Block();
    facts.fields.emplace(name, in.F64());
  }
  const std::int64_t from = in.I64();
  const std::int64_t to = in.I64();
  if (from != kNoStart) facts.available_from = absl::FromUnixMillis(from);
  if (to != kNoEnd) facts.available_to = absl::FromUnixMillis(to);
  return facts;
}

absl::Status ParseFields(std::string_view text, ArmFacts& facts) {
  if (text == "-") return absl::OkStatus();
  if (text.ends_with(',')) return InvalidArgument("the fields end with a comma");
  do {
    std::string_view number = TakeField(text, ',');
    if (number.find('=') == std::string_view::npos) {
      return InvalidArgument("the sixth field must be `-` or NAME=NUMBER,NAME=NUMBER");
    }
    const std::string_view name = TakeField(number, '=');
    double value = 0;
    const char* const end = number.data() + number.size();
    const auto [parsed, error] = std::from_chars(number.data(), end, value);
    if (error != std::errc() || parsed != end) {
      return InvalidArgument("fields.", ToAbsl(name), ": must be a number");
    }
    if (!facts.fields.emplace(name, value).second) {
      return InvalidArgument("fields.", ToAbsl(name), ": is there twice");
    }
  } while (!text.empty());
  return absl::OkStatus();
}

absl::Status ParseAvailability(std::string_view text, ArmFacts& facts) {
  if (text.find('/') == std::string_view::npos) {
    return InvalidArgument("the seventh field must be FROM/TO, either end may be empty");
  }
  const std::string_view from = TakeField(text, '/');
  BANDANA_RETURN_IF_ERROR(ParseTime(from, "available_from", facts.available_from));
  return ParseTime(text, "available_to", facts.available_to);
}

std::string FieldsText(const ArmFacts& facts) {
  std::string text;
  for (const auto& [name, value] : facts.fields) {
    absl::StrAppendFormat(&text, "%s%s=%.17g", text.empty() ? "" : ",", name, value);
  }
  return text.empty() ? "-" : text;
}

std::string AvailabilityText(const ArmFacts& facts) {
  const bool starts = facts.available_from != absl::InfinitePast();
  const bool ends = facts.available_to != absl::InfiniteFuture();
  if (!starts && !ends) return "";
  const auto text = [](absl::Time time) {
    return absl::FormatTime(absl::RFC3339_full, time, absl::UTCTimeZone());
  };
  return absl::StrCat(starts ? text(facts.available_from) : "", "/",
                      ends ? text(facts.available_to) : "");
}

absl::StatusOr<ArmFacts> FactsOf(const v1::Arm& arm) {
  ArmFacts facts{.fields = {arm.fields().begin(), arm.fields().end()}};
  if (arm.has_available_from()) {
    BANDANA_RETURN_IF_ERROR(TakeTime(arm.available_from(), "available_from", facts.available_from));
  }
  if (arm.has_available_to()) {
    BANDANA_RETURN_IF_ERROR(TakeTime(arm.available_to(), "available_to", facts.available_to));
  }
  return facts;
}

void FillFacts(const ArmFacts& facts, v1::Arm& arm) {
  arm.clear_fields();
  for (const auto& [name, value] : facts.fields) (*arm.mutable_fields())[name] = value;
  arm.clear_available_from();
  arm.clear_available_to();
  if (facts.available_from != absl::InfinitePast()) {
    FillTime(facts.available_from, *arm.mutable_available_from());
  }
  if (facts.available_to != absl::InfiniteFuture()) {
    FillTime(facts.available_to, *arm.mutable_available_to());
  }
}

}  // namespace bandana
