#include "common/base/wire_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bandana {
namespace {

using namespace std::string_view_literals;

TEST(WireReader, ReadsFieldsOneAfterAnother) {
  WireReader in("\x08\x96\x01\x12\x02hi\x19\0\0\0\0\0\0\xf0\x3f"sv);
  std::uint32_t number = 0;
  std::string text;
  double real = 0;
  ASSERT_TRUE(in.Next());
  EXPECT_EQ(in.field(), 1);
  in.Number(number);
  ASSERT_TRUE(in.Next());
  EXPECT_EQ(in.field(), 2);
  in.Text(text);
  ASSERT_TRUE(in.Next());
  EXPECT_EQ(in.field(), 3);
  in.Real(real);
  EXPECT_FALSE(in.Next());
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(number, 150u);
  EXPECT_EQ(text, "hi");
  EXPECT_EQ(real, 1);
}

TEST(WireReader, LeavesValuesOfAnotherWireTypeAlone) {
  WireReader in("\x08\x05"sv);
  ASSERT_TRUE(in.Next());
  std::string text = "as it was";
  double real = 2;
  std::vector<double> reals;
  in.Text(text);
  in.Real(real);
  in.Reals(reals);
  EXPECT_EQ(text, "as it was");
  EXPECT_EQ(real, 2);
  EXPECT_TRUE(reals.empty());
  EXPECT_FALSE(in.Message().has_value());
  EXPECT_FALSE(in.Next());
  EXPECT_TRUE(in.ok());
}

TEST(WireReader, ReadsListsPackedAndAlone) {
  WireReader in("\x0a\x03\x01\x96\x01\x08\x07"sv);
  std::vector<std::uint64_t> numbers;
  while (in.Next()) in.Numbers(numbers);
  EXPECT_TRUE(in.ok());
  EXPECT_THAT(numbers, ::testing::ElementsAre(1, 150, 7));
}

TEST(WireReader, RefusesDamage) {
  const struct {
    std::string_view what, bytes;
  } cases[] = {
      {"a tag without a value", "\x08"sv},
      {"a number that is cut", "\x08\x96"sv},
      {"a number of 11 bytes", "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"sv},
      {"a tag of 6 bytes", "\x88\x80\x80\x80\x80\x00\x05"sv},
      {"field 0", "\x00\x01"sv},
      {"a double that is cut", "\x09\0\0\0\0\0\0\0"sv},
      {"a float that is cut", "\x0d\0\0\0"sv},
      {"a block that is cut", "\x0a\x03hi"sv},
      {"a size of 6 bytes", "\x0a\x80\x80\x80\x80\x80\x00"sv},
      {"a size above the input's", "\x0a\xff\xff\xff\xff\x0f"sv},
      {"a group", "\x0b\x0c"sv},
      {"the end of a group", "\x0c"sv},
      {"a kind that there is not", "\x0f\x01"sv},
  };
  for (const auto& [what, bytes] : cases) {
    WireReader in(bytes);
    EXPECT_FALSE(in.Next()) << what;
    EXPECT_FALSE(in.ok()) << what;
    EXPECT_FALSE(in.Next()) << what;
  }
}

TEST(WireReader, RefusesListsThatEndWithinAValue) {
  std::vector<double> reals;
  WireReader of_reals("\x0a\x07\0\0\0\0\0\0\0"sv);
  ASSERT_TRUE(of_reals.Next());
  of_reals.Reals(reals);
  EXPECT_FALSE(of_reals.ok());
  std::vector<std::uint32_t> numbers;
  WireReader of_numbers("\x0a\x02\x01\x96"sv);
  ASSERT_TRUE(of_numbers.Next());
  of_numbers.Numbers(numbers);
  EXPECT_FALSE(of_numbers.ok());
}

TEST(WireReader, RefusesTextThatIsNotUtf8) {
  WireReader in("\x0a\x01\xff\x08\x05"sv);
  ASSERT_TRUE(in.Next());
  std::string text;
  in.Text(text);
  EXPECT_FALSE(in.ok());
  EXPECT_FALSE(in.Next());
}

}  // namespace
}  // namespace bandana
