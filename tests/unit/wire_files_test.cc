// Graphs and users.tsv between bytes and domain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>

#include "common/design/files/arms_tsv.h"
#include "common/design/files/graph_proto.h"
#include "common/design/files/group_names.h"
#include "common/design/files/users_tsv.h"
#include "common/design/wire_messages.h"
#include "common/promise/field_checks.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(ParseUsersTsv, ReadsBothLineEndingsAndAMissingLastOne) {
  EXPECT_THAT(
      ParseUsersTsv("ann\t0\r\nbob smith\t1\ncat\t0", 2),
      IsOkAndHolds(UnorderedElementsAre(Pair("ann", 0), Pair("bob smith", 1), Pair("cat", 0))));
}

TEST(ParseUsersTsv, NamesTheLineOfEachMistake) {
  EXPECT_THAT(ParseUsersTsv("ann\t0\nbob 1\n", 2), StatusIs(kInvalid, "line 2: expected user id"));
  EXPECT_THAT(ParseUsersTsv("ann\t0\n\nbob\t1\n", 2), StatusIs(kInvalid, "line 2"));
  EXPECT_THAT(ParseUsersTsv("ann\t-1\n", 2), StatusIs(kInvalid, "line 1: the node after the tab"));
  EXPECT_THAT(ParseUsersTsv("ann\t1x\n", 2), StatusIs(kInvalid, "line 1"));
  EXPECT_THAT(ParseUsersTsv("ann\t\n", 2), StatusIs(kInvalid, "line 1"));
  EXPECT_THAT(ParseUsersTsv("ann\t99999999999999999999\n", 2), StatusIs(kInvalid, "line 1"));
  EXPECT_THAT(ParseUsersTsv("ann\t2\n", 2), StatusIs(kInvalid, "must be in [0, 2), got 2"));
  EXPECT_THAT(ParseUsersTsv("\t1\n", 2), StatusIs(kInvalid, "1 to 128 bytes, got 0"));
  EXPECT_THAT(ParseUsersTsv(std::string(129, 'u') + "\t1\n", 2), StatusIs(kInvalid, "got 129"));
  EXPECT_THAT(ParseUsersTsv("ann\t0\nann\t1\n", 2), StatusIs(kInvalid, "line 2: a user id"));
}

TEST(ParseUsersTsv, AHeaderNamesTheColumns) {
  EXPECT_THAT(ParseUsersTsv("user\tcountry\tnode\r\nann\tfr\t0\nbob\t-\t1\ncat\t\t-\ndan\t\t", 2),
              IsOkAndHolds(UnorderedElementsAre(Pair("ann", 0), Pair("bob", 1))));
  EXPECT_THAT(ParseUsersTsv("user\tnode\n", 2), IsOkAndHolds(IsEmpty()));
}

TEST(ParseUsersTsv, AUserMayBeNamedUser) {
  EXPECT_THAT(ParseUsersTsv("user\t1\nann\t0\n", 2),
              IsOkAndHolds(UnorderedElementsAre(Pair("user", 1), Pair("ann", 0))));
  EXPECT_THAT(ParseUsersTsv("user\tnode\nuser\t1\n", 2),
              IsOkAndHolds(UnorderedElementsAre(Pair("user", 1))));
}

TEST(ParseUsersTsv, NamesTheLineOfEachMistakeUnderAHeader) {
  const auto parse = [](std::string_view text) { return ParseUsersTsv(text, 2); };
  EXPECT_THAT(parse("user\tcountry\nann\tfr\n"), StatusIs(kInvalid, "need the column `node`"));
  EXPECT_THAT(parse("user\tnode\nann\t0\t1\n"), StatusIs(kInvalid, "line 2: 3 cells, the header"));
  EXPECT_THAT(parse("user\tnode\nann\n"), StatusIs(kInvalid, "line 2: 1 cells"));
  EXPECT_THAT(parse("user\tnode\nann\tx\n"), StatusIs(kInvalid, "line 2: the node after"));
  EXPECT_THAT(parse("user\tnode\nann\t2\n"), StatusIs(kInvalid, "line 2: the node must be in"));
  EXPECT_THAT(parse("user\tnode\nann\t-\nann\t1\n"), StatusIs(kInvalid, "line 3: a user id"));
  EXPECT_THAT(parse("user\tnode\nann\t1\nann\t-\n"), StatusIs(kInvalid, "line 3: a user id"));
  EXPECT_THAT(parse("user\tnode\n\t-\n"), StatusIs(kInvalid, "line 2: a user id must have 1"));
}

TEST(ParseUserGroupsTsv, KeepsEachValueOnce) {
  const auto groups = ParseUserGroupsTsv(
      "user\tcountry\tnode\tplan\nann\tfr\t0\tfree\nbob\t-\t1\tpro\r\ncat\tde\t\tfree\ndan\tfr\t-"
      "\t",
      4);
  ASSERT_THAT(groups, IsOk());
  constexpr std::uint32_t kNone = UserGroups::kNone;
  EXPECT_THAT(groups->names, ElementsAre("country", "plan"));
  EXPECT_THAT(groups->values, ElementsAre(ElementsAre("fr", "de"), ElementsAre("free", "pro")));
  EXPECT_THAT(groups->ids, ElementsAre("ann", "bob", "cat", "dan"));
  EXPECT_THAT(groups->cells, ElementsAre(0, 0, kNone, 1, 1, 0, 0, kNone));
  EXPECT_EQ(groups->cell(1, 1), 1u);
}

TEST(ParseUserGroupsTsv, AFileWithoutHeaderHasNoGroups) {
  const auto groups = ParseUserGroupsTsv("ann\t0\nbob\t7\n", 2);
  ASSERT_THAT(groups, IsOk());
  EXPECT_THAT(groups->names, IsEmpty());
  EXPECT_THAT(groups->cells, IsEmpty());
  EXPECT_THAT(groups->ids, ElementsAre("ann", "bob"));
  EXPECT_THAT(ParseUserGroupsTsv("ann\tx\n", 2), StatusIs(kInvalid, "line 1: the node must be"));
  EXPECT_THAT(ParseUserGroupsTsv("ann\t-\n", 2), StatusIs(kInvalid, "line 1: the node must be"));
}

TEST(ParseUserGroupsTsv, NamesTheLineOfEachMistake) {
  const auto parse = [](const std::string& text) { return ParseUserGroupsTsv(text, 2); };
  const std::string header = "user\tplan\n";
  EXPECT_THAT(parse("user\tPlan\n"), StatusIs(kInvalid, "line 1: column 2: the name of a group"));
  EXPECT_THAT(parse("user\t\n"), StatusIs(kInvalid, "line 1: column 2: the name of a group"));
  EXPECT_THAT(parse("user\t" + std::string(33, 'a')), StatusIs(kInvalid, "line 1: column 2"));
  EXPECT_THAT(parse("user\tplan\tplan\n"), StatusIs(kInvalid, "line 1: columns with the same"));
  EXPECT_THAT(parse("user\tnode\tuser\n"), StatusIs(kInvalid, "line 1: columns with the same"));
  std::string many = "user";
  for (int i = 0; i < 33; ++i) many += "\tg" + std::to_string(i);
  EXPECT_THAT(parse(many), StatusIs(kInvalid, "line 1: 33 groups, there may be 32"));
  EXPECT_THAT(parse(header + "ann\n"), StatusIs(kInvalid, "line 2: 1 cells, the header names 2"));
  EXPECT_THAT(parse(header + "\n"), StatusIs(kInvalid, "line 2: 1 cells"));
  EXPECT_THAT(
      parse(header + "ann\t" + std::string(65, 'x')),
      StatusIs(kInvalid, "line 2: plan: the value of a group must have 1 to 64 bytes, got"));
  EXPECT_THAT(parse(header + "ann\ta\rb"), StatusIs(kInvalid, "line 2, field 2, byte 6: a carri"));
  EXPECT_THAT(parse(header + "ann\tx\nann\ty"), StatusIs(kInvalid, "line 3: a user id that"));
  EXPECT_THAT(parse(header + "a\tx\nb\ty\nc\ty"),
              StatusIs(kInvalid, "line 4: more than users_max"));
  EXPECT_THAT(parse("user\tnode\nann\tx"),
              StatusIs(kInvalid, "line 2: the node must be a decimal"));
}

// With and without the mark that editors put before UTF-8 the header is one, and ids are the same.
TEST(UsersTsv, AByteOrderMarkIsNoPartOfTheFirstId) {
  const std::string mark = "\xEF\xBB\xBF";
  EXPECT_THAT(ParseUsersTsv(mark + "ann\t0\n", 2), IsOkAndHolds(ElementsAre(Pair("ann", 0))));
  EXPECT_THAT(ParseUsersTsv(mark + "user\tnode\nann\t0\n", 2),
              IsOkAndHolds(ElementsAre(Pair("ann", 0))));
  const std::string text = mark + "user\tplan\nann\tfree\n";
  const auto groups = ParseUserGroupsTsv(text, 2);
  ASSERT_THAT(groups, IsOk());
  EXPECT_THAT(groups->ids, ElementsAre("ann"));
  EXPECT_THAT(groups->names, ElementsAre("plan"));
}

TEST(UsersTsv, RefusesIdsThatNoCallCouldName) {
  for (const std::string id : {"caf\xE9", "\xFF\xFE", "a\x1B[2J", "\xED\xA0\x80"}) {
    const std::string text = "ann\t0\n" + id + "\t1\n";
    EXPECT_THAT(ParseUsersTsv(text, 2), StatusIs(kInvalid, "line 2, field 1, byte ")) << id;
    EXPECT_THAT(ParseUserGroupsTsv(text, 2), StatusIs(kInvalid, "line 2, field 1, byte ")) << id;
  }
  EXPECT_THAT(ParseUsersTsv(std::string("a\0b\t1\n", 6), 2),
              StatusIs(kInvalid, "line 1, field 1, byte 2: a byte 0"));
  EXPECT_THAT(ParseUsersTsv(std::string("\xFF\xFE"
                                        "a\0\t\0",
                                        6),
                            2),
              StatusIs(kInvalid, "UTF-16"));
}

TEST(ArmsTsv, IsUtf8WithOrWithoutAMark) {
  EXPECT_THAT(ParseArmsTsv("1\t-\t1\n2\tx\t0\t-\tcaf\xE9\n", 1, 9),
              StatusIs(kInvalid, "line 2, field 5, byte 12: the byte 0xe9 is no UTF-8"));
  EXPECT_THAT(ParseArmsTsv("2\tcaf\xE9\t0\n", 1, 9), StatusIs(kInvalid, "line 1, field 2, byte 6"));
  EXPECT_THAT(ParseArmsTsv("# caf\xE9\n", 1, 9), StatusIs(kInvalid, "line 1, byte 6"));
  EXPECT_THAT(ParseArmsTsv("2\ta\x1B\t0\n", 1, 9), StatusIs(kInvalid, "line 1, field 2, byte 4"));
  for (const std::string first : {"id\ttags\tfeatures\n", "7\t-\t1\n"}) {
    const auto arms = ParseArmsTsv("\xEF\xBB\xBF" + first + "2\tx\t0\t-\tcaf\xC3\xA9\n", 1, 9);
    ASSERT_THAT(arms, IsOk());
    EXPECT_EQ(arms->back().name, "caf\xC3\xA9");
  }
}

TEST(MatrixMarket, IsUtf8WithOrWithoutAMark) {
  const std::string banner = "%%MatrixMarket matrix coordinate real symmetric\n";
  const auto parse = [](const std::string& text) {
    return ParseMatrixMarket(text, Graph::Kind::kEdgeWeights);
  };
  EXPECT_THAT(parse("\xEF\xBB\xBF" + banner + "2 2 1\n2 1 1\n"), IsOk());
  EXPECT_THAT(parse(banner + "% caf\xE9\n2 2 1\n2 1 1\n"),
              StatusIs(kInvalid, "graph: line 2, byte 6: the byte 0xe9 is no UTF-8"));
}

TEST(CheckGroupValue, TakesUtf8WithoutControlCharacters) {
  for (const char* value : {"x", "rhône-alpes", "日本", "\xF0\x9F\x8E\xB8", "a b"}) {
    EXPECT_THAT(CheckGroupValue(value), IsOk()) << value;
  }
  for (const char* value : {"", "-", "a\tb", "\x7F", "\xFF", "\xC3", "\xC0\x80", "\xE0\x80\x80",
                            "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF0\x80\x80\x80", "\xE2\x82"}) {
    EXPECT_THAT(CheckGroupValue(value), StatusIs(kInvalid, "value")) << value;
  }
}

v1::Graph ThreeEntries() {
  v1::Graph graph;
  graph.set_users(3);
  const auto add = [&](std::uint32_t row, std::uint32_t column, double weight) {
    graph.add_rows(row);
    graph.add_columns(column);
    graph.add_weights(weight);
  };
  add(0, 1, 2);  // its mirror is filled in
  add(1, 2, 3);  // listed both ways
  add(2, 1, 3);
  add(0, 0, 0.5);
  add(0, 0, 0.5);  // adds up
  return graph;
}

TEST(GraphFromProto, FillsInMirrorsAndAddsRepeatedEntries) {
  const auto graph = GraphFromProto(ThreeEntries());
  ASSERT_THAT(graph, IsOk());
  EXPECT_EQ(graph->nodes, 3);
  double weights[3][3] = {};
  for (const auto& entry : graph->entries) weights[entry.row][entry.column] += entry.weight;
  EXPECT_EQ(weights[0][0], 1);
  EXPECT_EQ(weights[0][1], 2);
  EXPECT_EQ(weights[1][0], 2);
  EXPECT_EQ(weights[1][2], 3);
  EXPECT_EQ(weights[2][1], 3);
  EXPECT_EQ(weights[2][2], 0);
}

TEST(GraphToProto, IsReadBackAsTheSameGraph) {
  const auto graph = GraphFromProto(ThreeEntries());
  ASSERT_THAT(graph, IsOk());
  const v1::Graph proto = GraphToProto(*graph);
  const auto again = GraphFromProto(proto);
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(GraphToProto(*again).SerializeAsString(), proto.SerializeAsString());
}

TEST(GraphFromProto, InfluenceIsNotMirrored) {
  v1::Graph proto;
  proto.set_kind(v1::Graph::INFLUENCE);
  proto.set_users(2);
  for (const auto& [row, column] : {std::pair{0, 0}, {0, 1}}) {
    proto.add_rows(row);
    proto.add_columns(column);
    proto.add_weights(1);
  }
  const auto graph = GraphFromProto(proto);
  ASSERT_THAT(graph, IsOk());
  EXPECT_EQ(graph->entries.size(), 2u);
  EXPECT_EQ(graph->kind, Graph::Kind::kInfluence);
}

TEST(GraphFromProto, RefusesAKindItDoesNotKnowAndAFile) {
  v1::Graph proto = ThreeEntries();
  proto.set_kind(static_cast<v1::Graph::Kind>(9));
  EXPECT_THAT(GraphFromProto(proto), StatusIs(kInvalid, "kind must be"));
  proto = ThreeEntries();
  proto.set_file("g.mtx");
  EXPECT_THAT(GraphFromProto(proto), StatusIs(kInvalid, "exclude each other"));
}

TEST(Duration, SurvivesTheWire) {
  for (const absl::Duration d : {absl::ZeroDuration(), absl::Milliseconds(1500), absl::Hours(720),
                                 absl::Nanoseconds(1), -absl::Milliseconds(1500)}) {
    EXPECT_THAT(DurationOf(FromProto(ToProto(d))), IsOkAndHolds(d));
  }
}

TEST(Duration, RefusesWhatIsNoDuration) {
  const auto make = [](std::int64_t seconds, std::int32_t nanos) {
    google::protobuf::Duration d;
    d.set_seconds(seconds);
    d.set_nanos(nanos);
    return d;
  };
  for (const auto& bad :
       {make(1, -1), make(-1, 1), make(0, 1'000'000'000), make(0, -1'000'000'000),
        make(315'576'000'001, 0), make(std::numeric_limits<std::int64_t>::min(), 0)}) {
    EXPECT_THAT(DurationOf(FromProto(bad)), StatusIs(kInvalid, "not a valid duration"));
  }
}

TEST(ToStatus, ShowsFiveMistakesAndCountsTheRest) {
  std::vector<ConfigError> errors;
  EXPECT_THAT(ToStatus(errors), IsOk());
  for (int i = 0; i < 7; ++i) errors.push_back({"f" + std::to_string(i), "bad"});
  EXPECT_THAT(ToStatus(errors), StatusIs(kInvalid, "f4: bad; and 2 more"));
}

}  // namespace
}  // namespace bandana::testing
