#include "common/base/text.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/strings/str_format.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/base/utf8.h"

namespace bandana {
namespace {

constexpr std::string_view kMark = "\xEF\xBB\xBF";

unsigned ByteOf(char c) { return static_cast<unsigned char>(c); }

std::string EscapeOf(char c) {
  if (c == '\n') return "\\n";
  if (c == '\r') return "\\r";
  if (c == '\t') return "\\t";
  return absl::StrFormat("\\x%02x", ByteOf(c));
}

// The text with each byte escaped that belongs to no character, or to one that `escaped` names.
template <typename Escaped>
std::string Escape(std::string_view text, Escaped escaped) {
  std::string out;
  while (!text.empty()) {
    const std::size_t bytes = CharacterBytes(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(bytes, 1));
    if (bytes > 0 && !escaped(character)) {
      out.append(character);
    } else {
      for (const char c : character) out.append(EscapeOf(c));
    }
    text.remove_prefix(character.size());
  }
  return out;
}

// Where the first byte stands that a text must not have, or its size.
std::size_t FirstWrong(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c >= ' ' && c != 0x7F) {
      ++at;
    } else if (c < 0) {
      const std::size_t bytes = CharacterBytes(text.substr(at));
      if (bytes == 0) return at;
      at += bytes;
    } else if (c == '\t' || c == '\n') {
      ++at;
    } else if (c == '\r' && (at + 1 == text.size() || text[at + 1] == '\n')) {
      ++at;
    } else {
      return at;
    }
  }
  return at;
}

std::string WhyWrong(char c) {
  if (c < 0)
    return absl::StrFormat("the byte 0x%02x is no UTF-8; save the file as UTF-8", ByteOf(c));
  if (c == 0) return "a byte 0, which no text has; the file must be UTF-8, and not UTF-16";
  if (c == '\r') return "a carriage return inside a line; lines must end in \\n or \\r\\n";
  return absl::StrFormat("the control character 0x%02x", ByteOf(c));
}

TextFault FaultAt(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const std::size_t newline = before.rfind('\n');
  const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  const std::string_view inside = before.substr(begin);
  std::string_view rest = text.substr(begin);
  const bool fields = TakeField(rest, '\n').find('\t') != std::string_view::npos;
  return {.line = 1 + std::count(before.begin(), before.end(), '\n'),
          .field = fields ? 1 + std::count(inside.begin(), inside.end(), '\t') : 0,
          .byte = 1 + static_cast<std::int64_t>(inside.size()),
          .why = WhyWrong(text[at])};
}

}  // namespace

std::string OneLine(std::string_view text) {
  return Escape(text, [](std::string_view character) {
    // U+0080 to U+009F are control characters as well: some terminals obey them.
    const bool high = character.size() == 2 && character[0] == '\xC2' && character[1] < '\xA0';
    return high || IsControl(character[0]);
  });
}

std::string ToUtf8(std::string_view text) {
  return Escape(text, [](std::string_view) { return false; });
}

absl::StatusOr<std::string_view> WithoutMark(std::string_view text) {
  struct Mark {
    std::string_view bytes;
    const char* encoding;
  };
  using namespace std::string_view_literals;
  // The longer ones first: one begins like the mark of UTF-16.
  constexpr std::array kOthers = {Mark{"\xFF\xFE\x00\x00"sv, "UTF-32"},
                                  Mark{"\x00\x00\xFE\xFF"sv, "UTF-32"},
                                  Mark{"\xFF\xFE"sv, "UTF-16"}, Mark{"\xFE\xFF"sv, "UTF-16"}};
  for (const Mark& mark : kOthers) {
    if (!text.starts_with(mark.bytes)) continue;
    return InvalidArgument("the text is ", mark.encoding,
                           " by its byte order mark; save the file as UTF-8");
  }
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

std::optional<TextFault> FindFault(std::string_view text) {
  const absl::StatusOr<std::string_view> rest = WithoutMark(text);
  if (!rest.ok()) return TextFault{.why = std::string(rest.status().message())};
  const std::size_t wrong = FirstWrong(*rest);
  if (wrong == rest->size()) return std::nullopt;
  return FaultAt(*rest, wrong);
}

absl::StatusOr<std::string_view> PlainText(std::string_view text) {
  const std::optional<TextFault> fault = FindFault(text);
  if (!fault) return WithoutMark(text);
  return InvalidArgument("line ", fault->line,
                         fault->field > 0 ? absl::StrCat(", field ", fault->field) : "", ", byte ",
                         fault->byte, ": ", fault->why);
}

absl::StatusOr<std::string> ReadTextFile(const std::string& path, std::uint64_t bytes_max) {
  BANDANA_ASSIGN_OR_RETURN(std::string text, ReadFile(path, bytes_max));
  const absl::StatusOr<std::string_view> rest = WithoutMark(text);
  if (!rest.ok()) return Annotate(rest.status(), path);
  text.erase(0, text.size() - rest->size());
  return text;
}

absl::StatusOr<TextLines> TextLines::Of(std::string_view text) {
  BANDANA_ASSIGN_OR_RETURN(text, PlainText(text));
  return TextLines(text);
}

bool TextLines::Next(std::string_view& line) {
  if (rest_.empty()) return false;
  line = TakeField(rest_, '\n');
  if (line.ends_with('\r')) line.remove_suffix(1);
  ++number_;
  return true;
}

std::string_view TakeField(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view field = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return field;
}

}  // namespace bandana
