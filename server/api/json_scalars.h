// Values of fields as JSON writes them in texts (protobuf's JSON mapping).
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "google/protobuf/duration.pb.h"
#include "google/protobuf/field_mask.pb.h"
#include "google/protobuf/timestamp.pb.h"

namespace bandana::server {

// A whole number in decimals, with a sign or without. Nothing: it is none, or out of range.
template <typename T>
std::optional<T> WholeOf(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// A double that is a whole number in T's range.
template <typename T>
std::optional<T> WholeOf(double value) {
  constexpr double kLowest = static_cast<double>(std::numeric_limits<T>::min());
  constexpr double kHalf = static_cast<double>(std::numeric_limits<T>::max() / 2 + 1);
  if (!(value >= kLowest && value < 2 * kHalf)) return std::nullopt;
  const T whole = static_cast<T>(value);
  if (static_cast<double>(whole) != value) return std::nullopt;
  return whole;
}

// A number as strtod takes it, without spaces around it, or NaN, Infinity, -Infinity. Nothing: it
// is none, or beyond double.
std::optional<double> DoubleOf(std::string_view text);
// Rounded. Nothing: a finite number that rounds beyond float, or, of texts, that is beyond it.
std::optional<float> FloatOf(double value);
std::optional<float> FloatOf(std::string_view text);
// true, t, yes, y and 1 and their opposites, in small or large letters.
std::optional<bool> BoolOf(std::string_view text);
// Base64 in either alphabet, padded or not, without spaces and stray bits.
std::optional<std::string> BytesOf(std::string_view text);

// Seconds with up to nine decimals and an `s` behind. Sets both fields. False: the text is none, or
// beyond 10,000 years.
bool ReadDuration(std::string_view text, google::protobuf::Duration& out);
// With 0, 3, 6 or 9 decimals. Nothing: the two fields have different signs or are out of range.
std::optional<std::string> DurationText(const google::protobuf::Duration& duration);

// RFC 3339, with any offset. False: the text is none, or not in the years 1 to 9999.
bool ReadTimestamp(std::string_view text, google::protobuf::Timestamp& out);
// In UTC, with 0, 3, 6 or 9 decimals. Nothing: it is out of range.
std::optional<std::string> TimestampText(const google::protobuf::Timestamp& time);

// Adds the paths, which commas separate, each in snake case. Empty ones are left out. False: one
// has brackets or quotes, which paths into maps would have.
bool ReadFieldMask(std::string_view text, google::protobuf::FieldMask& out);
// In camel case. Nothing: a path would not read back.
std::optional<std::string> FieldMaskText(const google::protobuf::FieldMask& mask);

}  // namespace bandana::server
