// Lines of decision logs: any bytes are decisions or faults, pieces change nothing, and a decision
// that was read is written so that it reads back as it was.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/check.h"
#include "common/decisions/check_decision.h"
#include "common/decisions/jsonl_reader.h"
#include "common/decisions/jsonl_writer.h"

namespace {

using bandana::JsonlReader;

struct Outcome {
  std::vector<bandana::LoggedDecision> decisions;
  std::vector<std::string> faults;
};

Outcome ReadAll(std::string_view text, std::size_t piece) {
  JsonlReader reader([&](char* buffer, std::size_t size) -> absl::StatusOr<std::size_t> {
    const std::size_t count = std::min({piece, size, text.size()});
    std::memcpy(buffer, text.data(), count);
    text.remove_prefix(count);
    return count;
  });
  Outcome outcome;
  bandana::LoggedDecision decision;
  bandana::DecisionFault fault;
  for (;;) {
    const auto next = reader.Read(decision, fault);
    BANDANA_CHECK(next.ok());
    if (*next == JsonlReader::Next::kEnd) return outcome;
    if (*next == JsonlReader::Next::kFault) {
      outcome.faults.push_back(fault.message);
    } else {
      BANDANA_CHECK(!decision.slots.empty());
      (void)bandana::CheckDecision(decision);
      outcome.decisions.push_back(decision);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Outcome whole = ReadAll(text, size + 1);
  const Outcome pieces = ReadAll(text, 5);
  BANDANA_CHECK(whole.faults == pieces.faults);
  BANDANA_CHECK(whole.decisions.size() == pieces.decisions.size());
  std::string written;
  for (const auto& decision : whole.decisions) bandana::AppendJsonLines(decision, written);
  const Outcome again = ReadAll(written, size + 1);
  BANDANA_CHECK(again.faults.empty());
  BANDANA_CHECK(again.decisions.size() == whole.decisions.size());
  for (std::size_t i = 0; i < again.decisions.size(); ++i) {
    BANDANA_CHECK(again.decisions[i].slots == whole.decisions[i].slots);
    BANDANA_CHECK(again.decisions[i].id == whole.decisions[i].id);
    BANDANA_CHECK(again.decisions[i].time == whole.decisions[i].time);
  }
  return 0;
}
