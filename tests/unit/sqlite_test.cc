// The owner of SQLite's interface: what both sides rely on beyond SQLite itself.
#include "common/sqlite/sqlite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

// Says all that it was told.
absl::Status Told(int code, std::string_view detail, std::string_view what) {
  return absl::AbortedError(absl::StrCat(code, " | ", ToAbsl(detail), " | ", ToAbsl(what)));
}

class SqliteTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = SqliteConnection::Open(":memory:", "", Told);
    ASSERT_THAT(opened, IsOk());
    connection_ = *std::move(opened);
    ASSERT_THAT(connection_.Exec("CREATE TABLE t(a INTEGER PRIMARY KEY, b ANY) STRICT"), IsOk());
  }
  SqliteStatement Prepared(const char* sql) {
    auto made = connection_.Prepare(sql);
    EXPECT_THAT(made, IsOk());
    return made.ok() ? *std::move(made) : SqliteStatement();
  }

  SqliteConnection connection_;
};

TEST_F(SqliteTest, ValuesComeBackAsTheyWere) {
  SqliteStatement put = Prepared("INSERT INTO t VALUES (?, ?)");
  const std::int64_t least = INT64_MIN;
  ASSERT_THAT(put.Bind(1, std::int64_t{1}).Bind(2, least).Run(), IsOk());
  ASSERT_THAT(put.Bind(1, std::int64_t{2}).Bind(2, 0.1).Run(), IsOk());
  ASSERT_THAT(put.Bind(1, std::int64_t{3}).Bind(2, std::string_view("x\0y", 3)).Run(), IsOk());
  // No bytes, from nowhere and copied, are not NULL.
  ASSERT_THAT(put.Bind(1, std::int64_t{4}).Bind(2, std::span<const std::byte>()).Run(), IsOk());
  ASSERT_THAT(put.Bind(1, std::int64_t{5}).BindCopy(2, std::string_view()).Run(), IsOk());
  EXPECT_EQ(connection_.Changes(), 1);
  SqliteStatement get = Prepared("SELECT b FROM t ORDER BY a");
  const auto next = [&get] { return get.Step().value_or(false); };
  ASSERT_TRUE(next());
  EXPECT_EQ(get.Int(0), least);
  ASSERT_TRUE(next());
  EXPECT_EQ(get.Real(0), 0.1);
  ASSERT_TRUE(next());
  EXPECT_EQ(get.Blob(0), std::string_view("x\0y", 3));
  for (int row = 4; row <= 5; ++row) {
    ASSERT_TRUE(next());
    EXPECT_FALSE(get.IsNull(0));
    EXPECT_EQ(get.Blob(0), "");
  }
  EXPECT_FALSE(next());
}

TEST_F(SqliteTest, FailuresAreInTheOwnersWords) {
  EXPECT_THAT(
      connection_.Exec("SELECT * FROM missing"),
      StatusIs(absl::StatusCode::kAborted, "1 | no such table: missing | SELECT * FROM missing"));
  EXPECT_THAT(connection_.Prepare("SELECT * FROM missing"),
              StatusIs(absl::StatusCode::kAborted, "no such table: missing"));
  EXPECT_THAT(SqliteConnection::Open("/no/such/file", "", Told),
              StatusIs(absl::StatusCode::kAborted, "cannot open /no/such/file"));
  SqliteStatement put = Prepared("INSERT INTO t VALUES (1, 1)");
  ASSERT_THAT(put.Run(), IsOk());
  // The extended code.
  EXPECT_THAT(put.Run(), StatusIs(absl::StatusCode::kAborted,
                                  absl::StrCat(SQLITE_CONSTRAINT_PRIMARYKEY, " | ")));
}

TEST_F(SqliteTest, ABindThatFailsIsTheNextStepsFailure) {
  SqliteStatement put = Prepared("INSERT INTO t VALUES (?, 1)");
  EXPECT_THAT(put.Bind(1, std::int64_t{1}).Bind(7, 0.5).Run(),
              StatusIs(absl::StatusCode::kAborted, absl::StrCat(SQLITE_RANGE, " | ")));
  // Nothing was written, and the next one starts anew.
  EXPECT_THAT(put.Bind(1, std::int64_t{1}).Run(), IsOk());
}

TEST_F(SqliteTest, ClosesOnlyWithoutStatements) {
  EXPECT_FALSE(connection_.InTransaction());
  ASSERT_THAT(connection_.Exec("BEGIN"), IsOk());
  EXPECT_TRUE(connection_.InTransaction());
  ASSERT_THAT(connection_.Exec("COMMIT"), IsOk());
  std::optional<SqliteStatement> statement = Prepared("SELECT 1");
  EXPECT_FALSE(connection_.Close());
  statement.reset();
  EXPECT_TRUE(connection_.Close());
  EXPECT_EQ(connection_.get(), nullptr);
}

}  // namespace
}  // namespace bandana::testing
