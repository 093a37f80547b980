// The files that bandana-import reads: tables, compression, the HetRec files, and every way in
// which they can be wrong.
#include <lzma.h>

#include <array>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/import/dat_table.h"
#include "tools/import/hetrec_files.h"
#include "tools/import/xz.h"

namespace bandana::testing {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr std::string_view kFriendsHeader = "userID\tfriendID\n";
constexpr std::string_view kTaggedHeader = "userID\tartistID\ttagID\tday\tmonth\tyear\n";

std::string Compress(std::string_view text) {
  std::string out(text.size() + 1024, '\0');
  std::size_t size = 0;
  const lzma_ret result = lzma_easy_buffer_encode(
      6, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
      reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size());
  EXPECT_EQ(result, LZMA_OK);
  out.resize(size);
  return out;
}

void Put(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

// Rows of a two-column table as "line:first|second".
absl::StatusOr<std::vector<std::string>> Rows(std::string_view text) {
  static constexpr std::array<std::string_view, 2> kColumns = {"a", "b"};
  std::vector<std::string> rows;
  const absl::Status status = ForEachDatRow(text, "t.dat", kColumns, [&](const DatRow& row) {
    rows.push_back(std::to_string(row.line()) + ":" + std::string(row.text(0)) + "|" +
                   std::string(row.text(1)));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return rows;
}

TEST(DatTable, ReadsLinesThatEndInLfOrCrLf) {
  EXPECT_THAT(Rows("a\tb\n1\t2\n3\t4\n"), IsOkAndHolds(ElementsAre("2:1|2", "3:3|4")));
  EXPECT_THAT(Rows("a\tb\r\n1\t2\r\n3\t\r\n"), IsOkAndHolds(ElementsAre("2:1|2", "3:3|")));
  EXPECT_THAT(Rows("a\tb\n"), IsOkAndHolds(ElementsAre()));
}

TEST(DatTable, NamesFileAndLineOfWhatIsWrong) {
  EXPECT_THAT(Rows(""), StatusIs(kInvalid, "t.dat:1: the file is empty"));
  EXPECT_THAT(Rows("1\t2\n"), StatusIs(kInvalid, "t.dat:1: the header must name the columns a, b"));
  EXPECT_THAT(Rows("a\tb\n1\t2\n3\n"), StatusIs(kInvalid, "t.dat:3: a row must have 2"));
  EXPECT_THAT(Rows("a\tb\n1\t2\t3\n"), StatusIs(kInvalid, "t.dat:2: a row must have 2"));
  EXPECT_THAT(Rows("a\tb\n\n"), StatusIs(kInvalid, "t.dat:2: a row must have 2"));
}

TEST(DatTable, RefusesAFileCutInItsLastNumber) {
  // "12\t345\n" cut to "12\t34" would otherwise read as another number.
  EXPECT_THAT(Rows("a\tb\n12\t34"), StatusIs(kInvalid, "t.dat:2: the file ends in the middle"));
}

TEST(Xz, GivesBackWhatWasCompressed) {
  const std::string text(300'000, 'x');
  EXPECT_THAT(DecompressXz(Compress(text), text.size()), IsOkAndHolds(text));
  EXPECT_THAT(DecompressXz(Compress("one") + Compress("two"), 100), IsOkAndHolds("onetwo"));
}

TEST(Xz, RefusesWhatIsNotWholeOrTooLarge) {
  const std::string text(300'000, 'x');
  const std::string good = Compress(text);
  EXPECT_THAT(DecompressXz(good, text.size() - 1),
              StatusIs(absl::StatusCode::kResourceExhausted, "299999 bytes"));
  EXPECT_THAT(DecompressXz(good.substr(0, good.size() - 1), 1 << 20),
              StatusIs(absl::StatusCode::kDataLoss, "truncated"));
  EXPECT_THAT(DecompressXz("", 10), StatusIs(absl::StatusCode::kDataLoss, "truncated"));
  EXPECT_THAT(DecompressXz("plain text, no magic", 100),
              StatusIs(absl::StatusCode::kDataLoss, "not an xz file"));
  std::string damaged = good;
  damaged[good.size() / 2] ^= 1;
  EXPECT_THAT(DecompressXz(damaged, 1 << 20), StatusIs(absl::StatusCode::kDataLoss));
}

TEST(DatFile, PrefersThePlainFileAndFindsTheCompressedOne) {
  const testing::TempDir folder;
  EXPECT_THAT(ReadDatFile(folder.path(), "tags.dat"),
              StatusIs(absl::StatusCode::kNotFound, "tags.dat.xz"));
  Put(folder.File("tags.dat.xz"), Compress("packed"));
  const auto packed = ReadDatFile(folder.path(), "tags.dat");
  ASSERT_THAT(packed, IsOk());
  EXPECT_EQ(packed->text, "packed");
  EXPECT_EQ(packed->path, folder.File("tags.dat.xz"));
  Put(folder.File("tags.dat"), "plain");
  const auto plain = ReadDatFile(folder.path(), "tags.dat");
  ASSERT_THAT(plain, IsOk());
  EXPECT_EQ(plain->text, "plain");
  EXPECT_EQ(plain->path, folder.File("tags.dat"));
}

TEST(DatFile, NamesTheDamagedFile) {
  const testing::TempDir folder;
  Put(folder.File("tags.dat.xz"), "no xz at all");
  EXPECT_THAT(ReadDatFile(folder.path(), "tags.dat"),
              StatusIs(absl::StatusCode::kDataLoss, folder.File("tags.dat.xz")));
}

TEST(HetrecFiles, ReadsTagAssignments) {
  const auto rows = ParseTagAssignments(
      std::string(kTaggedHeader) + "2\t52\t13\t1\t4\t2009\r\n7\t1\t3\t29\t2\t2008\r\n", "f");
  ASSERT_THAT(rows, IsOk());
  ASSERT_EQ(rows->size(), 2);
  EXPECT_EQ((*rows)[0].user, 2);
  EXPECT_EQ((*rows)[0].artist, 52);
  EXPECT_EQ((*rows)[0].tag, 13);
  EXPECT_EQ((*rows)[0].day, absl::CivilDay(2009, 4, 1));
  EXPECT_EQ((*rows)[1].day, absl::CivilDay(2008, 2, 29));
}

TEST(HetrecFiles, RefusesWrongTagAssignments) {
  const struct {
    std::string row;
    std::string message;
  } cases[] = {
      {"x\t1\t1\t1\t1\t2009\n", "f:2: userID must be an integer in [1, 2147483647], got 'x'"},
      {"1\t0\t1\t1\t1\t2009\n", "f:2: artistID must be"},
      {"1\t1\t-1\t1\t1\t2009\n", "f:2: tagID must be"},
      {"1\t1\t1.5\t1\t1\t2009\n", "f:2: tagID must be"},
      {"1\t99999999999\t1\t1\t1\t2009\n", "f:2: artistID must be"},
      {"1\t1\t1\t32\t1\t2009\n", "f:2: day must be"},
      {"1\t1\t1\t1\t13\t2009\n", "f:2: month must be"},
      {"1\t1\t1\t1\t1\t209\n", "f:2: year must be"},
      {"1\t1\t1\t31\t4\t2009\n", "f:2: day, month and year are no calendar date"},
      {"1\t1\t1\t29\t2\t2009\n", "f:2: day, month and year are no calendar date"},
      {"1\t1\t1\t1\t1\t2009\n1\t1\t1\t2\t1\t2009\n", "f:3: userID, artistID and tagID repeat"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(ParseTagAssignments(std::string(kTaggedHeader) + c.row, "f"),
                StatusIs(kInvalid, c.message))
        << c.row;
  }
}

TEST(HetrecFiles, KeepsEachFriendPairOnce) {
  EXPECT_THAT(ParseFriends(std::string(kFriendsHeader) + "9\t2\n2\t9\n2\t3\n3\t2\n", "f"),
              IsOkAndHolds(ElementsAre(Pair(2, 3), Pair(2, 9))));
}

TEST(HetrecFiles, RefusesOneSidedRepeatedAndOwnFriends) {
  const std::string header(kFriendsHeader);
  EXPECT_THAT(ParseFriends(header + "2\t9\n9\t2\n4\t5\n", "f"),
              StatusIs(kInvalid, "f:4: the same pair the other way round is missing"));
  EXPECT_THAT(ParseFriends(header + "2\t9\n9\t2\n2\t9\n", "f"), StatusIs(kInvalid, "f:4: "));
  EXPECT_THAT(ParseFriends(header + "2\t2\n", "f"), StatusIs(kInvalid, "f:2: "));
}

TEST(HetrecFiles, TurnsLatin1TagsIntoUtf8) {
  EXPECT_THAT(ParseTags("tagID\ttagValue\r\n1\tmetal\r\n7\tbj\xF6rk \xFF\x80\r\n", "f"),
              IsOkAndHolds(ElementsAre(Pair(1, "metal"), Pair(7, "björk ÿ\xC2\x80"))));
  // Saved anew by an editor that puts a mark before UTF-8.
  EXPECT_THAT(ParseTags("\xEF\xBB\xBFtagID\ttagValue\n7\tbj\xC3\xB6rk\n", "f"),
              IsOkAndHolds(ElementsAre(Pair(7, "bj\xC3\xB6rk"))));
  EXPECT_THAT(ParseTags("\xFF\xFEt", "f"), StatusIs(kInvalid, "f:1: the text is UTF-16"));
  EXPECT_THAT(ParseTags("tagID\ttagValue\n1\ta\n1\tb\n", "f"), StatusIs(kInvalid, "f:3: "));
}

TEST(HetrecFiles, ReadsListenings) {
  const std::string header = "userID\tartistID\tweight\n";
  const auto rows = ParseListenings(header + "2\t51\t13883\n2\t52\t1\n", "f");
  ASSERT_THAT(rows, IsOk());
  ASSERT_EQ(rows->size(), 2);
  EXPECT_EQ((*rows)[1].artist, 52);
  EXPECT_THAT(ParseListenings(header + "2\t51\t-1\n", "f"), StatusIs(kInvalid, "f:2: weight"));
  EXPECT_THAT(ParseListenings(header + "2\t51\t1\n2\t51\t2\n", "f"), StatusIs(kInvalid, "f:3: "));
}

TEST(HetrecFiles, ReadsAFolderWithPlainAndCompressedFiles) {
  const testing::TempDir folder;
  Put(folder.File("user_artists.dat"), "userID\tartistID\tweight\n5\t1\t1\n");
  Put(folder.File("user_taggedartists.dat.xz"),
      Compress(std::string(kTaggedHeader) + "3\t1\t1\t1\t1\t2009\n"));
  Put(folder.File("user_friends.dat"), std::string(kFriendsHeader) + "2\t3\n3\t2\n");
  EXPECT_THAT(ReadHetrecFiles(folder.path()),
              StatusIs(absl::StatusCode::kNotFound, folder.File("tags.dat")));
  Put(folder.File("tags.dat"), "tagID\ttagValue\n1\tmetal\n");
  const auto files = ReadHetrecFiles(folder.path());
  ASSERT_THAT(files, IsOk());
  EXPECT_THAT(UsersOf(*files), ElementsAre(2, 3, 5));
}

}  // namespace
}  // namespace bandana::testing
