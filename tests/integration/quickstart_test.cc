// The example of the SDK guide does what it says, against the server that it names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/base/file.h"
#include "tests/support/child_process.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

TEST(QuickstartTest, RunsAgainstItsServer) {
  const TempDir folder;
  const auto config = ReadFile(QUICKSTART_CONFIG, 1 << 16);
  ASSERT_THAT(config, IsOk());
  const auto server = ServerProcess::Start({.config = *config, .folder = folder.path()});
  ASSERT_THAT(server, IsOk());
  ChildProcess quickstart({QUICKSTART_PROGRAM, (*server)->listen(), folder.File("device.db")});
  EXPECT_EQ(quickstart.Wait(), 0) << quickstart.err();
  EXPECT_THAT(quickstart.out(), ::testing::HasSubstr("100 reports applied"));
  EXPECT_THAT(quickstart.out(), ::testing::HasSubstr("epsilon 2 per event, 100 events"));
}

}  // namespace
}  // namespace bandana::testing
