#include "common/decisions/jsonl_reader.h"

#include <string>
#include <utility>

#include "common/base/status.h"

namespace bandana {
namespace {

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

JsonlReader::JsonlReader(DecisionBytes bytes)
    : reader_(std::move(bytes), JsonLineParser::kPaddingBytes) {}

absl::StatusOr<bool> JsonlReader::ReadLine(absl::Status& status) {
  if (std::exchange(held_, false)) {
    status = std::exchange(held_status_, absl::OkStatus());
    return true;
  }
  std::string_view text;
  BANDANA_ASSIGN_OR_RETURN(const bool found, reader_.ReadText(text));
  if (!found) return false;
  status = reader_.too_long()
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
  const std::uint64_t first = first_ = reader_.number();
  if (!status.ok()) {
    return Fault(first, 1, reader_.cut() ? skip_reason::kCutLine : skip_reason::kMalformed,
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
