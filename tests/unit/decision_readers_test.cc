// Logs in the formats of others, read.
#include <memory>
#include <string>
#include <vector>

#include "common/decisions/dsjson_reader.h"
#include "common/decisions/dsjson_writer.h"
#include "common/decisions/obp_reader.h"
#include "common/decisions/obp_rows.h"
#include "tests/support/decision_text.h"
#include "tests/support/logged_decisions.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

ReadLog ReadTable(const std::string& text, std::size_t piece = 1 << 16) {
  const auto reader = ObpReader::Open(BytesOf(text, piece));
  EXPECT_THAT(reader, IsOk());
  return reader.ok() ? ReadAll(**reader) : ReadLog();
}

TEST(ObpReader, ReadsWhatObpRowsWrote) {
  LoggedDecision named = PlainDecision();
  named.named_rank = 3;
  named.slots[0].state = RewardState::kPending;
  named.slots[0].reward = 0;
  named.user = "a\r\nb\r";
  const std::vector<LoggedDecision> wrote = {PlainDecision(), FullDecision(), named};
  ObpRows rows;
  std::string text;
  for (const LoggedDecision& decision : wrote) rows.Append(decision, text);
  for (const std::size_t piece : {1, 7, 1 << 16}) {
    const ReadLog outcome = ReadTable(text, piece);
    EXPECT_THAT(outcome.faults, IsEmpty());
    ASSERT_THAT(outcome.decisions, SizeIs(3));
    for (std::size_t i = 0; i < 3; ++i) ExpectEqual(outcome.decisions[i], wrote[i]);
  }
}

TEST(ObpReader, NamesTheLinesOfTheTable) {
  ObpRows rows;
  std::string text;
  rows.Append(FullDecision(), text);  // lines 2 to 5: the user has a line end
  text += "short\n";
  rows.Append(PlainDecision(), text);
  text.replace(text.rfind("d1"), 2, "");
  const ReadLog outcome = ReadTable(text);
  EXPECT_THAT(outcome.decisions, SizeIs(1));
  ASSERT_THAT(outcome.faults, SizeIs(2));
  EXPECT_EQ(outcome.faults[0].message, "line 7: decision: is missing");
  EXPECT_THAT(outcome.faults[1].message, StartsWith("line 6: must have as many cells"));
}

TEST(ObpReader, RefusesTablesOfOtherPrograms) {
  EXPECT_THAT(
      ObpReader::Open(BytesOf(",timestamp,item_id,position,click,propensity_score\n")),
      StatusIs(Code::kInvalidArgument, "line 1: must have the columns timestamp, decision"));
}

// Lines as Personalizer and VW write them; 32-bit floats.
constexpr char kBandit[] =
    R"({"_label_cost":-1.0,"_label_probability":0.8166667,"_label_Action":2,"_labelIndex":1,)"
    R"("o":[{"v":1.0,"EventId":"e1","ActionTaken":false}],"Timestamp":"2019-08-13T20:40:28.788Z",)"
    R"("Version":"1","EventId":"e1","a":[2,1,3],"c":{"User":{"age":3},"_synthetic":false,)"
    R"("_multi":[{"_tag":"news","i":{"id":1}},{"T":{"topic":"a\"b"}},{"_tag":"art"}]},)"
    R"("p":[0.8166667,0.1,0.0833333],"VWState":{"m":"x"}})";
constexpr char kList[] =
    R"({"Timestamp":"2019-09-10T14:43:37Z","Version":"1","c":{"U":{"id":"mk"},)"
    R"("_multi":[{"_tag":"a"},{"_tag":"b"},{"_tag":"c"}],"_slots":[{"_id":"s0"},{"_id":"s1"}]},)"
    R"("_outcomes":[{"_label_cost":0.0,"_id":"s0","_a":[1,0,2],"_p":[0.5,0.25,0.25]},)"
    R"({"_label_cost":-1,"_id":"s1","_a":[2,0],"_p":[0.75,0.25]}],"VWState":{"m":"N/A"}})";

ReadLog ReadDsjson(const std::string& text, DsjsonOptions options = {}) {
  DsjsonReader reader(BytesOf(text, 100), options);
  return ReadAll(reader);
}

std::string Changed(std::string line, const std::string& from, const std::string& to) {
  line.replace(line.find(from), from.size(), to);
  return line + "\n";
}

TEST(DsjsonReader, ReadsContextualBandits) {
  const ReadLog outcome = ReadDsjson(std::string(kBandit) + "\n");
  EXPECT_THAT(outcome.faults, IsEmpty());
  ASSERT_THAT(outcome.decisions, SizeIs(1));
  const LoggedDecision& decision = outcome.decisions[0];
  EXPECT_EQ(decision.id, "e1");
  EXPECT_EQ(decision.time, absl::FromUnixMillis(1'565'728'828'788));
  EXPECT_EQ(decision.context, R"({"User":{"age":3}})");
  ASSERT_THAT(decision.slots, SizeIs(1));
  const LoggedSlot& slot = decision.slots[0];
  EXPECT_THAT(slot.names, ElementsAre("news", R"({"T":{"topic":"a\"b"}})", "art"));
  EXPECT_THAT(slot.p, ElementsAre(0.1, 0.8166667, 0.0833333));
  EXPECT_EQ(slot.chosen, 1u);
  EXPECT_EQ(slot.chosen_p, 0.8166667);
  EXPECT_EQ(slot.offered, 3u);
  EXPECT_EQ(slot.reward, 1);
}

TEST(DsjsonReader, ReadsConditionalBanditsAsLists) {
  const ReadLog outcome = ReadDsjson(std::string(kList) + "\n");
  EXPECT_THAT(outcome.faults, IsEmpty());
  ASSERT_THAT(outcome.decisions, SizeIs(1));
  const LoggedDecision& decision = outcome.decisions[0];
  EXPECT_EQ(decision.id, "s0");
  ASSERT_THAT(decision.slots, SizeIs(2));
  EXPECT_THAT(decision.slots[0].p, ElementsAre(0.25, 0.5, 0.25));
  EXPECT_EQ(decision.slots[0].reward, 0);
  EXPECT_THAT(decision.slots[1].names, ElementsAre("a", "c"));
  EXPECT_THAT(decision.slots[1].p, ElementsAre(0.25, 0.75));
  EXPECT_EQ(decision.slots[1].chosen, 1u);
  EXPECT_EQ(decision.slots[1].reward, 1);
}

TEST(DsjsonReader, TakesTheLabelsProbabilityWhereOthersAreMissing) {
  const std::string line = Changed(kBandit, R"("p":[0.8166667,0.1,0.0833333],)", "");
  const ReadLog outcome = ReadDsjson(line);
  ASSERT_THAT(outcome.decisions, SizeIs(1));
  EXPECT_THAT(outcome.decisions[0].slots[0].p, IsEmpty());
  EXPECT_EQ(outcome.decisions[0].slots[0].chosen_p, 0.8166667);
  EXPECT_EQ(outcome.decisions[0].slots[0].offered, 3u);
  const ReadLog only = ReadDsjson(std::string(kBandit) + "\n", {.chosen_only = true});
  EXPECT_EQ(only.decisions[0].slots, outcome.decisions[0].slots);
}

TEST(DsjsonReader, ReadsWhatTheWriterWrote) {
  LoggedDecision wrote = PlainDecision();
  wrote.user = "u1";
  wrote.range = {-1, 3};
  wrote.slots[0].released = ReleaseLaw{2, -1.5, 3.5, true};
  wrote.slots[0].offered = 7;
  LoggedSlot second = wrote.slots[0];
  second.ids = {4, 5};
  second.chosen = 0;
  second.chosen_p = 0.25;
  wrote.slots.push_back(second);
  for (const std::size_t slots : {2, 1}) {
    wrote.slots.resize(slots);
    std::string text;
    AppendDsjsonLine(wrote, text);
    const ReadLog outcome = ReadDsjson(text);
    EXPECT_THAT(outcome.faults, IsEmpty());
    ASSERT_THAT(outcome.decisions, SizeIs(1));
    LoggedDecision read = outcome.decisions[0];
    ASSERT_THAT(read.slots, SizeIs(slots));
    for (std::size_t at = 0; at < slots; ++at) {
      std::vector<std::string> names;
      for (const std::uint32_t id : wrote.slots[at].ids) names.push_back(absl::StrCat(id));
      EXPECT_EQ(read.slots[at].names, names);
      read.slots[at].names.clear();
      read.slots[at].ids = wrote.slots[at].ids;
    }
    EXPECT_EQ(read.slots, wrote.slots);
    EXPECT_EQ(read.id, wrote.id);
    EXPECT_EQ(read.time, wrote.time);
    EXPECT_EQ(read.user, wrote.user);
    EXPECT_EQ(read.range.min, wrote.range.min);
  }
}

TEST(DsjsonReader, NamesLineReasonAndConstraint) {
  struct Case {
    std::string line;
    std::string_view reason;
    std::string message;
  };
  const std::string bandit = kBandit;
  const Case cases[] = {
      {"nonsense\n", skip_reason::kMalformed, "line 1: the line is not a JSON object"},
      {bandit.substr(0, 100), skip_reason::kCutLine, "line 1: the line is not a JSON object"},
      {Changed(kBandit, "{", "{\"_skipLearn\":true,"), skip_reason::kSkipLearn,
       "line 1: _skipLearn"},
      {Changed(kBandit, "{", "{\"pdrop\":0.5,"), skip_reason::kSampled, "line 1: pdrop: must be 0"},
      {Changed(kBandit, "\"EventId\":\"e1\",\"a\"", "\"a\""), skip_reason::kMalformed,
       "line 1: EventId: must be a text of 1 to 128 bytes"},
      {Changed(kBandit, "2019-08-13T", "2019-08-13"), skip_reason::kMalformed,
       "line 1: Timestamp: must be an RFC 3339 time"},
      {Changed(kBandit, "_multi", "_many"), skip_reason::kMalformed, "line 1: c._multi: must be a"},
      {Changed(kBandit, "-1.0", "\"NaN\""), skip_reason::kReward,
       "line 1: _label_cost: must be a finite number"},
      {Changed(kBandit, "_label_probability", "_label_other"), skip_reason::kPropensity,
       "line 1: _label_probability: must be a finite number"},
      {Changed(kBandit, "\"_label_Action\":2", "\"_label_Action\":4"), skip_reason::kMalformed,
       "line 1: the chosen action must be one of c._multi"},
      {Changed(kBandit, "[2,1,3]", "[2,1,1]"), skip_reason::kMalformed,
       "line 1: the ranked actions must be of c._multi, each once"},
      {Changed(kBandit, "[2,1,3]", "[2,1,0]"), skip_reason::kMalformed,
       "line 1: a: must count from 1"},
      {Changed(kBandit, "[2,1,3]", "[2,1]"), skip_reason::kMalformed,
       "line 1: a and p: must be lists of one length"},
      {Changed(kBandit, "0.1,", "1.1,"), skip_reason::kPropensity,
       "line 1: p: must be in [0, 1], got 1.1"},
      {Changed(kBandit, "[0.8166667", "[0.7"), skip_reason::kPropensity,
       "line 1: p: must be the label's probability for the chosen action, 0.816667, got 0.7"},
      {Changed(kList, "\"_a\":[2,0]", "\"_a\":[1,0]"), skip_reason::kMalformed,
       "line 1: _outcomes 1: the chosen action must be one of c._multi that no slot before has"},
      {Changed(kList, "{\"_tag\":\"a\"}", "{\"_slot_id\":0}"), skip_reason::kMalformed,
       "line 1: c._multi: actions of slates"},
  };
  for (const Case& c : cases) {
    const ReadLog outcome = ReadDsjson(c.line);
    EXPECT_THAT(outcome.decisions, IsEmpty()) << c.message;
    ASSERT_THAT(outcome.faults, SizeIs(1)) << c.message;
    EXPECT_EQ(outcome.faults[0].reason, c.reason) << c.message;
    EXPECT_THAT(outcome.faults[0].message, StartsWith(c.message));
  }
}

}  // namespace
}  // namespace bandana::testing
