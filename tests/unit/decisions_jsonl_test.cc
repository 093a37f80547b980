#include <string>

#include "common/decisions/jsonl_reader.h"
#include "common/decisions/jsonl_writer.h"
#include "tests/support/decision_text.h"
#include "tests/support/logged_decisions.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

constexpr char kLine[] =
    R"({"v":1,"decision":"d1","slot":0,"time":"2026-11-27T03:04:05.25Z","epoch":2,"version":7,)"
    R"("offered":2,"arms":[4,9],"p":[0.25,0.75],"chosen":1,"reward":0.5})";

ReadLog ReadLines(const std::string& text, std::size_t piece = 1 << 16) {
  JsonlReader reader(BytesOf(text, piece));
  return ReadAll(reader);
}

// kLine with `from` replaced.
std::string Changed(const std::string& from, const std::string& to) {
  std::string line = kLine;
  line.replace(line.find(from), from.size(), to);
  return line + "\n";
}

std::string MessageOf(const std::string& text) {
  const ReadLog outcome = ReadLines(text);
  return outcome.faults.empty() ? "" : outcome.faults[0].message;
}

TEST(DecisionsJsonl, ReadsWhatItWrote) {
  const LoggedDecision wrote = FullDecision();
  std::string text;
  AppendJsonLines(wrote, text);
  const ReadLog outcome = ReadLines(text);
  ASSERT_THAT(outcome.faults, IsEmpty());
  ASSERT_THAT(outcome.decisions, SizeIs(1));
  ExpectEqual(outcome.decisions[0], wrote);
}

TEST(DecisionsJsonl, WritesTheContract) {
  std::string text;
  AppendJsonLines(PlainDecision(), text);
  EXPECT_EQ(text, std::string(kLine) + "\n");
}

TEST(DecisionsJsonl, TakesThePropensityOfTheChosenArmAlone) {
  const ReadLog outcome = ReadLines(Changed("\"p\":[0.25,0.75]", "\"p\":0.75"));
  ASSERT_THAT(outcome.decisions, SizeIs(1));
  EXPECT_THAT(outcome.decisions[0].slots[0].p, IsEmpty());
  EXPECT_EQ(outcome.decisions[0].slots[0].chosen_p, 0.75);
  EXPECT_FALSE(outcome.decisions[0].slots[0].whole_law());
}

TEST(DecisionsJsonl, KeepsNothingOfTheLineBefore) {
  std::string text;
  AppendJsonLines(FullDecision(), text);
  const ReadLog outcome = ReadLines(text + kLine + "\n" + Changed("[0.25,0.75]", "0.75"));
  ASSERT_THAT(outcome.decisions, SizeIs(3));
  const LoggedDecision& plain = outcome.decisions[1];
  EXPECT_EQ(plain.slots, ReadLines(std::string(kLine) + "\n").decisions[0].slots);
  EXPECT_EQ(plain.context + plain.user + plain.instance, "");
  EXPECT_EQ(plain.range.min, 0);
  EXPECT_THAT(outcome.decisions[2].slots[0].p, IsEmpty());
}

TEST(DecisionsJsonl, TellsRewardsThatAreOpenFromThoseThatNeverCome) {
  EXPECT_EQ(ReadLines(Changed("0.5}", "null}")).decisions[0].slots[0].state, RewardState::kPending);
  EXPECT_EQ(ReadLines(Changed("0.5}", "\"unreported\"}")).decisions[0].slots[0].state,
            RewardState::kUnreported);
}

TEST(DecisionsJsonl, ReadsPiecesOfAnySize) {
  std::string text;
  AppendJsonLines(FullDecision(), text);
  text += std::string(kLine) + "\r\n\n" + kLine;
  for (const std::size_t piece : {1, 2, 7, 64}) {
    const ReadLog outcome = ReadLines(text, piece);
    EXPECT_THAT(outcome.faults, IsEmpty());
    EXPECT_THAT(outcome.decisions, SizeIs(3)) << piece;
  }
}

TEST(DecisionsJsonl, NamesLineFieldAndConstraint) {
  struct Case {
    std::string from, to, message;
  };
  const Case cases[] = {
      {"\"v\":1", "\"v\":2", "line 1: v: must be 1: this program reads no later version"},
      {"\"decision\":\"d1\",", "", "line 1: decision: is missing"},
      {"\"decision\":\"d1\"", "\"decision\":\"\"", "line 1: decision: must be a text of 1 to 128 "},
      {"\"slot\":0", "\"slot\":-1", "line 1: slot: must be a whole number in [0, 99]"},
      {"2026-11-27", "2026-02-30", "line 1: time: must be an RFC 3339 time"},
      {"[4,9]", "[4,\"a\"]", "line 1: arms: must be a list of ids below 2^32"},
      {"[4,9]", "[4294967296,9]", "line 1: arms: must be a list of ids below 2^32"},
      {"[4,9]", "[]", "line 1: arms: must be at least one arm"},
      {"[4,9]", "[4,9,1]", "line 1: p: must have one entry per arm, 3, got 2"},
      {"\"offered\":2", "\"offered\":1", "line 1: offered: must be at least 1 and the number of "},
      {"0.25,", "NaN,", "line 1: p: must be a finite number"},
      {"0.25,", "1e999,", "line 1: p: must be a finite number"},
      {"\"chosen\":1", "\"chosen\":2", "line 1: chosen: must be a position below 2, got 2"},
      {"\"chosen\":1,", "", "line 1: chosen: is missing"},
      {"0.5}", "\"none\"}", "line 1: reward: must be a finite number, null or \"unreported\""},
      {"0.5}", "nul}", "line 1: reward: must be a finite number, null or \"unreported\""},
      {"0.5}", "0.5,\"q\":[1]}", "line 1: q: must have one entry per arm, 2, got 1"},
      {"0.5}", "0.5,\"x\":[[1],[1,2]]}", "line 1: x: must be lists of one length"},
      {"0.5}", "0.5,\"released\":{\"epsilon\":1}}", "line 1: released: must be {epsilon > 0, low"},
      {"0.5}", "0.5,\"range\":[1,1]}", "line 1: range: must be [min, max], min < max"},
      {"0.5}", "0.5,\"context\":[1]}", "line 1: context: must be an object"},
      {"0.5}", "0.5,\"list\":0}", "line 1: list: must be a whole number in [1, 100]"},
      {"0.5}", "0.5}}", "line 1: the line goes on behind its JSON object"},
      {"0.5}", "0.5", "line 1: "},
      {"{", "[", "line 1: the line is not a JSON object"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(MessageOf(Changed(c.from, c.to)), StartsWith(c.message)) << c.to;
  }
}

TEST(DecisionsJsonl, GoesOnBehindABadLine) {
  const ReadLog outcome = ReadLines("nonsense\n" + std::string(kLine) + "\n");
  ASSERT_THAT(outcome.faults, SizeIs(1));
  EXPECT_EQ(outcome.faults[0].reason, skip_reason::kMalformed);
  EXPECT_THAT(outcome.decisions, SizeIs(1));
}

TEST(DecisionsJsonl, CountsACutLastLineAsSuch) {
  const std::string line = kLine;
  const ReadLog outcome = ReadLines(line + "\n" + line.substr(0, 60));
  EXPECT_THAT(outcome.decisions, SizeIs(1));
  ASSERT_THAT(outcome.faults, SizeIs(1));
  EXPECT_EQ(outcome.faults[0].reason, skip_reason::kCutLine);
  EXPECT_EQ(outcome.faults[0].line, 2);
}

TEST(DecisionsJsonl, PassesOverAListWithoutOneOfItsSlots) {
  std::string text;
  AppendJsonLines(FullDecision(), text);
  const std::size_t end = text.find('\n') + 1;
  const std::string first = text.substr(0, end), second = text.substr(end);
  const std::string plain = std::string(kLine) + "\n";

  ReadLog outcome = ReadLines(first + plain + second + plain);
  EXPECT_THAT(outcome.decisions, SizeIs(2));
  ASSERT_THAT(outcome.faults, SizeIs(2));
  EXPECT_EQ(outcome.faults[0].message, "line 1: list: slot 1 of 2 is missing");
  EXPECT_EQ(outcome.faults[1].message, "line 3: slot: the list's slots before are missing");
  EXPECT_EQ(outcome.faults[1].reason, skip_reason::kSlotMissing);

  outcome = ReadLines(plain + first);
  ASSERT_THAT(outcome.faults, SizeIs(1));
  EXPECT_EQ(outcome.faults[0].reason, skip_reason::kCutLine);
}

TEST(DecisionsJsonl, TellsARankThatWasNamedWithTheReport) {
  const ReadLog outcome = ReadLines(Changed("\"slot\":0", "\"slot\":2"));
  ASSERT_THAT(outcome.decisions, SizeIs(1));
  EXPECT_EQ(outcome.decisions[0].named_rank, 2);
}

TEST(DecisionsJsonl, PassesOverALineWithoutEnd) {
  const std::string long_line(kDecisionLineBytesMax + 100'000, 'x');
  const ReadLog outcome = ReadLines(long_line + "\n" + kLine + "\n");
  EXPECT_THAT(outcome.decisions, SizeIs(1));
  ASSERT_THAT(outcome.faults, SizeIs(1));
  EXPECT_EQ(outcome.faults[0].message, "line 1: the line must have at most 16777216 bytes");
}

TEST(DecisionsJsonl, SkipsMembersOfLaterVersions) {
  EXPECT_THAT(ReadLines(Changed("0.5}", "0.5,\"later\":{\"a\":[1]}}")).decisions, SizeIs(1));
}

}  // namespace
}  // namespace bandana::testing
