// Lines of DSJSON: any bytes are decisions or faults, pieces change nothing, and a decision that
// was read is written so that it reads back as it was.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/decisions/check_decision.h"
#include "common/decisions/dsjson_reader.h"
#include "common/decisions/dsjson_writer.h"
#include "tests/support/decision_text.h"

namespace {

struct Outcome {
  std::vector<bandana::LoggedDecision> decisions;
  std::vector<std::string> faults;
};

Outcome ReadAll(const std::string& text, std::size_t piece) {
  bandana::DsjsonReader reader(bandana::testing::BytesOf(text, piece), {});
  Outcome outcome;
  bandana::LoggedDecision decision;
  bandana::DecisionFault fault;
  for (;;) {
    const auto next = reader.Read(decision, fault);
    BANDANA_CHECK(next.ok());
    if (*next == bandana::DecisionStream::Next::kEnd) return outcome;
    if (*next == bandana::DecisionStream::Next::kFault) {
      outcome.faults.push_back(fault.message);
    } else {
      BANDANA_CHECK(!decision.slots.empty());
      outcome.decisions.push_back(decision);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Outcome whole = ReadAll(text, size + 1);
  const Outcome pieces = ReadAll(text, 5);
  BANDANA_CHECK(whole.faults == pieces.faults);
  BANDANA_CHECK(whole.decisions.size() == pieces.decisions.size());
  for (const bandana::LoggedDecision& decision : whole.decisions) {
    if (bandana::CheckDecision(decision)) continue;
    std::string written;
    bandana::AppendDsjsonLine(decision, written);
    const Outcome again = ReadAll(written, size + 1);
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
