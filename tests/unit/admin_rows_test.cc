#include "server/api/admin/admin_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bandana/v1/admin.pb.h"
#include "google/protobuf/util/message_differencer.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

template <typename Row>
absl::StatusOr<std::vector<Row>> Read(std::string_view body, RowText text) {
  std::vector<Row> rows;
  Row row;
  const absl::Status read = ReadRows(body, text, row, [&] {
    rows.push_back(row);
    return absl::OkStatus();
  });
  if (!read.ok()) return read;
  return rows;
}

v1::Arm OddArm() {
  v1::Arm arm;
  arm.set_id(4294967295);
  arm.set_name("a \"quoted\", name\nof two lines");
  arm.add_tags("new");
  arm.add_tags("red");
  for (const double x : {0.1, -1e-300, 1.0 / 3}) arm.add_features(x);
  (*arm.mutable_groups())["kind"] = "x y";
  (*arm.mutable_fields())["price"] = 3.1;
  arm.mutable_available_from()->set_seconds(1'700'000'000);
  return arm;
}

TEST(AdminRows, RowsComeBackAsTheyWent) {
  v1::User user;
  user.set_id("ann, of Ulm");
  user.set_node(7);
  (*user.mutable_groups())["town"] = "Ulm";
  for (const RowText text : {RowText::kJsonLines, RowText::kCsv}) {
    const auto arms = Read<v1::Arm>(*RowHeader(OddArm(), text) + *RowLine(OddArm(), text), text);
    ASSERT_THAT(arms, IsOk());
    ASSERT_EQ(arms->size(), 1u);
    EXPECT_TRUE(MessageDifferencer::Equals(arms->front(), OddArm()))
        << arms->front().ShortDebugString();
    const auto users = Read<v1::User>(*RowHeader(user, text) + *RowLine(user, text), text);
    ASSERT_THAT(users, IsOk());
    EXPECT_TRUE(MessageDifferencer::Equals(users->front(), user));
  }
}

TEST(AdminRows, ColumnsByName) {
  const auto arms = Read<v1::Arm>(
      "id,group:kind,field:price,feature:age,feature:new,feature:brand\n"
      "1,shoe,2.5,3,true,\"o'neill, ltd\"\n"
      "2,,,,,",  // the last line has no end
      RowText::kCsv);
  ASSERT_THAT(arms, IsOk());
  ASSERT_EQ(arms->size(), 2u);
  const v1::Arm& arm = arms->front();
  EXPECT_EQ(arm.groups().at("kind"), "shoe");
  EXPECT_EQ(arm.fields().at("price"), 2.5);
  EXPECT_EQ(arm.named_features().fields().at("age").number_value(), 3);
  EXPECT_TRUE(arm.named_features().fields().at("new").bool_value());
  EXPECT_EQ(arm.named_features().fields().at("brand").string_value(), "o'neill, ltd");
  EXPECT_FALSE(arms->back().has_named_features());
  const auto users = Read<v1::User>("id,friends\nann,\"bob,eve\"\n", RowText::kCsv);
  ASSERT_THAT(users, IsOk());
  EXPECT_EQ(users->front().friends_size(), 2);
}

TEST(AdminRows, AMistakeNamesItsLineAndColumn) {
  const auto csv = [](std::string_view body) {
    return Read<v1::Arm>(body, RowText::kCsv).status();
  };
  EXPECT_THAT(csv("id\nx\n"), StatusIs(absl::StatusCode::kInvalidArgument,
                                       "line 2: id: must be a whole number below 2^32"));
  EXPECT_THAT(csv("id\n4294967296\n").message(), HasSubstr("line 2: id"));
  EXPECT_THAT(csv("id,features\n1,1 nan\n").message(),
              HasSubstr("line 2: features: must be finite"));
  EXPECT_THAT(csv("id,groups\n1,kind\n").message(), HasSubstr("groups: must be NAME=VALUE"));
  EXPECT_THAT(csv("id,field:price\n1,cheap\n").message(),
              HasSubstr("field:price: must be a number"));
  EXPECT_THAT(csv("id,id\n1,2\n").message(), HasSubstr("id"));
  EXPECT_THAT(csv("id,name\n1\n").message(), HasSubstr("line 2"));
  EXPECT_THAT(csv("id,name\n1,\"x\n").message(), HasSubstr("line 2"));
  EXPECT_THAT(csv("").message(), HasSubstr("header"));
  EXPECT_THAT(csv("id\xff\n1\n").message(), HasSubstr("UTF-8"));
  const auto lines = Read<v1::User>("{\"id\":\"ann\"}\n{\"id\":3}\n", RowText::kJsonLines);
  EXPECT_THAT(lines.status().message(), HasSubstr("line 2: id"));
}

TEST(AdminRows, OtherTypesAndMessagesHaveNoColumns) {
  EXPECT_THAT(RowTextOf("text/html"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(RowTextOf(""), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(*RowTextOf("Text/CSV; charset=utf-8"), RowText::kCsv);
  EXPECT_EQ(*RowTextOf("application/jsonl"), RowText::kJsonLines);
  EXPECT_THAT(RowHeader(v1::DecisionChunk(), RowText::kCsv),
              StatusIs(absl::StatusCode::kUnimplemented));
}

}  // namespace
}  // namespace bandana::server
