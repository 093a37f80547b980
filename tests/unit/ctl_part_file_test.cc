#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "common/base/file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/ctl/part_file.h"

namespace bandana::testing {
namespace {

std::filesystem::perms ModeOf(const std::string& path) {
  return std::filesystem::status(path).permissions();
}

TEST(PartFile, TheOldFileStaysUntilTheNewOneIsComplete) {
  const TempDir folder;
  const std::string path = folder.File("x");
  ASSERT_THAT(WriteFileDurably(path, "old", 0644), IsOk());
  auto file = PartFile::Create(path);
  ASSERT_THAT(file, IsOk());
  ASSERT_THAT(file->Append("ne"), IsOk());
  ASSERT_THAT(file->Append("w"), IsOk());
  ASSERT_THAT(file->Sync(), IsOk());
  EXPECT_EQ(file->size(), 3);
  EXPECT_THAT(ReadFile(path, 10), IsOkAndHolds("old"));
  EXPECT_THAT(ReadFile(path + ".part", 10), IsOkAndHolds("new"));
  ASSERT_THAT(file->Commit(), IsOk());
  EXPECT_THAT(ReadFile(path, 10), IsOkAndHolds("new"));
  EXPECT_EQ(ModeOf(path), std::filesystem::perms(0600));
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
}

TEST(PartFile, NothingIsLeftOfOneThatIsGivenUp) {
  const TempDir folder;
  {
    auto file = PartFile::Create(folder.File("x"));
    ASSERT_THAT(file, IsOk());
    const PartFile moved = *std::move(file);
    ASSERT_TRUE(std::filesystem::exists(moved.part()));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(PartFile, WhatAKilledProgramLeftIsWrittenOver) {
  const TempDir folder;
  ASSERT_THAT(WriteFileDurably(folder.File("x.part"), "a long rest", 0666), IsOk());
  auto file = PartFile::Create(folder.File("x"));
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(ModeOf(file->part()), std::filesystem::perms(0600));
  ASSERT_THAT(file->Append("new"), IsOk());
  ASSERT_THAT(file->Commit(), IsOk());
  EXPECT_THAT(ReadFile(folder.File("x"), 100), IsOkAndHolds("new"));
}

TEST(PartFile, OneProgramAtATime) {
  const TempDir folder;
  const auto file = PartFile::Create(folder.File("x"));
  ASSERT_THAT(file, IsOk());
  EXPECT_THAT(PartFile::Create(folder.File("x")),
              StatusIs(absl::StatusCode::kFailedPrecondition, folder.File("x.part")));
  EXPECT_TRUE(std::filesystem::exists(file->part()));
  EXPECT_THAT(PartFile::Create(folder.File("absent/x")), StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace bandana::testing
