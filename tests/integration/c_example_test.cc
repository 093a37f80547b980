// The example in C does what it says, against the server that it names, and goes on from its rows.
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

using ::testing::HasSubstr;

TEST(CExampleTest, ReportsPrivatelyAndKeepsItsLedger) {
  const TempDir folder;
  const auto config = ReadFile(QUICKSTART_CONFIG, 1 << 16);
  ASSERT_THAT(config, IsOk());
  const auto server = ServerProcess::Start(
      {.config = *config, .folder = folder.path(), .arguments = {"--api_listen", "127.0.0.1:0"}});
  ASSERT_THAT(server, IsOk());
  const std::string store = folder.File("device.db");
  for (const char* events : {"1 events", "2 events"}) {
    ChildProcess program({FIRST_REPORT_PROGRAM, (*server)->api_listen(), store});
    EXPECT_EQ(program.Wait(), 0) << program.err();
    EXPECT_THAT(program.out(), HasSubstr("1 report applied; epsilon 2 per event, "));
    EXPECT_THAT(program.out(), HasSubstr(events));
  }
  auto key = ReadFile(store + ".key", 32);
  ASSERT_THAT(key, IsOk());
  (*key)[0] ^= 1;
  ASSERT_THAT(WriteFileDurably(store + ".key", *key, 0600), IsOk());
  ChildProcess other({FIRST_REPORT_PROGRAM, (*server)->api_listen(), store});
  EXPECT_EQ(other.Wait(), 1);
  EXPECT_THAT(other.err(), HasSubstr("the rows are not sound"));
}

}  // namespace
}  // namespace bandana::testing
