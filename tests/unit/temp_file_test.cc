#include "common/base/temp_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "common/base/file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

std::string Content(const TempFile& file) {
  const absl::StatusOr<MappedFile> map = file.Map();
  EXPECT_THAT(map, IsOk());
  return std::string(map->bytes());
}

class TempFileTest : public ::testing::TestWithParam<bool> {
 protected:
  TempFile Make() {
    absl::StatusOr<TempFile> file =
        GetParam() ? TempFile::Make(folder_.path()) : TempFile::MakeNamed(folder_.path());
    EXPECT_THAT(file, IsOk());
    return *std::move(file);
  }
  const TempDir folder_;
};

TEST_P(TempFileTest, HoldsWhatIsWrittenAndHasNoName) {
  TempFile file = Make();
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  EXPECT_EQ(Content(file), "");
  ASSERT_THAT(file.Append("0123"), IsOk());
  ASSERT_THAT(file.Append("456789"), IsOk());
  ASSERT_THAT(file.WriteAt(3, "xyz"), IsOk());
  EXPECT_EQ(file.size(), 10);
  EXPECT_EQ(Content(file), "012xyz6789");
  std::string piece(4, '?');
  ASSERT_THAT(file.ReadAt(8, piece), ::bandana::testing::IsOkAndHolds(2u));
  EXPECT_EQ(piece, "89??");
  EXPECT_THAT(file.WriteAt(9, "too long"), ::testing::Not(IsOk()));
  EXPECT_EQ(Content(file), "012xyz6789");
}

TEST_P(TempFileTest, MovesWithItsBytesAndIsForItsOwnerAlone) {
  TempFile file = Make();
  ASSERT_THAT(file.Append("abc"), IsOk());
  TempFile moved = std::move(file);
  TempFile other = Make();
  other = std::move(moved);
  EXPECT_EQ(Content(other), "abc");
  // The only deleted file of this process in the folder.
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
    if (!target.starts_with(folder_.path() + "/") || !target.ends_with("(deleted)")) continue;
    ++found;
    EXPECT_EQ(std::filesystem::status(entry.path()).permissions(), std::filesystem::perms(0600));
  }
  EXPECT_GE(found, 1);
}

TEST_P(TempFileTest, RoomIsTakenBeforeItIsUsed) {
  TempFile file = Make();
  const std::uint64_t before = *FreeBytes(folder_.path());
  constexpr std::uint64_t kBytes = std::uint64_t{256} << 20;
  ASSERT_THAT(file.Reserve(kBytes), IsOk());
  EXPECT_EQ(file.size(), 0);
  EXPECT_EQ(Content(file), "");
  // Others use the disk as well, but not that much in this moment.
  EXPECT_LT(*FreeBytes(folder_.path()), before - kBytes / 2);
  ASSERT_THAT(file.Append("abc"), IsOk());
  EXPECT_EQ(Content(file), "abc");
  // A refused reservation takes nothing from others.
  EXPECT_THAT(file.Reserve(before * 2), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_GT(*FreeBytes(folder_.path()), before / 2);
  EXPECT_THAT(file.Reserve(UINT64_MAX), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(Content(file), "abc");
}

INSTANTIATE_TEST_SUITE_P(All, TempFileTest, ::testing::Bool());

TEST(TempFile, InMemoryNeedsNoFolder) {
  absl::StatusOr<TempFile> file = TempFile::InMemory();
  ASSERT_THAT(file, IsOk());
  ASSERT_THAT(file->Append("abc"), IsOk());
  EXPECT_EQ(Content(*file), "abc");
}

TEST_P(TempFileTest, GivesItsSpaceBackByAndBy) {
  const std::string piece(1 << 20, 'x');
  std::ifstream reader;
  {
    TempFile file = Make();
    for (int i = 0; i < 40; ++i) ASSERT_THAT(file.Append(piece), IsOk());
    for (const auto& open : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code error;
      const auto target = std::filesystem::read_symlink(open.path(), error).string();
      if (target.starts_with(folder_.path())) reader.open(open.path(), std::ios::binary);
    }
    ASSERT_TRUE(reader.is_open());
  }
  reader.seekg(0, std::ios::end);
  EXPECT_EQ(static_cast<std::size_t>(reader.tellg()), 8 * piece.size());
}

TEST(TempFile, SaysWhatIsMissing) {
  EXPECT_THAT(TempFile::Make("/no/such/folder"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(TempFile::MakeNamed("/no/such/folder"), StatusIs(absl::StatusCode::kNotFound));
}

TEST(TempFile, WhatAKilledProgramLeftIsRemovedAndNothingElse) {
  const TempDir folder;
  for (const char* name : {".temp-abc123", "temp-x", "config"}) {
    ASSERT_THAT(WriteFileDurably(folder.File(name), "x", 0600), IsOk());
  }
  ASSERT_THAT(MakeFolders(folder.File(".temp-folder")), IsOk());
  ASSERT_THAT(RemoveTempFiles(folder.path()), IsOk());
  EXPECT_FALSE(std::filesystem::exists(folder.File(".temp-abc123")));
  for (const char* name : {"temp-x", "config", ".temp-folder"}) {
    EXPECT_TRUE(std::filesystem::exists(folder.File(name))) << name;
  }
}

TEST(MappedFile, ReadsFilesOfAnySizeAndRefusesOthers) {
  const TempDir folder;
  ASSERT_THAT(WriteFileDurably(folder.File("x"), "abc", 0600), IsOk());
  ASSERT_THAT(WriteFileDurably(folder.File("empty"), "", 0600), IsOk());
  EXPECT_EQ(MappedFile::Open(folder.File("x"))->bytes(), "abc");
  EXPECT_EQ(MappedFile::Open(folder.File("empty"))->bytes(), "");
  EXPECT_THAT(MappedFile::Open(folder.File("absent")), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(MappedFile::Open(folder.path()), StatusIs(absl::StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace bandana::testing
