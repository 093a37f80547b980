#include "common/base/removal.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/base/file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

constexpr std::size_t kMib = 1 << 20;

void Fill(const std::string& path, std::size_t mib) {
  std::ofstream out(path, std::ios::binary);
  const std::string piece(kMib, 'x');
  for (std::size_t i = 0; i < mib; ++i) out << piece;
}

TEST(RemoveFile, RemovesSmallAndLargeFiles) {
  const TempDir dir;
  for (const std::size_t mib : {0, 1, 16, 17, 50}) {
    Fill(dir.File("x"), mib);
    EXPECT_THAT(RemoveFile(dir.File("x")), IsOkAndHolds(true)) << mib;
    EXPECT_FALSE(std::filesystem::exists(dir.File("x"))) << mib;
  }
}

TEST(RemoveFile, SaysThatThereIsNone) {
  const TempDir dir;
  EXPECT_THAT(RemoveFile(dir.File("x")), IsOkAndHolds(false));
}

TEST(RemoveFile, LeavesWhatHasAnotherName) {
  const TempDir dir;
  Fill(dir.File("x"), 40);
  std::filesystem::create_hard_link(dir.File("x"), dir.File("y"));
  EXPECT_THAT(RemoveFile(dir.File("x")), IsOkAndHolds(true));
  EXPECT_EQ(std::filesystem::file_size(dir.File("y")), 40 * kMib);
}

TEST(RemoveFile, RemovesALinkAndNotWhatItPointsAt) {
  const TempDir dir;
  Fill(dir.File("x"), 40);
  std::filesystem::create_symlink(dir.File("x"), dir.File("y"));
  EXPECT_THAT(RemoveFile(dir.File("y")), IsOkAndHolds(true));
  EXPECT_EQ(std::filesystem::file_size(dir.File("x")), 40 * kMib);
}

TEST(RemoveFile, DoesNotWaitForAPipe) {
  const TempDir dir;
  ASSERT_EQ(::mkfifo(dir.File("x").c_str(), 0600), 0);
  EXPECT_THAT(RemoveFile(dir.File("x")), IsOkAndHolds(true));
}

TEST(RemoveFile, RefusesAFolderThatIsNotEmpty) {
  const TempDir dir;
  std::filesystem::create_directory(dir.File("x"));
  Fill(dir.File("x/y"), 1);
  EXPECT_THAT(RemoveFile(dir.File("x")), StatusIs(absl::StatusCode::kUnavailable, "x"));
  EXPECT_TRUE(std::filesystem::exists(dir.File("x/y")));
}

TEST(LeavingFile, GivesNothingBackWhileItHasItsName) {
  const TempDir dir;
  Fill(dir.File("x"), 40);
  LeavingFile file(dir.File("x"));
  file.GiveBack();
  EXPECT_EQ(std::filesystem::file_size(dir.File("x")), 40 * kMib);
}

TEST(LeavingFile, GivesBackWhatAnotherFileReplaced) {
  const TempDir dir;
  Fill(dir.File("x"), 40);
  std::ifstream reader(dir.File("x"), std::ios::binary);
  ASSERT_THAT(WriteFileDurably(dir.File("x"), "new", 0600), IsOk());
  EXPECT_THAT(ReadFile(dir.File("x"), 10), IsOkAndHolds("new"));
  // Who still has the old one open sees it cut.
  reader.seekg(0, std::ios::end);
  EXPECT_LE(static_cast<std::size_t>(reader.tellg()), 16 * kMib);
}

TEST(RemoveFolder, RemovesAllThatIsInIt) {
  const TempDir dir;
  std::filesystem::create_directories(dir.File("x/a/b"));
  Fill(dir.File("x/a/b/large"), 40);
  Fill(dir.File("x/small"), 1);
  Fill(dir.File("kept"), 1);
  std::filesystem::create_symlink(dir.File("kept"), dir.File("x/link"));
  EXPECT_THAT(RemoveFolder(dir.File("x")), IsOk());
  EXPECT_FALSE(std::filesystem::exists(dir.File("x")));
  EXPECT_TRUE(std::filesystem::exists(dir.File("kept")));
}

TEST(RemoveFolder, IsContentWithoutOne) {
  const TempDir dir;
  EXPECT_THAT(RemoveFolder(dir.File("x")), IsOk());
}

}  // namespace
}  // namespace bandana::testing
