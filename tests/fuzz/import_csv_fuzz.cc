// Tables of other programs: any bytes are decisions or faults, and a decision that can be judged is
// written as a line of JSON that reads back as it was.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "common/base/check.h"
#include "common/decisions/check_decision.h"
#include "common/decisions/jsonl_reader.h"
#include "common/decisions/jsonl_writer.h"
#include "tests/support/decision_text.h"
#include "tools/import/csv_decisions.h"

namespace {

using bandana::DecisionStream;
using bandana::testing::BytesOf;

void CheckReadsBack(const bandana::LoggedDecision& decision) {
  std::string line;
  bandana::AppendJsonLines(decision, line);
  bandana::JsonlReader reader(BytesOf(line));
  bandana::LoggedDecision read;
  bandana::DecisionFault fault;
  const auto next = reader.Read(read, fault);
  BANDANA_CHECK(next.ok());
  BANDANA_CHECK(*next == DecisionStream::Next::kDecision);
  BANDANA_CHECK(read.slots == decision.slots);
  BANDANA_CHECK(read.id == decision.id);
  BANDANA_CHECK(read.user == decision.user);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto arms = bandana::ReadCsvArms(BytesOf(text, 7), "a");
  if (!arms.ok()) return 0;
  for (const bandana::ImportedLaw law :
       {bandana::ImportedLaw::kLogged, bandana::ImportedLaw::kUniform}) {
    bandana::CsvOptions options{.law = law};
    options.columns = {.arm = "a", .reward = "r", .decision = "d", .slot = "s", .time = "t"};
    options.columns.context = {"*"};
    if (law == bandana::ImportedLaw::kLogged) options.columns.propensity = "p";
    const auto source = bandana::CsvDecisions::Open(BytesOf(text, 5), options, *arms);
    if (!source.ok()) continue;
    bandana::LoggedDecision decision;
    bandana::DecisionFault fault;
    for (;;) {
      const auto next = (*source)->Read(decision, fault);
      BANDANA_CHECK(next.ok());
      if (*next == DecisionStream::Next::kEnd) break;
      if (*next == DecisionStream::Next::kFault) continue;
      BANDANA_CHECK(!decision.slots.empty());
      if (!bandana::CheckDecision(decision)) CheckReadsBack(decision);
    }
  }
  return 0;
}
