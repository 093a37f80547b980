#include "server/service/decisions/decision_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/base/bytes.h"
#include "server/log/sqlite.h"
#include "server/service/answer_keys_of_tokens.h"
#include "tests/support/fake_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

std::string FileAt(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr std::array<std::byte, 16> kInstance = {std::byte{7}};
const IsServed kServed = [](std::string_view, const auto& instance) {
  return instance == kInstance;
};

class DecisionIndexTest : public ::testing::Test {
 protected:
  std::unique_ptr<DecisionIndex> Open(bool stepped = true) {
    auto index = DecisionIndex::Open(
        {.path = folder_.File("decisions.sqlite"), .keys = &answer_keys_, .stepped = stepped},
        clock_);
    EXPECT_THAT(index, IsOk());
    return *std::move(index);
  }
  // Answers under the name unless it is known; the answer.
  absl::StatusOr<std::string> Answer(DecisionIndex& index, const std::string& id,
                                     const std::string& answer, const std::string& user = "ann",
                                     const std::string& content = "") {
    auto taken = index.Take({.model = "m", .caller = "shop", .id = id}, Sha256Of(content), kServed);
    if (!taken.ok()) return taken.status();
    if (const auto* known = std::get_if<std::string>(&*taken)) return *known;
    std::get<DecisionIndex::Claim>(*taken).Keep({.until = clock_.Now() + absl::Hours(1),
                                                 .maker = "m",
                                                 .instance = kInstance,
                                                 .user = Sha256Of(user),
                                                 .answer = answer});
    return answer;
  }
  std::optional<std::string> Find(DecisionIndex& index, const std::string& id) {
    return index.Find({.model = "m", .caller = "shop", .id = id});
  }
  std::string Bytes() {
    return FileAt(folder_.File("decisions.sqlite")) + FileAt(folder_.File("decisions.sqlite-wal"));
  }
  std::int64_t RowsOnDisk() {
    auto connection = OpenSqlite(folder_.File("decisions.sqlite"), "").value();
    auto count = connection.Prepare("SELECT COUNT(*) FROM sealed_answers").value();
    EXPECT_THAT(count.Step(), IsOk());
    return count.Int(0);
  }
  // One answer, in clear, as format 1 had them.
  void MakeFormerFile(const std::string& id, const std::string& answer,
                      const std::string& content) {
    auto connection = OpenSqlite(folder_.File("decisions.sqlite"), "").value();
    ASSERT_THAT(connection.Exec("PRAGMA user_version = 1;"
                                "CREATE TABLE answers(name BLOB PRIMARY KEY, answer BLOB NOT NULL) "
                                "WITHOUT ROWID;"),
                IsOk());
    std::string name;
    ByteWriter names(name);
    for (const std::string& part : {std::string("m"), std::string("shop"), id}) names.Block(part);
    const Sha256Digest key = Sha256Of(name);
    std::string row;
    ByteWriter out(row);
    out.Fixed(Sha256Of(content));
    out.I64(absl::ToUnixMicros(clock_.Now() + absl::Hours(1)));
    out.Block("m");
    out.Fixed(kInstance);
    out.Fixed(Sha256Of("ann"));
    out.Block(answer);
    const Sha256Digest check = Sha256Of(std::string(AsChars(key)) + row);
    out.Fixed(std::span(check).first(8));
    auto put = connection.Prepare("INSERT INTO answers VALUES(?, ?)").value();
    ASSERT_THAT(put.Bind(1, std::span<const std::byte>(key)).Bind(2, std::string_view(row)).Run(),
                IsOk());
  }

  std::unique_ptr<TokenKeys> OpenKeys(const std::string& file) {
    return *TokenKeys::Open({.file = folder_.File(file), .poll_interval = absl::ZeroDuration()},
                            clock_);
  }

  TempDir folder_;
  FakeClock clock_;
  std::unique_ptr<TokenKeys> keys_ = OpenKeys("token_keys");
  AnswerKeysOfTokens answer_keys_{*keys_};
};

TEST_F(DecisionIndexTest, AnswersAreKnownAfterARestartUntilTheirTimeIsOver) {
  auto index = Open();
  EXPECT_EQ(*Answer(*index, "a", "first"), "first");
  clock_.Advance(absl::Minutes(30));
  EXPECT_EQ(*Answer(*index, "b", "later"), "later");
  index.reset();
  index = Open();
  EXPECT_EQ(index->figures().ids, 2);
  EXPECT_EQ(*Answer(*index, "a", "second"), "first");
  EXPECT_EQ(Find(*index, "b"), "later");
  EXPECT_THAT(Answer(*index, "a", "", "ann", "other"), StatusIs(Code::kAlreadyExists, ""));
  clock_.Advance(absl::Minutes(30));
  EXPECT_EQ(Find(*index, "a"), std::nullopt);
  EXPECT_EQ(*Answer(*index, "a", "second"), "second");
  index.reset();
  EXPECT_EQ(Open()->figures().ids, 2);
}

TEST_F(DecisionIndexTest, ItsThreadHasWrittenEverythingWhenItIsClosed) {
  auto index = Open(/*stepped=*/false);
  for (int i = 0; i < 100; ++i) EXPECT_THAT(Answer(*index, std::to_string(i), "x"), IsOk());
  index.reset();
  EXPECT_EQ(Open()->figures().ids, 100);
}

TEST_F(DecisionIndexTest, AClaimThatIsNotKeptIsGivenUp) {
  auto index = Open();
  const DecisionName name{.model = "m", .caller = "shop", .id = "a"};
  {
    auto claim = index->Take(name, Sha256Of(""), kServed);
    ASSERT_THAT(claim, IsOk());
    EXPECT_THAT(index->Take(name, Sha256Of(""), kServed),
                StatusIs(Code::kUnavailable, "decision_id: is being answered"));
  }
  EXPECT_EQ(*Answer(*index, "a", "x"), "x");
}

TEST_F(DecisionIndexTest, NoByteOfADeletedUserIsLeft) {
  auto index = Open();
  for (int i = 0; i < 50; ++i) {
    EXPECT_THAT(Answer(*index, "ann" + std::to_string(i), "what-ann-saw", "ann"), IsOk());
    EXPECT_THAT(Answer(*index, "bob" + std::to_string(i), "what-bob-saw", "bob"), IsOk());
  }
  const std::vector<std::string> users = {"ann"};
  EXPECT_THAT(index->ForgetUsers({}, users), IsOk());  // of another instance
  EXPECT_EQ(index->figures().ids, 100);
  EXPECT_THAT(index->ForgetUsers(kInstance, users), IsOk());
  EXPECT_EQ(index->figures().ids, 50);
  EXPECT_EQ(Find(*index, "ann3"), std::nullopt);
  EXPECT_EQ(Find(*index, "bob3"), "what-bob-saw");
  EXPECT_EQ(RowsOnDisk(), 50);
  EXPECT_THAT(FileAt(folder_.File("decisions.sqlite-wal")), IsEmpty());
  index.reset();
  EXPECT_EQ(Find(*Open(), "ann3"), std::nullopt);
}

// A thief of the file could try guesses of answers, and of digests of requests, users and names.
TEST_F(DecisionIndexTest, TheFileShowsNothingToWhoLacksTheKeys) {
  auto index = Open();
  EXPECT_THAT(Answer(*index, "a-name", "what-ann-saw", "ann", "the-request"), IsOk());
  const std::string bytes = Bytes();
  std::string name;
  ByteWriter out(name);
  for (const char* part : {"m", "shop", "a-name"}) out.Block(part);
  for (const std::string& hidden :
       {std::string("what-ann-saw"), std::string(AsChars(Sha256Of("the-request"))),
        std::string(AsChars(Sha256Of("ann"))), std::string(AsChars(Sha256Of("shop"))),
        std::string(AsChars(Sha256Of(name)))}) {
    EXPECT_EQ(bytes.find(hidden), std::string::npos);
  }
}

// A ring without the key opens no token either, so that nothing is lost with the row.
TEST_F(DecisionIndexTest, AnAnswerGoesWithItsKey) {
  {
    auto index = Open();
    EXPECT_THAT(Answer(*index, "a", "x"), IsOk());
  }
  const auto others = OpenKeys("other_token_keys");
  const AnswerKeysOfTokens other_keys(*others);
  auto index = *DecisionIndex::Open(
      {.path = folder_.File("decisions.sqlite"), .keys = &other_keys, .stepped = true}, clock_);
  EXPECT_EQ(index->figures().ids, 0);
  EXPECT_EQ(*Answer(*index, "a", "y"), "y");
  EXPECT_EQ(RowsOnDisk(), 1);
}

TEST_F(DecisionIndexTest, AnswersOutliveARotationOfTheKeys) {
  auto index = Open();
  EXPECT_THAT(Answer(*index, "a", "x"), IsOk());
  clock_.Advance(absl::Hours(24));  // the rotation's interval
  ASSERT_THAT(keys_->Maintain(), IsOk());
  clock_.Advance(absl::Seconds(10));
  ASSERT_THAT(keys_->Maintain(), IsOk());
  EXPECT_THAT(Answer(*index, "b", "y"), IsOk());
  index.reset();
  index = Open();
  EXPECT_EQ(Find(*index, "b"), "y");
}

TEST_F(DecisionIndexTest, AFileOfTheFormerFormatIsSealed) {
  MakeFormerFile("old-name", "what-ann-saw", "the-request");
  EXPECT_NE(Bytes().find("what-ann-saw"), std::string::npos);
  auto index = Open();
  EXPECT_EQ(Find(*index, "old-name"), "what-ann-saw");
  EXPECT_EQ(*Answer(*index, "old-name", "", "ann", "the-request"), "what-ann-saw");
  EXPECT_THAT(Answer(*index, "old-name", "", "ann", "other"), StatusIs(Code::kAlreadyExists, ""));
  EXPECT_EQ(Bytes().find("what-ann-saw"), std::string::npos);
  EXPECT_EQ(Bytes().find(std::string(AsChars(Sha256Of("the-request")))), std::string::npos);
  index.reset();
  EXPECT_EQ(Find(*Open(), "old-name"), "what-ann-saw");
}

TEST_F(DecisionIndexTest, OneCallerLeavesRoomForOthers) {
  auto index = *DecisionIndex::Open({.path = folder_.File("decisions.sqlite"),
                                     .keys = &answer_keys_,
                                     .limits = {.bytes_max = 40'000},
                                     .stepped = true},
                                    clock_);
  const auto answer = [&](const std::string& caller, int id) -> absl::Status {
    const std::string name = std::to_string(id);
    auto taken = index->Take({.model = "m", .caller = caller, .id = name}, Sha256Of(""), kServed);
    if (!taken.ok()) return taken.status();
    std::get<DecisionIndex::Claim>(*taken).Keep({.until = clock_.Now() + absl::Hours(1),
                                                 .maker = "m",
                                                 .instance = kInstance,
                                                 .answer = std::string(600, 'x')});
    return absl::OkStatus();
  };
  int kept = 0;
  while (answer("shop", kept).ok()) ++kept;
  EXPECT_EQ(kept, 10);  // of about 1000 bytes, the quarter of 40,000
  EXPECT_THAT(answer("shop", kept),
              StatusIs(Code::kResourceExhausted,
                       "decision_id: this caller has as many named decisions as one may"));
  EXPECT_THAT(answer("press", 0), IsOk());
  // Also after a restart; and what has expired makes room.
  index.reset();
  index = *DecisionIndex::Open({.path = folder_.File("decisions.sqlite"),
                                .keys = &answer_keys_,
                                .limits = {.bytes_max = 40'000},
                                .stepped = true},
                               clock_);
  EXPECT_THAT(answer("shop", kept), StatusIs(Code::kResourceExhausted, "decision_id: this caller"));
  EXPECT_THAT(answer("press", 1), IsOk());
  clock_.Advance(absl::Hours(1));
  EXPECT_THAT(answer("shop", kept), IsOk());
}

TEST_F(DecisionIndexTest, ADamagedFileIsNamed) {
  {
    auto index = Open();
    for (int i = 0; i < 20; ++i) {
      EXPECT_THAT(Answer(*index, std::to_string(i), std::string(200, 'z')), IsOk());
    }
    EXPECT_THAT(index->ForgetUsers({}, {}), IsOk());  // empties the write-ahead file
  }
  std::fstream file(folder_.File("decisions.sqlite"),
                    std::ios::binary | std::ios::in | std::ios::out);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  // The pages of the rows are the last of the file, filled from their ends.
  file.seekp(static_cast<std::streamoff>(bytes.size() - 50));
  file.put(static_cast<char>(bytes[bytes.size() - 50] ^ 1));
  file.close();
  EXPECT_THAT(
      DecisionIndex::Open(
          {.path = folder_.File("decisions.sqlite"), .keys = &answer_keys_, .stepped = true},
          clock_),
      StatusIs(Code::kDataLoss, folder_.File("decisions.sqlite")));
}

TEST_F(DecisionIndexTest, OneOfManyThreadsDecides) {
  auto index = Open(/*stepped=*/false);
  std::atomic<int> decided = 0;
  std::atomic<int> same = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const std::string mine = std::to_string(t);
        absl::StatusOr<std::string> answer = absl::UnavailableError("");
        while (absl::IsUnavailable(answer.status())) {
          answer = Answer(*index, std::to_string(i), mine);
        }
        if (*answer == mine) ++decided;
        if (*answer == *Find(*index, std::to_string(i))) ++same;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(decided, 200);
  EXPECT_EQ(same, 1600);
}

}  // namespace
}  // namespace bandana::server
