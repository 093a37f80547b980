// Files of decisions: by name, packed, whole or not there.
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "common/decisions/jsonl_reader.h"
#include "common/decisions/jsonl_writer.h"
#include "common/sqlite/sqlite.h"
#include "tests/support/logged_decisions.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/decisions/decision_sink.h"
#include "tools/decisions/packed_file.h"

namespace bandana::testing {
namespace {

void WriteBoth(const std::string& path, std::string_view format = "") {
  auto sink = OpenDecisionSink(path, format);
  ASSERT_THAT(sink, IsOk());
  ASSERT_THAT((*sink)->Write(PlainDecision()), IsOk());
  ASSERT_THAT((*sink)->Write(FullDecision()), IsOk());
  ASSERT_THAT((*sink)->Finish(), IsOk());
}

std::string Raw(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string Unpacked(const std::string& path) {
  const auto bytes = OpenPackedFile(path);
  EXPECT_THAT(bytes, IsOk());
  std::string text;
  std::string block(1000, '\0');
  while (bytes.ok()) {
    const auto got = (*bytes)(block.data(), block.size());
    EXPECT_THAT(got, IsOk());
    if (!got.ok() || *got == 0) break;
    text += block.substr(0, *got);
  }
  return text;
}

bool Exists(const std::string& path) {
  struct stat found = {};
  return stat(path.c_str(), &found) == 0;
}

absl::Status SqliteError(int, std::string_view detail, std::string_view what) {
  return absl::InternalError(absl::StrCat(std::string(detail), ": ", std::string(what)));
}

// The rows of a query, cells parted by |.
std::string Query(const std::string& path, const std::string& sql) {
  auto connection = SqliteConnection::Open(path, "", SqliteError);
  EXPECT_THAT(connection, IsOk());
  auto statement = connection->Prepare(("SELECT CAST((" + sql + ") AS BLOB)").c_str());
  EXPECT_THAT(statement, IsOk());
  if (!statement.ok()) return "";
  EXPECT_THAT(statement->Step(), IsOkAndHolds(true));
  return std::string(statement->Blob(0));
}

TEST(DecisionSink, WritesLinesOfJson) {
  const TempDir folder;
  WriteBoth(folder.File("log.jsonl"));
  std::string expected;
  AppendJsonLines(PlainDecision(), expected);
  AppendJsonLines(FullDecision(), expected);
  EXPECT_EQ(Raw(folder.File("log.jsonl")), expected);
}

TEST(DecisionSink, PacksByTheName) {
  const TempDir folder;
  for (const char* name : {"log.jsonl", "log.csv", "log.dsjson", "log.sqlite"}) {
    const std::string plain = folder.File(name);
    WriteBoth(plain);
    WriteBoth(plain + ".gz");
    EXPECT_THAT(Raw(plain + ".gz"), StartsWith("\x1F\x8B")) << name;
    EXPECT_EQ(Unpacked(plain + ".gz"), Raw(plain)) << name;
    EXPECT_EQ(Unpacked(plain), Raw(plain)) << name;
  }
}

TEST(DecisionSink, TakesTheFormatThatIsNamed) {
  const TempDir folder;
  WriteBoth(folder.File("log"), "obp");
  EXPECT_THAT(Raw(folder.File("log")), StartsWith(",timestamp,item_id"));
  WriteBoth(folder.File("log.csv"), "dsjson");
  EXPECT_THAT(Raw(folder.File("log.csv")), StartsWith("{\"_label_cost\""));
}

TEST(DecisionSink, RefusesNamesThatTellNoFormat) {
  const TempDir folder;
  EXPECT_THAT(OpenDecisionSink(folder.File("log.gz"), "").status(),
              StatusIs(Code::kInvalidArgument, "must end in .jsonl, .csv"));
  EXPECT_THAT(
      OpenDecisionSink(folder.File("log.csv"), "vw").status(),
      StatusIs(Code::kInvalidArgument, "format: must be jsonl, obp, dsjson or sqlite, got \"vw\""));
  EXPECT_THAT(OpenDecisionSink(folder.File("none/log.csv"), "").status(),
              StatusIs(Code::kNotFound));
  EXPECT_THAT(OpenDecisionSink(folder.File("none/log.sqlite"), "").status(),
              StatusIs(Code::kNotFound));
}

TEST(DecisionSink, LeavesNothingThatIsNotWhole) {
  const TempDir folder;
  for (const char* name : {"log.csv", "log.jsonl.gz", "log.sqlite", "log.sqlite.gz"}) {
    const std::string path = folder.File(name);
    {
      auto sink = OpenDecisionSink(path, "");
      ASSERT_THAT(sink, IsOk());
      ASSERT_THAT((*sink)->Write(PlainDecision()), IsOk());
    }
    for (const char* end : {"", ".tmp", ".making"}) EXPECT_FALSE(Exists(path + end)) << path << end;
  }
}

TEST(DecisionSink, KeepsFilesFromOthers) {
  const TempDir folder;
  for (const char* name : {"log.csv", "log.sqlite", "log.sqlite.gz"}) {
    WriteBoth(folder.File(name));
    struct stat found = {};
    ASSERT_EQ(stat(folder.File(name).c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0600u) << name;
  }
}

TEST(SqliteSink, HasTablesAndViews) {
  const TempDir folder;
  const std::string path = folder.File("log.sqlite");
  WriteBoth(path);
  EXPECT_EQ(Query(path, "SELECT count(*) FROM decisions"), "2");
  EXPECT_EQ(Query(path,
                  "SELECT group_concat(arm || ':' || reward || ':' || round(uniform_weight, 6) "
                  "|| ':' || state) FROM choices WHERE reward NOT NULL"),
            "9:0.5:0.666667:known,a\\b:0.3:2.0:known");
  EXPECT_EQ(Query(path,
                  "SELECT group_concat(arm || '=' || p || '=' || chosen) FROM offers WHERE "
                  "decision = 'd1'"),
            "4=0.25=0,9=0.75=1");
  EXPECT_EQ(Query(path, "SELECT state || offered || baseline || own_law FROM slots WHERE slot = 1"),
            "unreported51[0.25,0.75]");
  EXPECT_EQ(Query(path,
                  "SELECT released_epsilon || ':' || released_low || ':' || released_high || "
                  "clipped FROM slots WHERE number = 2 AND slot = 0"),
            "2.0:-1.5:3.51");
  EXPECT_EQ(Query(path, "SELECT count(*) FROM slots WHERE released_low IS NULL AND x IS NULL"),
            "1");
  EXPECT_EQ(Query(path,
                  "SELECT json_extract(context, '$.city') || time || reward_min FROM "
                  "decisions WHERE user NOT NULL"),
            "Paris, Texas2023-11-14T22:13:20.123456789Z-1.0");
}

TEST(PackedFile, SaysThatAPackedFileIsCut) {
  const TempDir folder;
  const std::string path = folder.File("log.jsonl.gz");
  WriteBoth(path);
  const std::string whole = Raw(path);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << whole.substr(0, whole.size() - 20);
  const auto bytes = OpenPackedFile(path);
  ASSERT_THAT(bytes, IsOk());
  std::string block(1 << 16, '\0');
  absl::Status status;
  while (status.ok()) {
    const auto got = (*bytes)(block.data(), block.size());
    status = got.status();
    ASSERT_FALSE(got.ok() && *got == 0) << "ended as if it were whole";
  }
  EXPECT_THAT(status, StatusIs(Code::kDataLoss, "gzip data is truncated"));
  EXPECT_THAT(OpenPackedFile(folder.File("none")).status(), StatusIs(Code::kNotFound));
}

}  // namespace
}  // namespace bandana::testing
