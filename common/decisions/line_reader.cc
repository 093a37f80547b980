#include "common/decisions/line_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/status.h"

namespace bandana {
namespace {

constexpr std::size_t kReadBytes = 1 << 18;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

LineReader::LineReader(DecisionBytes bytes, std::size_t padding)
    : bytes_(std::move(bytes)), padding_(padding) {}

absl::Status LineReader::Fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  // Doubles, so that a long line is moved a few times only.
  const std::size_t room = std::max(kReadBytes, end_);
  if (buffer_.size() < end_ + room + padding_) buffer_.resize(end_ + room + padding_);
  BANDANA_ASSIGN_OR_RETURN(const std::size_t got,
                           bytes_(buffer_.data() + end_, buffer_.size() - end_ - padding_));
  end_ += got;
  ended_ = got == 0;
  return absl::OkStatus();
}

absl::StatusOr<bool> LineReader::Read(std::string_view& text) {
  std::size_t searched = begin_;
  too_long_ = false;
  for (;;) {
    const void* found = std::memchr(buffer_.data() + searched, '\n', end_ - searched);
    if (found != nullptr) {
      const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data());
      text = std::string_view(buffer_).substr(begin_, at - begin_);
      begin_ = at + 1;
      break;
    }
    if (end_ - begin_ > kDecisionLineBytesMax) {
      too_long_ = true;
      begin_ = end_;  // the rest of the line is passed over
    }
    if (ended_) {
      if (begin_ == end_ && !too_long_) return false;
      cut_ = true;
      text = std::string_view(buffer_).substr(begin_, end_ - begin_);
      begin_ = end_;
      break;
    }
    const std::size_t held = end_ - begin_;
    BANDANA_RETURN_IF_ERROR(Fill());
    searched = held;
  }
  too_long_ = too_long_ || text.size() > kDecisionLineBytesMax;
  if (too_long_) text = {};
  if (++number_ == 1 && text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  return true;
}

absl::StatusOr<bool> LineReader::ReadText(std::string_view& text) {
  do {
    BANDANA_ASSIGN_OR_RETURN(const bool found, Read(text));
    if (!found) return false;
    if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  } while (text.empty() && !too_long_);
  return true;
}

}  // namespace bandana
