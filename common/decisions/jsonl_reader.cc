#include "common/decisions/jsonl_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/status.h"

namespace bandana {
namespace {

constexpr std::size_t kReadBytes = 1 << 18;

// The decision that the line begins, without slots.
void TakeHead(DecisionLine& line, LoggedDecision& decision) {
  decision.id.swap(line.head.id);
  decision.instance.swap(line.head.instance);
  decision.user.swap(line.head.user);
  decision.context.swap(line.head.context);
  decision.time = line.head.time;
  decision.epoch = line.head.epoch;
  decision.version = line.head.version;
  decision.range = line.head.range;
  decision.named_rank = line.list == 1 ? line.at : 0;
}

}  // namespace

JsonlReader::JsonlReader(DecisionBytes bytes) : bytes_(std::move(bytes)) {}

absl::Status JsonlReader::Fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  // Doubles, so that a long line is moved a few times only.
  const std::size_t room = std::max(kReadBytes, end_);
  if (buffer_.size() < end_ + room + JsonLineParser::kPaddingBytes) {
    buffer_.resize(end_ + room + JsonLineParser::kPaddingBytes);
  }
  BANDANA_ASSIGN_OR_RETURN(
      const std::size_t got,
      bytes_(buffer_.data() + end_, buffer_.size() - end_ - JsonLineParser::kPaddingBytes));
  end_ += got;
  ended_ = got == 0;
  return absl::OkStatus();
}

// The next line without its end, also one that is empty. False: there is none.
absl::StatusOr<bool> JsonlReader::FindLine(std::string_view& text) {
  std::size_t searched = begin_;
  bool too_long = false;
  for (;;) {
    const void* found = std::memchr(buffer_.data() + searched, '\n', end_ - searched);
    if (found != nullptr) {
      const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data());
      text = std::string_view(buffer_).substr(begin_, at - begin_);
      begin_ = at + 1;
      break;
    }
    if (end_ - begin_ > kDecisionLineBytesMax) {
      too_long = true;
      begin_ = end_;  // the rest of the line is passed over
    }
    if (ended_) {
      if (begin_ == end_ && !too_long) return false;
      cut_ = true;
      text = std::string_view(buffer_).substr(begin_, end_ - begin_);
      begin_ = end_;
      break;
    }
    const std::size_t held = end_ - begin_;
    BANDANA_RETURN_IF_ERROR(Fill());
    searched = held;
  }
  if (too_long) text = std::string_view(buffer_).substr(0, kDecisionLineBytesMax + 1);
  ++number_;
  return true;
}

absl::StatusOr<bool> JsonlReader::ReadLine(absl::Status& status) {
  if (std::exchange(held_, false)) {
    status = std::exchange(held_status_, absl::OkStatus());
    return true;
  }
  std::string_view text;
  for (;;) {
    BANDANA_ASSIGN_OR_RETURN(const bool found, FindLine(text));
    if (!found) return false;
    if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
    if (!text.empty()) break;
  }
  status = text.size() > kDecisionLineBytesMax
               ? InvalidArgument("the line must have at most ", kDecisionLineBytesMax, " bytes")
               : parser_.Parse(text, line_);
  return true;
}

JsonlReader::Next JsonlReader::Fault(std::uint64_t first, std::uint64_t lines,
                                     std::string_view reason, std::string_view message,
                                     DecisionFault& fault) {
  fault = {first, lines, reason, absl::StrCat("line ", first, ": ", ToAbsl(message))};
  return Next::kFault;
}

void JsonlReader::TakeSlot(LoggedDecision& decision) {
  const std::size_t at = line_.list == 1 ? 0 : line_.at;
  if (decision.slots.size() <= at) decision.slots.resize(at + 1);
  std::swap(decision.slots[at], line_.slot);
}

absl::StatusOr<JsonlReader::Next> JsonlReader::Read(LoggedDecision& decision,
                                                    DecisionFault& fault) {
  absl::Status status;
  BANDANA_ASSIGN_OR_RETURN(const bool found, ReadLine(status));
  if (!found) return Next::kEnd;
  const std::uint64_t first = number_;
  if (!status.ok()) {
    return Fault(first, 1, cut_ ? skip_reason::kCutLine : skip_reason::kMalformed,
                 ToStd(status.message()), fault);
  }
  const std::uint32_t list = line_.list;
  if (list > 1 && line_.at > 0) {
    return Fault(first, 1, skip_reason::kSlotMissing, "slot: the list's slots before are missing",
                 fault);
  }
  TakeHead(line_, decision);
  TakeSlot(decision);
  for (std::uint32_t slot = 1; slot < list; ++slot) {
    BANDANA_ASSIGN_OR_RETURN(const bool more, ReadLine(status));
    if (!more) {
      return Fault(first, slot, skip_reason::kCutLine, "list: ends with the log", fault);
    }
    if (!status.ok() || line_.head.id != decision.id || line_.at != slot || line_.list != list) {
      held_ = true;
      held_status_ = status;
      return Fault(first, slot, skip_reason::kSlotMissing,
                   absl::StrCat("list: slot ", slot, " of ", list, " is missing"), fault);
    }
    TakeSlot(decision);
  }
  decision.slots.resize(list);
  return Next::kDecision;
}

}  // namespace bandana
