#include "common/decisions/csv_reader.h"

#include <string>
#include <vector>

#include "tests/support/decision_text.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

using Rows = std::vector<std::vector<std::string>>;

struct Outcome {
  Rows rows;
  std::vector<DecisionFault> faults;
};

Outcome ReadAll(const std::string& text, std::size_t piece = 1 << 16) {
  CsvReader reader(BytesOf(text, piece));
  Outcome outcome;
  EXPECT_THAT(reader.ReadHeader(), IsOk());
  std::vector<std::string> cells;
  for (;;) {
    DecisionFault fault;
    const auto next = reader.Read(cells, fault);
    if (!next.ok() || *next == CsvReader::Next::kEnd) return outcome;
    if (*next == CsvReader::Next::kRow) outcome.rows.push_back(cells);
    if (*next == CsvReader::Next::kFault) outcome.faults.push_back(fault);
  }
}

TEST(CsvReader, ReadsQuotesLineEndsAndEmptyCells) {
  const std::string text =
      "\xEF\xBB\xBF"
      "a,b,c\r\n1,,\"x, \"\"y\"\"\"\r\n\r\n\"two\nlines\",2,\n,,\"\"\n";
  for (const std::size_t piece : {1, 2, 3, 1000}) {
    const Outcome outcome = ReadAll(text, piece);
    EXPECT_THAT(outcome.faults, IsEmpty());
    EXPECT_EQ(outcome.rows, (Rows{{"1", "", "x, \"y\""}, {"two\nlines", "2", ""}, {"", "", ""}}));
  }
}

TEST(CsvReader, NamesTheLineOfABadRowAndGoesOn) {
  const Outcome outcome =
      ReadAll("a,b\n1,2,3\n\"x\"y,1\nx\"y,1\n\xFF,1\n\"two\nlines\",4\n1\n5,6\n");
  EXPECT_EQ(outcome.rows, (Rows{{"two\nlines", "4"}, {"5", "6"}}));
  ASSERT_THAT(outcome.faults, SizeIs(5));
  EXPECT_EQ(outcome.faults[0].message, "line 2: must have as many cells as the header, 2, got 3");
  EXPECT_EQ(outcome.faults[1].message, "line 3: cell 1: has a quote out of place");
  EXPECT_EQ(outcome.faults[2].message, "line 4: cell 1: has a quote out of place");
  EXPECT_EQ(outcome.faults[3].message, "line 5: must be UTF-8");
  EXPECT_EQ(outcome.faults[4].message, "line 8: must have as many cells as the header, 2, got 1");
}

TEST(CsvReader, TakesNoLastRowThatMayBeCut) {
  const Outcome outcome = ReadAll("a,b\n1,2\n3,0.012");
  EXPECT_EQ(outcome.rows, (Rows{{"1", "2"}}));
  ASSERT_THAT(outcome.faults, SizeIs(1));
  EXPECT_EQ(outcome.faults[0].reason, skip_reason::kCutLine);
  EXPECT_EQ(ReadAll("a,b\n1,\"2").faults[0].message, "line 2: a quote is not closed");
}

TEST(CsvReader, RefusesHeadersThatNameNoColumn) {
  const auto header = [](const std::string& text) {
    CsvReader reader(BytesOf(text));
    return reader.ReadHeader();
  };
  EXPECT_THAT(header(""), StatusIs(Code::kInvalidArgument, "line 1: a header is missing"));
  EXPECT_THAT(header("a,b,a\n"),
              StatusIs(Code::kInvalidArgument, "line 1: column \"a\" stands twice"));
  std::string wide(10'000, ',');
  wide += '\n';
  EXPECT_THAT(header(wide), StatusIs(Code::kInvalidArgument, "must have at most 10000 cells"));
  EXPECT_THAT(header(",a,\n"), IsOk());  // an index without a name
}

}  // namespace
}  // namespace bandana::testing
