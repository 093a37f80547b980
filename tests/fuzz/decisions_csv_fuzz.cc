// Tables of decisions: any bytes are rows, decisions or faults, pieces change nothing, and a
// decision that was read is written so that it reads back as it was.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/decisions/csv_reader.h"
#include "common/decisions/obp_reader.h"
#include "common/decisions/obp_rows.h"
#include "tests/support/decision_text.h"

namespace {

using bandana::testing::BytesOf;
using bandana::testing::ReadLog;

ReadLog Read(const std::string& text, std::size_t piece) {
  const auto reader = bandana::ObpReader::Open(BytesOf(text, piece));
  return reader.ok() ? bandana::testing::ReadAll(**reader) : ReadLog();
}

void ReadRows(const std::string& text) {
  bandana::CsvReader reader(BytesOf(text, 3));
  const auto header = reader.ReadHeader();
  if (!header.ok()) return;
  std::vector<std::string> cells;
  bandana::DecisionFault fault;
  for (;;) {
    const auto next = reader.Read(cells, fault);
    BANDANA_CHECK(next.ok());
    if (*next == bandana::CsvReader::Next::kEnd) return;
    if (*next == bandana::CsvReader::Next::kRow) BANDANA_CHECK(cells.size() == header->size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  ReadRows(text);
  const ReadLog whole = Read(text, size + 1);
  const ReadLog pieces = Read(text, 5);
  BANDANA_CHECK(whole.faults == pieces.faults);
  BANDANA_CHECK(whole.decisions.size() == pieces.decisions.size());
  bandana::ObpRows rows;
  std::string written;
  for (const bandana::LoggedDecision& decision : whole.decisions) rows.Append(decision, written);
  rows.End(written);
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
