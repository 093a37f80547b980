// Lines of DSJSON: any bytes are decisions or faults, pieces change nothing, and a decision that
// was read is written so that it reads back as it was.
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/check.h"
#include "common/decisions/check_decision.h"
#include "common/decisions/dsjson_reader.h"
#include "common/decisions/dsjson_writer.h"
#include "tests/support/decision_text.h"

namespace {

using bandana::testing::BytesOf;
using bandana::testing::ReadLog;

ReadLog Read(const std::string& text, std::size_t piece) {
  bandana::DsjsonReader reader(BytesOf(text, piece), {});
  return bandana::testing::ReadAll(reader);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const ReadLog whole = Read(text, size + 1);
  const ReadLog pieces = Read(text, 5);
  BANDANA_CHECK(whole.faults == pieces.faults);
  BANDANA_CHECK(whole.decisions.size() == pieces.decisions.size());
  for (const bandana::LoggedDecision& decision : whole.decisions) {
    BANDANA_CHECK(!decision.slots.empty());
    if (bandana::CheckDecision(decision)) continue;
    std::string written;
    bandana::AppendDsjsonLine(decision, written);
    const ReadLog again = Read(written, size + 1);
    BANDANA_CHECK(again.decisions.size() == 1);
    const bandana::LoggedDecision& read = again.decisions[0];
    BANDANA_CHECK(read.id == decision.id);
    BANDANA_CHECK(read.time == decision.time);
    BANDANA_CHECK(read.slots.size() == decision.slots.size());
    for (std::size_t at = 0; at < read.slots.size(); ++at) {
      BANDANA_CHECK(read.slots[at].chosen_p == decision.slots[at].chosen_p);
      BANDANA_CHECK(read.slots[at].reward == decision.slots[at].reward);
      BANDANA_CHECK(read.slots[at].released == decision.slots[at].released);
    }
  }
  return 0;
}
