#include "common/design/files/arms_tsv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

TEST(ArmsTsvTest, ReadsArmsCommentsAndHeader) {
  const auto arms = ParseArmsTsv(
      "id\ttags\tfeatures\n# a comment\n7\trock,pop\t0.5 -1e-3\r\n\n4294967295\t-\t1  2", 2, 10);
  ASSERT_THAT(arms, IsOk());
  ASSERT_EQ(arms->size(), 2);
  EXPECT_EQ((*arms)[0].id, 7);
  EXPECT_THAT((*arms)[0].tags, ElementsAre("rock", "pop"));
  EXPECT_THAT((*arms)[0].features, ElementsAre(0.5, -1e-3));
  EXPECT_EQ((*arms)[1].id, 4294967295u);
  EXPECT_THAT((*arms)[1].tags, IsEmpty());
  EXPECT_THAT((*arms)[1].features, ElementsAre(1, 2));
}

TEST(ArmsTsvTest, ReadsGroups) {
  const auto arms = ParseArmsTsv(
      "id\ttags\tfeatures\tgroups\n1\t-\t1\tgenre=rock,seller=a=b c\n2\t-\t1\t-\n3\t-\t1\n", 1, 10);
  ASSERT_THAT(arms, IsOk());
  EXPECT_THAT((*arms)[0].groups,
              ElementsAre(std::pair("genre", "rock"), std::pair("seller", "a=b c")));
  EXPECT_THAT((*arms)[1].groups, IsEmpty());
  EXPECT_THAT((*arms)[2].groups, IsEmpty());
}

TEST(ArmsTsvTest, AnEmptyFileHasNoArms) {
  const auto arms = ParseArmsTsv("# nothing\n", 2, 10);
  ASSERT_THAT(arms, IsOk());
  EXPECT_THAT(*arms, IsEmpty());
}

TEST(ArmsTsvTest, MistakesNameTheirLine) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"1\t-\t1 2\nx\t-\t1 2", "line 2: the id"},
      {"-1\t-\t1 2", "line 1: the id"},
      {"4294967296\t-\t1 2", "line 1: the id"},
      {"1", "line 1: the line needs"},
      {"1\t-", "line 1: 0 features"},
      {"1\t-\t1", "line 1: 1 features"},
      {"1\t-\t1 2 3", "line 1: more than 2 features"},
      {"1\t-\t1 nan", "line 1: feature 2"},
      {"1\t-\t1 inf", "line 1: feature 2"},
      {"1\t-\t1 2x", "line 1: feature 2"},
      {"1\t-\t1 2\t3", "line 1: the fourth field"},
      {"1\t-\t1 2\t", "line 1: the fourth field"},
      {"1\t-\t1 2\t-\t-\t-\t/\t-", "line 1: more than seven fields"},
      {"1\t-\t1 2\tgenre=rock,", "line 1: the groups end with a comma"},
      {"1\t-\t1 2\tgenre=", "line 1: group genre: "},
      {"1\t-\t1 2\tGenre=rock", "line 1: the name of a group"},
      {"1\t-\t1 2\tgenre=rock,genre=pop", "line 1: two values of the group genre"},
      {"1\t\t1 2", "line 1: a tag of 0 bytes"},
      {"1\ta,,b\t1 2", "line 1: a tag of 0 bytes"},
      {"1\ta,\t1 2", "line 1: the tags end with a comma"},
      {"1\ta,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a\t1 2", "line 1: more than 16 tags"},
      {"1\t-\t1 2\n1\t-\t1 2", "line 2: arm 1 is there twice"},
      {"1\t-\t1 2\n2\t-\t1 2\n3\t-\t1 2", "line 3: more than arms_max = 2"},
      {"1\t-\t1 2\nid\ttags\tfeatures", "line 2: the id"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(ParseArmsTsv(c.text, 2, 2), StatusIs(absl::StatusCode::kInvalidArgument, c.message))
        << c.text;
  }
}

}  // namespace
}  // namespace bandana::testing
