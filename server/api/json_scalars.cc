#include "server/api/json_scalars.h"

#include <google/protobuf/util/field_mask_util.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr std::int64_t kSecondsMax = 315'576'000'000;
constexpr std::int32_t kNanosPerSecond = 1'000'000'000;

std::string_view WithoutSpaces(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// The decimals behind the point of a second.
std::optional<std::int32_t> NanosOf(std::string_view decimals) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!std::ranges::all_of(decimals, is_digit)) return std::nullopt;
  if (decimals.find_first_not_of('0') == std::string_view::npos) return 0;
  if (decimals.size() > 9) return std::nullopt;
  std::int32_t nanos = 0;
  for (std::size_t i = 0; i < 9; ++i) {
    nanos = 10 * nanos + (i < decimals.size() ? decimals[i] - '0' : 0);
  }
  return nanos;
}

// rewardMax: reward_max, and each run of capitals one word, as protobuf does it.
std::string SnakeCase(std::string_view name) {
  std::string snake;
  bool joins = false;        // an underscore may come
  bool after_small = false;  // the last character is no capital
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool is_capital = absl::ascii_isupper(static_cast<unsigned char>(c));
    if (is_capital) {
      const bool before_small =
          i + 1 < name.size() && absl::ascii_islower(static_cast<unsigned char>(name[i + 1]));
      if (joins && (after_small || before_small)) snake += '_';
      snake += absl::ascii_tolower(static_cast<unsigned char>(c));
    } else {
      snake += c;
    }
    joins = is_capital || (c != '_' && c != '.');
    after_small = !is_capital;
  }
  return snake;
}

}  // namespace

std::optional<double> DoubleOf(std::string_view text) {
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (text.empty() || text.front() == ' ' || text.back() == ' ') return std::nullopt;
  const std::string ended(text);
  char* end = nullptr;
  const double value = std::strtod(ended.c_str(), &end);
  if (end == ended.c_str() || !std::isfinite(value)) return std::nullopt;
  while (absl::ascii_isspace(static_cast<unsigned char>(*end))) ++end;
  if (*end != '\0') return std::nullopt;
  return value;
}

std::optional<float> FloatOf(double value) {
  const auto rounded = static_cast<float>(value);
  if (std::isinf(rounded) && std::isfinite(value)) return std::nullopt;
  return rounded;
}

std::optional<float> FloatOf(std::string_view text) {
  const std::optional<double> value = DoubleOf(text);
  const bool fits = value && !(std::isfinite(*value) &&
                               std::abs(*value) > double{std::numeric_limits<float>::max()});
  return fits ? FloatOf(*value) : std::nullopt;
}

std::optional<bool> BoolOf(std::string_view text) {
  static constexpr std::array<std::string_view, 5> kTrue = {"true", "t", "yes", "y", "1"};
  static constexpr std::array<std::string_view, 5> kFalse = {"false", "f", "no", "n", "0"};
  const auto is_text = [&](std::string_view word) {
    return absl::EqualsIgnoreCase(ToAbsl(word), ToAbsl(text));
  };
  if (std::ranges::any_of(kTrue, is_text)) return true;
  if (std::ranges::any_of(kFalse, is_text)) return false;
  return std::nullopt;
}

std::optional<std::string> BytesOf(std::string_view text) {
  const std::size_t end = text.find_last_not_of('=') + 1;
  const std::size_t padding = text.size() - end;
  if (padding > 0 && (padding > 2 || text.size() % 4 != 0)) return std::nullopt;
  std::string plain(text.substr(0, end));
  const bool has_first = plain.find_first_of("+/") != std::string::npos;
  if (has_first && plain.find_first_of("-_") != std::string::npos) return std::nullopt;
  std::ranges::replace(plain, '+', '-');
  std::ranges::replace(plain, '/', '_');
  std::string bytes;
  if (!absl::WebSafeBase64Unescape(plain, &bytes)) return std::nullopt;
  if (absl::WebSafeBase64Escape(bytes) != plain) return std::nullopt;
  return bytes;
}

bool ReadDuration(std::string_view text, google::protobuf::Duration& out) {
  if (!text.ends_with('s')) return false;
  text.remove_suffix(1);
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const std::size_t point = std::min(text.rfind('.'), text.size());
  const std::string_view decimals = text.substr(std::min(point + 1, text.size()));
  const auto seconds = WholeOf<std::uint64_t>(WithoutSpaces(text.substr(0, point)));
  const std::optional<std::int32_t> nanos = NanosOf(decimals);
  if (!seconds || !nanos || *seconds > std::uint64_t{kSecondsMax}) return false;
  const int sign = negative ? -1 : 1;
  out.set_seconds(sign * static_cast<std::int64_t>(*seconds));
  out.set_nanos(sign * *nanos);
  return true;
}

std::optional<std::string> DurationText(const google::protobuf::Duration& duration) {
  const std::int64_t seconds = duration.seconds();
  const std::int32_t nanos = duration.nanos();
  if (nanos >= kNanosPerSecond || nanos <= -kNanosPerSecond || seconds > kSecondsMax ||
      seconds < -kSecondsMax || (seconds < 0 && nanos > 0) || (seconds > 0 && nanos < 0)) {
    return std::nullopt;
  }
  std::string text = absl::StrFormat("%s%d", seconds < 0 || nanos < 0 ? "-" : "",
                                     seconds < 0 ? -seconds : seconds);
  if (nanos != 0) {
    std::string decimals = absl::StrFormat(".%09d", std::abs(nanos));
    while (decimals.ends_with("000")) decimals.resize(decimals.size() - 3);
    text += decimals;
  }
  return text + "s";
}

bool ReadTimestamp(std::string_view text, google::protobuf::Timestamp& out) {
  return google::protobuf::util::TimeUtil::FromString(std::string(text), &out);
}

std::optional<std::string> TimestampText(const google::protobuf::Timestamp& time) {
  using google::protobuf::util::TimeUtil;
  if (time.seconds() < TimeUtil::kTimestampMinSeconds ||
      time.seconds() > TimeUtil::kTimestampMaxSeconds || time.nanos() < 0 ||
      time.nanos() >= kNanosPerSecond) {
    return std::nullopt;
  }
  return TimeUtil::ToString(time);
}

bool ReadFieldMask(std::string_view text, google::protobuf::FieldMask& out) {
  if (text.find_first_of("()[]\"") != std::string_view::npos) return false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view path = text.substr(0, end);
    if (!path.empty()) out.add_paths(SnakeCase(path));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

std::optional<std::string> FieldMaskText(const google::protobuf::FieldMask& mask) {
  std::string text;
  if (!google::protobuf::util::FieldMaskUtil::ToJsonString(mask, &text)) return std::nullopt;
  google::protobuf::FieldMask again;
  if (!ReadFieldMask(text, again) || !std::ranges::equal(again.paths(), mask.paths())) {
    return std::nullopt;
  }
  return text;
}

}  // namespace bandana::server
