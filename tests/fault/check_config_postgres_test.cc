// A database under --check_config: the verdict on it, and that nothing is left there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "tests/support/child_process.h"
#include "tests/support/postgres_server.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

class CheckConfigPostgresTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!PostgresServer::Available()) GTEST_SKIP() << "no PostgreSQL 15 here (package postgresql)";
  }

  ProcessResult Check(const std::string& connection) const {
    const std::string path = folder_.File("server.textproto");
    EXPECT_THAT(WriteFileDurably(path,
                                 absl::StrCat("listen: '127.0.0.1:0' http_listen: '127.0.0.1:0'"
                                              " log { postgresql { connection: '",
                                              connection,
                                              "' } }"
                                              " models { name: 'm' dimension: 2 mode: NON_PRIVATE"
                                              " shared {} reporting { one_per_decision: true } }"),
                                 0600),
                IsOk());
    return RunProgram("bandana-server", {"--config=" + path, "--check_config"});
  }

  const TempDir folder_;
};

TEST_F(CheckConfigPostgresTest, AsksWhetherItIsLetInAndLeavesNothing) {
  PostgresServer database;
  const ProcessResult taken = Check(database.connection());
  EXPECT_EQ(taken.exit_code, 0) << taken.out;
  EXPECT_THAT(taken.out, Not(HasSubstr("WARNING log")));
  EXPECT_EQ(database.Number("SELECT count(*) FROM pg_namespace WHERE nspname = 'bandana'"), 0);
}

TEST_F(CheckConfigPostgresTest, OneThatLetsNobodyInIsAMistake) {
  const PostgresServer database;
  const ProcessResult refused =
      Check(absl::StrCat("host=127.0.0.1 dbname=bandana user=nobody port=", database.port()));
  EXPECT_EQ(refused.exit_code, 1) << refused.out;
  EXPECT_THAT(refused.out, HasSubstr("log.postgresql.connection: PostgreSQL does not let us in"));
  EXPECT_THAT(refused.out, HasSubstr("\"nobody\" does not exist"));
}

TEST_F(CheckConfigPostgresTest, OneThatIsAwayIsSaid) {
  const ProcessResult away = Check("host=127.0.0.1 port=1 dbname=bandana user=bandana");
  EXPECT_EQ(away.exit_code, 0) << away.out;
  EXPECT_THAT(away.out, HasSubstr("WARNING log.postgresql.connection: PostgreSQL does not let us "
                                  "in"));
  EXPECT_THAT(away.out, HasSubstr("no model can be opened until it answers"));
}

}  // namespace
}  // namespace bandana::testing
