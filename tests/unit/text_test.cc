// Text from outside: encodings, control characters, lines.
#include "common/base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/base/file.h"
#include "common/base/private_file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

using namespace std::string_view_literals;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(PlainTextTest, TakesUtf8AndSkipsItsMark) {
  for (const std::string_view text :
       {""sv, "a\tb\r\nc\n"sv, "caf\xC3\xA9"sv, "ends in\r"sv, "\xF0\x9F\x8E\xB8\n\n"sv}) {
    EXPECT_THAT(PlainText(text), IsOkAndHolds(text));
    EXPECT_THAT(PlainText("\xEF\xBB\xBF" + std::string(text)), IsOkAndHolds(text));
  }
}

TEST(PlainTextTest, NamesLineFieldAndByteOfAFault) {
  EXPECT_THAT(PlainText("2\tx\t0 1\n3\ty\t0 1\t-\tcaf\xE9\n"sv),
              StatusIs(kInvalid, "line 2, field 5, byte 14: the byte 0xe9 is no UTF-8; save"));
  EXPECT_THAT(PlainText("a\nname: \"caf\xE9\"\n"sv),
              StatusIs(kInvalid, "line 2, byte 11: the byte 0xe9 is no UTF-8"));
  EXPECT_THAT(PlainText("\xEF\xBB\xBF\x80"sv), StatusIs(kInvalid, "line 1, byte 1: the byte 0x80"));
  EXPECT_THAT(PlainText("a\tb\0c"sv), StatusIs(kInvalid, "line 1, field 2, byte 4: a byte 0"));
  EXPECT_THAT(PlainText("a\x1B[2J"sv), StatusIs(kInvalid, "line 1, byte 2: the control character"));
  EXPECT_THAT(PlainText("a\x7F"sv), StatusIs(kInvalid, "line 1, byte 2: the control character"));
  EXPECT_THAT(PlainText("a\rb\r"sv), StatusIs(kInvalid, "line 1, byte 2: a carriage return"));
}

TEST(PlainTextTest, SaysThatATextIsOfAnotherEncoding) {
  EXPECT_THAT(PlainText("\xFF\xFE"
                        "a\0"sv),
              StatusIs(kInvalid, "line 1, byte 1: the text is UTF-16"));
  EXPECT_THAT(PlainText("\xFE\xFF\0a"sv), StatusIs(kInvalid, "line 1, byte 1: the text is UTF-16"));
  EXPECT_THAT(PlainText("\xFF\xFE\0\0a\0\0\0"sv), StatusIs(kInvalid, "the text is UTF-32"));
  EXPECT_THAT(PlainText("\0\0\xFE\xFF\0\0\0a"sv), StatusIs(kInvalid, "the text is UTF-32"));
  EXPECT_THAT(PlainText("a\0b\0"sv), StatusIs(kInvalid, "must be UTF-8, and not UTF-16"));
}

TEST(ReadTextFileTest, SkipsTheMarkAndNamesTheFile) {
  const TempDir folder;
  const std::string path = folder.File("key");
  ASSERT_THAT(WriteFileDurably(path, "\xEF\xBB\xBFtoken\n", 0600), IsOk());
  EXPECT_THAT(ReadTextFile(path, 100), IsOkAndHolds("token\n"));
  EXPECT_THAT(ReadPrivateFile(path, 100), IsOkAndHolds("token\n"));
  ASSERT_THAT(WriteFileDurably(path, "\xFF\xFEt", 0600), IsOk());
  EXPECT_THAT(ReadTextFile(path, 100), StatusIs(kInvalid, path + ": the text is UTF-16"));
  EXPECT_THAT(ReadPrivateFile(path, 100), StatusIs(kInvalid, path + ": the text is UTF-16"));
}

TEST(TextLinesTest, LinesEndInBothWays) {
  auto lines = TextLines::Of("a\r\n\nb\tc");
  ASSERT_THAT(lines, IsOk());
  std::vector<std::string> all;
  for (std::string_view line; lines->Next(line);) all.emplace_back(line);
  EXPECT_THAT(all, ElementsAre("a", "", "b\tc"));
  EXPECT_EQ(lines->number(), 3u);
}

TEST(OneLineTest, EscapesWhatTerminalsObey) {
  EXPECT_EQ(OneLine("a\0b\nc\x1B[2J\x7F"sv), "a\\x00b\\nc\\x1b[2J\\x7f");
  EXPECT_EQ(OneLine("caf\xC3\xA9 \xC2\x9B\xE9"sv), "caf\xC3\xA9 \\xc2\\x9b\\xe9");
  EXPECT_EQ(ToUtf8("caf\xE9\n\xC3\xA9"sv), "caf\\xe9\n\xC3\xA9");
}

}  // namespace
}  // namespace bandana::testing
