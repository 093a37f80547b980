// Bytes to lines, for the texts of decision logs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/decisions/decision_stream.h"

namespace bandana {

// Hands out lines in the memory of the longest, at most kDecisionLineBytesMax. Not thread-safe.
class LineReader {
 public:
  // Bytes that may be read behind a line.
  explicit LineReader(DecisionBytes bytes, std::size_t padding = 0);

  // The next line without its LF, also one that is empty; it stays until the next call. Nothing of
  // a byte order mark at the front. False: there is none. Errors: those of the bytes.
  absl::StatusOr<bool> Read(std::string_view& text);

  // The next line that is not empty, without LF or CRLF; empty where it was too long. Errors: those
  // of the bytes.
  absl::StatusOr<bool> ReadText(std::string_view& text);

  std::uint64_t number() const { return number_; }  // of the last line, from 1
  bool cut() const { return cut_; }                 // the last line has no end
  bool too_long() const { return too_long_; }       // the last line was, and is empty here

 private:
  absl::Status Fill();

  const DecisionBytes bytes_;
  const std::size_t padding_;
  std::string buffer_;
  std::size_t begin_ = 0;  // of what was not handed out
  std::size_t end_ = 0;    // of what was read; padding follows
  bool ended_ = false;     // no more bytes come
  bool cut_ = false;
  bool too_long_ = false;
  std::uint64_t number_ = 0;
};

}  // namespace bandana
