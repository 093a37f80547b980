// Lines of decision logs: any bytes are decisions or faults, pieces change nothing, and a decision
// that was read is written so that it reads back as it was.
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/check.h"
#include "common/decisions/check_decision.h"
#include "common/decisions/jsonl_reader.h"
#include "common/decisions/jsonl_writer.h"
#include "tests/support/decision_text.h"

namespace {

using bandana::testing::BytesOf;
using bandana::testing::ReadLog;

ReadLog Read(const std::string& text, std::size_t piece) {
  bandana::JsonlReader reader(BytesOf(text, piece));
  return bandana::testing::ReadAll(reader);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const ReadLog whole = Read(text, size + 1);
  const ReadLog pieces = Read(text, 5);
  BANDANA_CHECK(whole.faults == pieces.faults);
  BANDANA_CHECK(whole.decisions.size() == pieces.decisions.size());
  std::string written;
  for (const auto& decision : whole.decisions) {
    BANDANA_CHECK(!decision.slots.empty());
    (void)bandana::CheckDecision(decision);
    bandana::AppendJsonLines(decision, written);
  }
  const ReadLog again = Read(written, size + 1);
  BANDANA_CHECK(again.faults.empty());
  BANDANA_CHECK(again.decisions.size() == whole.decisions.size());
  for (std::size_t i = 0; i < again.decisions.size(); ++i) {
    BANDANA_CHECK(again.decisions[i].slots == whole.decisions[i].slots);
    BANDANA_CHECK(again.decisions[i].id == whole.decisions[i].id);
    BANDANA_CHECK(again.decisions[i].time == whole.decisions[i].time);
  }
  return 0;
}
