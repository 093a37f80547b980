#include "server/service/decisions/decision_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/fake_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::server {
namespace {

using testing::FakeClock;
using testing::IsOk;
using testing::StatusIs;
using testing::TempDir;
using Code = absl::StatusCode;

constexpr std::array<std::byte, 16> kInstance = {std::byte{7}};
const IsServed kServed = [](std::string_view, const auto& instance) {
  return instance == kInstance;
};

class DecisionBookTest : public ::testing::Test {
 protected:
  std::unique_ptr<DecisionBook> Open(bool stepped = true) {
    auto book =
        DecisionBook::Open({.path = folder_.File("decisions.sqlite"), .stepped = stepped}, clock_);
    EXPECT_THAT(book, IsOk());
    return *std::move(book);
  }
  // Answers under the name unless it is known; the answer.
  absl::StatusOr<std::string> Answer(DecisionBook& book, const std::string& id,
                                     const std::string& answer, const std::string& user = "ann",
                                     const std::string& content = "") {
    auto taken = book.Take({.model = "m", .caller = "shop", .id = id}, Sha256Of(content), kServed);
    if (!taken.ok()) return taken.status();
    if (const auto* known = std::get_if<std::string>(&*taken)) return *known;
    std::get<DecisionBook::Claim>(*taken).Keep({.until = clock_.Now() + absl::Hours(1),
                                                .maker = "m",
                                                .instance = kInstance,
                                                .user = Sha256Of(user),
                                                .answer = answer});
    return answer;
  }
  std::optional<std::string> Find(DecisionBook& book, const std::string& id) {
    return book.Find({.model = "m", .caller = "shop", .id = id});
  }
  std::string Bytes() {
    std::string all;
    for (const char* name : {"decisions.sqlite", "decisions.sqlite-wal"}) {
      std::ifstream file(folder_.File(name), std::ios::binary);
      all.append(std::istreambuf_iterator<char>(file), {});
    }
    return all;
  }

  TempDir folder_;
  FakeClock clock_;
};

TEST_F(DecisionBookTest, AnswersAreKnownAfterARestartUntilTheirTimeIsOver) {
  auto book = Open();
  EXPECT_EQ(*Answer(*book, "a", "first"), "first");
  clock_.Advance(absl::Minutes(30));
  EXPECT_EQ(*Answer(*book, "b", "later"), "later");
  book.reset();
  book = Open();
  EXPECT_EQ(book->figures().ids, 2);
  EXPECT_EQ(*Answer(*book, "a", "second"), "first");
  EXPECT_EQ(Find(*book, "b"), "later");
  EXPECT_THAT(Answer(*book, "a", "", "ann", "other"), StatusIs(Code::kAlreadyExists, ""));
  clock_.Advance(absl::Minutes(30));
  EXPECT_EQ(Find(*book, "a"), std::nullopt);
  EXPECT_EQ(*Answer(*book, "a", "second"), "second");
  book.reset();
  EXPECT_EQ(Open()->figures().ids, 2);
}

TEST_F(DecisionBookTest, ItsThreadHasWrittenEverythingWhenItIsClosed) {
  auto book = Open(/*stepped=*/false);
  for (int i = 0; i < 100; ++i) EXPECT_THAT(Answer(*book, std::to_string(i), "x"), IsOk());
  book.reset();
  EXPECT_EQ(Open()->figures().ids, 100);
}

TEST_F(DecisionBookTest, AClaimThatIsNotKeptIsGivenUp) {
  auto book = Open();
  const DecisionName name{.model = "m", .caller = "shop", .id = "a"};
  {
    auto claim = book->Take(name, Sha256Of(""), kServed);
    ASSERT_THAT(claim, IsOk());
    EXPECT_THAT(book->Take(name, Sha256Of(""), kServed),
                StatusIs(Code::kUnavailable, "decision_id: is being answered"));
  }
  EXPECT_EQ(*Answer(*book, "a", "x"), "x");
}

TEST_F(DecisionBookTest, NoByteOfADeletedUserIsLeft) {
  auto book = Open();
  for (int i = 0; i < 50; ++i) {
    EXPECT_THAT(Answer(*book, "ann" + std::to_string(i), "what-ann-saw", "ann"), IsOk());
    EXPECT_THAT(Answer(*book, "bob" + std::to_string(i), "what-bob-saw", "bob"), IsOk());
  }
  EXPECT_NE(Bytes().find("what-ann-saw"), std::string::npos);
  const std::vector<std::string> users = {"ann"};
  EXPECT_THAT(book->ForgetUsers({}, users), IsOk());  // of another instance
  EXPECT_EQ(book->figures().ids, 100);
  EXPECT_THAT(book->ForgetUsers(kInstance, users), IsOk());
  EXPECT_EQ(book->figures().ids, 50);
  EXPECT_EQ(Find(*book, "ann3"), std::nullopt);
  EXPECT_EQ(Find(*book, "bob3"), "what-bob-saw");
  EXPECT_EQ(Bytes().find("what-ann-saw"), std::string::npos);
  EXPECT_NE(Bytes().find("what-bob-saw"), std::string::npos);
}

TEST_F(DecisionBookTest, ADamagedFileIsNamed) {
  {
    auto book = Open();
    for (int i = 0; i < 20; ++i) {
      EXPECT_THAT(Answer(*book, std::to_string(i), std::string(200, 'z')), IsOk());
    }
    EXPECT_THAT(book->ForgetUsers({}, {}), IsOk());  // empties the write-ahead file
  }
  std::fstream file(folder_.File("decisions.sqlite"),
                    std::ios::binary | std::ios::in | std::ios::out);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  file.seekp(static_cast<std::streamoff>(bytes.find("zzzz") + 5));
  file.put('y');
  file.close();
  EXPECT_THAT(
      DecisionBook::Open({.path = folder_.File("decisions.sqlite"), .stepped = true}, clock_),
      StatusIs(Code::kDataLoss, folder_.File("decisions.sqlite")));
}

TEST_F(DecisionBookTest, OneOfManyThreadsDecides) {
  auto book = Open(/*stepped=*/false);
  std::atomic<int> decided = 0;
  std::atomic<int> same = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const std::string mine = std::to_string(t);
        absl::StatusOr<std::string> answer = absl::UnavailableError("");
        while (absl::IsUnavailable(answer.status())) {
          answer = Answer(*book, std::to_string(i), mine);
        }
        if (*answer == mine) ++decided;
        if (*answer == *Find(*book, std::to_string(i))) ++same;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(decided, 200);
  EXPECT_EQ(same, 1600);
}

}  // namespace
}  // namespace bandana::server
