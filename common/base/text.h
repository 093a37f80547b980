// Text from outside: how its bytes must be, and its lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bandana {

// A control character of ASCII: below the space, or DEL.
inline bool IsControl(char c) { return (c >= 0 && c < ' ') || c == 0x7F; }

// The text in one line, for people: each byte of a control character, and each that belongs to no
// character of UTF-8, as \xHH (\n, \r and \t as these).
std::string OneLine(std::string_view text);

// The text with each byte that belongs to no character of UTF-8 as \xHH. Messages take no others.
std::string ToUtf8(std::string_view text);

// The text after a byte order mark of UTF-8, if it has one. Errors: INVALID_ARGUMENT it begins with
// the mark of UTF-16 or UTF-32.
absl::StatusOr<std::string_view> WithoutMark(std::string_view text);

// A byte that a text must not have.
struct TextFault {
  std::int64_t line = 1;
  std::int64_t field = 0;  // from 1; 0: no tab of the line separates fields
  std::int64_t byte = 1;   // of the line
  std::string why;
};

// The first one of a text that must be UTF-8 without control characters other than tabs and ends of
// lines, which are \n or \r\n. A byte order mark of UTF-8 at its front is none.
std::optional<TextFault> FindFault(std::string_view text);

// WithoutMark. Errors: INVALID_ARGUMENT the fault, with line, field and byte.
absl::StatusOr<std::string_view> PlainText(std::string_view text);

// ReadFile without a byte order mark, for files that are text. The content is checked no further:
// that is for those who know what it must be. Errors: those of ReadFile; INVALID_ARGUMENT UTF-16 or
// UTF-32.
absl::StatusOr<std::string> ReadTextFile(const std::string& path, std::uint64_t bytes_max);

// Hands out the lines of a text.
class TextLines {
 public:
  // Errors: those of PlainText.
  static absl::StatusOr<TextLines> Of(std::string_view text);

  // The next line, without its end. False: there is none.
  bool Next(std::string_view& line);
  std::uint64_t number() const { return number_; }  // of the last one, from 1

 private:
  explicit TextLines(std::string_view rest) : rest_(rest) {}

  std::string_view rest_;
  std::uint64_t number_ = 0;
};

// The part of `rest` before the separator, all of it where there is none; `rest` is what follows.
std::string_view TakeField(std::string_view& rest, char separator);

}  // namespace bandana
