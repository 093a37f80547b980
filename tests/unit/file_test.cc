#include "common/base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

int ModeOf(const std::string& path) {
  struct stat info = {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0);
  return info.st_mode & 0777;
}

TEST(File, ReadsBackWhatWasWritten) {
  const TempDir dir;
  const std::string bytes("a\0b\n\xff", 5);
  ASSERT_THAT(WriteFileDurably(dir.File("x"), bytes, 0600), IsOk());
  EXPECT_THAT(ReadFile(dir.File("x"), 5), IsOkAndHolds(bytes));
  EXPECT_EQ(ModeOf(dir.File("x")), 0600);
  EXPECT_FALSE(std::filesystem::exists(dir.File("x.tmp")));
}

TEST(File, ReplacesTheOldContentAsAWhole) {
  const TempDir dir;
  ASSERT_THAT(WriteFileDurably(dir.File("x"), "a long content", 0600), IsOk());
  ASSERT_THAT(WriteFileDurably(dir.File("x"), "b", 0600), IsOk());
  EXPECT_THAT(ReadFile(dir.File("x"), 100), IsOkAndHolds("b"));
  ASSERT_THAT(WriteFileDurably(dir.File("x"), "", 0600), IsOk());
  EXPECT_THAT(ReadFile(dir.File("x"), 0), IsOkAndHolds(""));
}

TEST(File, ReadsFilesLargerThanItsBuffer) {
  const TempDir dir;
  const std::string bytes(200'001, 'q');
  ASSERT_THAT(WriteFileDurably(dir.File("x"), bytes, 0600), IsOk());
  EXPECT_THAT(ReadFile(dir.File("x"), 200'001), IsOkAndHolds(bytes));
  EXPECT_THAT(ReadFile(dir.File("x"), 200'000),
              StatusIs(absl::StatusCode::kResourceExhausted, "200000 bytes"));
}

TEST(File, AFailedWriteLeavesTheOldFile) {
  const TempDir dir;
  ASSERT_THAT(WriteFileDurably(dir.File("x"), "old", 0600), IsOk());
  std::filesystem::create_directory(dir.File("x.tmp"));
  EXPECT_THAT(WriteFileDurably(dir.File("x"), "new", 0600),
              StatusIs(absl::StatusCode::kUnavailable, "x.tmp"));
  EXPECT_THAT(ReadFile(dir.File("x"), 10), IsOkAndHolds("old"));
}

TEST(File, AContentThatFailsLeavesNothing) {
  const TempDir dir;
  const ByteSource half = [](const ByteSink& sink) {
    const absl::Status written = sink("half");
    return written.ok() ? absl::UnavailableError("lost") : written;
  };
  EXPECT_THAT(WriteFileDurably(dir.File("x"), half, 0600),
              StatusIs(absl::StatusCode::kUnavailable, "lost"));
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(File, ErrorsSayWhichFile) {
  const TempDir dir;
  EXPECT_THAT(ReadFile(dir.File("none"), 10),
              StatusIs(absl::StatusCode::kNotFound, dir.File("none")));
  EXPECT_THAT(ReadFile(dir.path(), 10), StatusIs(absl::StatusCode::kUnavailable, dir.path()));
  EXPECT_THAT(WriteFileDurably(dir.File("none/x"), "", 0600),
              StatusIs(absl::StatusCode::kNotFound, "none/x"));
}

TEST(File, MakesMissingFoldersPrivate) {
  const TempDir dir;
  ASSERT_THAT(MakeFolders(dir.File("a/b/c")), IsOk());
  EXPECT_EQ(ModeOf(dir.File("a")), 0700);
  EXPECT_EQ(ModeOf(dir.File("a/b/c")), 0700);
  EXPECT_THAT(MakeFolders(dir.File("a/b/c")), IsOk());
  ASSERT_THAT(WriteFileDurably(dir.File("file"), "", 0600), IsOk());
  EXPECT_FALSE(MakeFolders(dir.File("file/below")).ok());
}

TEST(File, ResolvesRelativePathsAgainstTheFolder) {
  EXPECT_EQ(ResolvePath("x", "/etc"), "/etc/x");
  EXPECT_EQ(ResolvePath("/x", "/etc"), "/x");
  EXPECT_EQ(ResolvePath("x/y", ""), "x/y");
}

TEST(File, KnowsWhatTheDiskHasFree) {
  const TempDir dir;
  const auto free = FreeBytes(dir.path());
  ASSERT_THAT(free, IsOk());
  EXPECT_GT(*free, 0);
  EXPECT_LT(*free, std::uint64_t{1} << 60);
  EXPECT_THAT(FreeBytes(dir.File("absent")), StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace bandana::testing
