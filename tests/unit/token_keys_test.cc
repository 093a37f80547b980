#include "server/service/tokens/token_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/base/file.h"
#include "common/base/status.h"
#include "server/service/tokens/token.h"
#include "server/service/tokens/token_key_file.h"
#include "tests/support/fake_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

class TokenKeysTest : public ::testing::Test {
 protected:
  TokenKeys::Options Options() const {
    return {
        .file = file_, .rotation_interval = absl::Hours(24), .poll_interval = absl::ZeroDuration()};
  }
  std::unique_ptr<TokenKeys> Open(const TokenKeys::Options& options) {
    auto keys = TokenKeys::Open(options, clock_);
    EXPECT_THAT(keys, IsOk());
    return keys.ok() ? *std::move(keys) : nullptr;
  }
  std::unique_ptr<TokenKeys> Open() { return Open(Options()); }
  static std::uint32_t SealingId(TokenKeys& keys) {
    auto key = keys.TakeSealingKey();
    EXPECT_THAT(key, IsOk());
    return (*key)->id;
  }
  std::vector<StoredKey> Stored() {
    auto stored = ReadKeyFile(file_);
    EXPECT_THAT(stored, IsOk());
    return *std::move(stored);
  }
  void WriteWithMode(std::string_view text, int mode) {
    std::ofstream(file_) << text;
    ASSERT_EQ(::chmod(file_.c_str(), mode), 0);
  }

  TempDir folder_;
  const std::string file_ = folder_.File("token_keys");
  FakeClock clock_;
};

TEST_F(TokenKeysTest, MakesAPrivateFile) {
  Open();
  struct stat info;
  ASSERT_EQ(::stat(file_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600);
  EXPECT_THAT(Stored(), SizeIs(1));
}

TEST_F(TokenKeysTest, RefusesAFileThatOthersMayRead) {
  Open();
  for (const int mode : {0604, 0640, 0660, 0644}) {
    ASSERT_EQ(::chmod(file_.c_str(), mode), 0);
    EXPECT_THAT(TokenKeys::Open(Options(), clock_),
                StatusIs(absl::StatusCode::kFailedPrecondition, "must be 0600"));
  }
  ASSERT_EQ(::chmod(file_.c_str(), 0400), 0);
  EXPECT_THAT(TokenKeys::Open(Options(), clock_), IsOk());
}

TEST_F(TokenKeysTest, ALooseTemporaryFileDoesNotLoosenTheKeys) {
  { std::ofstream(file_ + ".tmp") << "left by a crash"; }
  ASSERT_EQ(::chmod((file_ + ".tmp").c_str(), 0666), 0);
  Open();
  struct stat info;
  ASSERT_EQ(::stat(file_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600);
}

TEST_F(TokenKeysTest, RefusesADamagedFile) {
  Open();
  auto text = ReadFile(file_, 1 << 16);
  ASSERT_THAT(text, IsOk());
  for (std::size_t i = 0; i < text->size(); ++i) {
    std::string changed = *text;
    changed[i] = changed[i] == '7' ? '8' : '7';
    WriteWithMode(changed, 0600);
    EXPECT_THAT(TokenKeys::Open(Options(), clock_),
                StatusIs(absl::StatusCode::kDataLoss, "token keys"))
        << i;
  }
  for (std::size_t n = 0; n + 1 < text->size();
       ++n) {  // without its last line break it is still whole
    WriteWithMode(text->substr(0, n), 0600);
    EXPECT_THAT(TokenKeys::Open(Options(), clock_), StatusIs(absl::StatusCode::kDataLoss)) << n;
  }
}

TEST_F(TokenKeysTest, RefusesAFolderInPlaceOfTheFile) {
  ASSERT_EQ(::mkdir(file_.c_str(), 0700), 0);
  EXPECT_THAT(TokenKeys::Open(Options(), clock_), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(TokenKeysTest, NamesAMissingFolder) {
  TokenKeys::Options options = Options();
  options.file = folder_.File("missing/token_keys");
  EXPECT_THAT(TokenKeys::Open(options, clock_),
              StatusIs(absl::StatusCode::kUnavailable, "missing/token_keys"));
}

TEST_F(TokenKeysTest, SurvivesARestart) {
  const std::uint32_t id = SealingId(*Open());
  const auto again = Open();
  EXPECT_EQ(SealingId(*again), id);
  EXPECT_NE(again->Find(id), nullptr);
}

TEST_F(TokenKeysTest, TokensOfOneReplicaOpenAtAnother) {
  const auto a = Open();
  const auto b = Open();
  Decision decision;
  decision.arms.push_back({.propensity = 1, .features = {0.5}});
  std::string token;
  ASSERT_THAT(TokenCodec(*a).Seal(decision, token), IsOk());
  EXPECT_THAT(TokenCodec(*b).Open(token), IsOk());
}

TEST_F(TokenKeysTest, TwoKeysAreValidAfterRotationByAge) {
  const auto keys = Open();
  const std::uint32_t first = SealingId(*keys);
  clock_.Advance(absl::Hours(24) - absl::Seconds(1));
  ASSERT_THAT(keys->Maintain(), IsOk());
  EXPECT_EQ(SealingId(*keys), first);
  EXPECT_THAT(Stored(), SizeIs(1));

  clock_.Advance(absl::Seconds(1));
  ASSERT_THAT(keys->Maintain(), IsOk());
  EXPECT_THAT(Stored(), SizeIs(2));
  EXPECT_EQ(SealingId(*keys), first);  // other replicas may not know the new key yet
  clock_.Advance(absl::Seconds(5));
  ASSERT_THAT(keys->Maintain(), IsOk());
  const std::uint32_t second = SealingId(*keys);
  EXPECT_NE(second, first);
  EXPECT_NE(keys->Find(first), nullptr);

  // The first key opens tokens for another interval after it was replaced, and is then dropped.
  clock_.Advance(absl::Hours(24) - absl::Seconds(6));
  ASSERT_THAT(keys->Maintain(), IsOk());
  EXPECT_NE(keys->Find(first), nullptr);
  clock_.Advance(absl::Minutes(2));
  ASSERT_THAT(keys->Maintain(), IsOk());
  EXPECT_EQ(keys->Find(first), nullptr);
  EXPECT_NE(keys->Find(second), nullptr);
  EXPECT_THAT(Stored(), SizeIs(2));
}

// Two servers whose clocks differ would otherwise replace each other's key at each look, until the
// keys of open tokens are gone.
TEST_F(TokenKeysTest, AKeyOfTheFutureAgesFromWhenItWasSeen) {
  const auto keys = Open();
  clock_.Jump(-absl::Hours(100));
  for (int hour = 0; hour < 23; ++hour) {
    ASSERT_THAT(keys->Maintain(), IsOk());
    EXPECT_THAT(Stored(), SizeIs(1));
    clock_.Advance(absl::Hours(1));
  }
  clock_.Advance(absl::Hours(2));
  ASSERT_THAT(keys->Maintain(), IsOk());
  EXPECT_THAT(Stored(), SizeIs(2));
}

TEST_F(TokenKeysTest, TheFileCountsAtLeastWhatWasSealed) {
  TokenKeys::Options options = Options();
  options.seals_reserved = 10;
  options.seals_per_key_max = 1000;
  std::uint64_t sealed = 0;
  for (int run = 0; run < 3; ++run) {
    const auto keys = Open(options);
    for (int i = 0; i < 25; ++i) {
      ASSERT_THAT(keys->Maintain(), IsOk());
      SealingId(*keys);
      ++sealed;
      EXPECT_GE(Stored().front().seals_bound, sealed);
    }
  }
  EXPECT_LE(Stored().front().seals_bound, sealed + 3 * 2 * options.seals_reserved);
}

TEST_F(TokenKeysTest, StopsSealingRatherThanGoBeyondItsReserve) {
  TokenKeys::Options options = Options();
  options.seals_reserved = 10;
  const auto keys = Open(options);
  for (int i = 0; i < 10; ++i) SealingId(*keys);
  EXPECT_THAT(keys->TakeSealingKey(), StatusIs(absl::StatusCode::kUnavailable, "reserve"));
  ASSERT_THAT(keys->Maintain(), IsOk());
  EXPECT_THAT(keys->TakeSealingKey(), IsOk());
}

TEST_F(TokenKeysTest, RotatesBeforeAKeyHasSealedTooMuch) {
  TokenKeys::Options options = Options();
  options.seals_reserved = 10;
  options.seals_per_key_max = 40;
  const auto keys = Open(options);
  std::map<std::uint32_t, int> seals;
  for (int i = 0; i < 200; ++i) {
    ASSERT_THAT(keys->Maintain(), IsOk());
    ++seals[SealingId(*keys)];
  }
  EXPECT_GE(seals.size(), 5);
  for (const auto& [id, count] : seals) {
    EXPECT_LE(count, 40);
    EXPECT_NE(keys->Find(id), nullptr);  // none of its tokens has expired yet
  }
}

TEST_F(TokenKeysTest, FollowsAnotherReplicasRotation) {
  const auto a = Open();
  const auto b = Open();
  const std::uint32_t first = SealingId(*a);
  clock_.Advance(absl::Hours(24));
  ASSERT_THAT(a->Maintain(), IsOk());
  ASSERT_THAT(b->Maintain(), IsOk());
  clock_.Advance(absl::Seconds(6));
  ASSERT_THAT(a->Maintain(), IsOk());
  ASSERT_THAT(b->Maintain(), IsOk());
  const std::uint32_t second = SealingId(*a);
  EXPECT_NE(second, first);
  EXPECT_EQ(SealingId(*b), second);
  EXPECT_THAT(Stored(), SizeIs(2));
}

TEST_F(TokenKeysTest, KnowsANewKeyBeforeAnotherReplicaSealsWithIt) {
  const auto a = Open();
  const auto b = Open();
  clock_.Advance(absl::Hours(24));
  ASSERT_THAT(a->Maintain(), IsOk());
  ASSERT_THAT(b->Maintain(), IsOk());  // b looks at the file each second
  clock_.Advance(absl::Seconds(6));
  ASSERT_THAT(a->Maintain(), IsOk());
  EXPECT_NE(b->Find(SealingId(*a)), nullptr);
}

TEST_F(TokenKeysTest, KeepsItsKeysWhenTheFileIsGone) {
  const auto keys = Open();
  const std::uint32_t id = SealingId(*keys);
  ASSERT_EQ(::unlink(file_.c_str()), 0);
  EXPECT_FALSE(keys->Maintain().ok());
  EXPECT_FALSE(keys->status().ok());
  EXPECT_EQ(SealingId(*keys), id);
}

TEST_F(TokenKeysTest, TheBackgroundThreadReservesAhead) {
  TokenKeys::Options options = Options();
  options.seals_reserved = 1000;
  options.poll_interval = absl::Hours(1);  // so only being low can wake it
  const auto keys = Open(options);
  for (int i = 0; i < 5000; ++i) {
    while (!keys->TakeSealingKey().ok()) std::this_thread::yield();
  }
  EXPECT_GE(Stored().front().seals_bound, 5000);
}

TEST_F(TokenKeysTest, RefusesOptionsOutOfRange) {
  TokenKeys::Options options = Options();
  options.rotation_interval = absl::ZeroDuration();
  EXPECT_THAT(TokenKeys::Open(options, clock_), StatusIs(absl::StatusCode::kInvalidArgument));
  options = Options();
  options.seals_reserved = options.seals_per_key_max + 1;
  EXPECT_THAT(TokenKeys::Open(options, clock_), StatusIs(absl::StatusCode::kInvalidArgument));
}

// Files that servers share, in memory.
class FakeShared final : public SharedFiles {
 public:
  absl::StatusOr<File> Read(std::string_view) const override {
    if (down) return Unavailable("away");
    return file.version == 0 ? absl::StatusOr<File>(NotFound("none")) : file;
  }
  absl::StatusOr<std::int64_t> Version(std::string_view) const override {
    if (down) return Unavailable("away");
    return file.version;
  }
  bool keeps_secrets() const override { return true; }
  absl::StatusOr<std::int64_t> Replace(std::string_view, std::int64_t version,
                                       std::string_view content, bool secret) override {
    EXPECT_TRUE(secret);
    if (down) return Unavailable("away");
    if (rival) std::exchange(rival, nullptr)();
    if (version != file.version) return absl::AbortedError("another was faster");
    file = {.content = std::string(content), .version = version + 1, .sealed = true};
    return file.version;
  }

  File file;
  bool down = false;
  std::function<void()> rival;  // comes between the next read and its write
};

// Whoever may write the database alone would choose what tokens are sealed with.
TEST_F(TokenKeysTest, ASharedRingThatIsNotSealedIsRefused) {
  const auto shared = std::make_shared<FakeShared>();
  TokenKeys::Options options = Options();
  options.store = SharedKeys(shared, file_);
  SealingId(*Open(options));
  shared->file.sealed = false;
  EXPECT_THAT(TokenKeys::Open(options, clock_),
              StatusIs(absl::StatusCode::kFailedPrecondition, "token keys: "));
}

TEST_F(TokenKeysTest, ServersShareARingThatIsNoFile) {
  const auto shared = std::make_shared<FakeShared>();
  TokenKeys::Options options = Options();
  // Tokens that a server has sealed under its file before stay good.
  const std::uint32_t before = SealingId(*Open(options));
  options.store = SharedKeys(shared, file_);
  const auto one = Open(options);
  EXPECT_EQ(SealingId(*one), before);
  options.file = folder_.File("other");
  options.store = SharedKeys(shared, options.file);
  const auto two = Open(options);
  EXPECT_EQ(SealingId(*two), before);
  const auto bound = [&] { return ParseKeyFile(shared->file.content)->front().seals_bound; };
  EXPECT_EQ(bound(), 3 * kSealsReserved);

  // Rotated by one, known to the other before it seals.
  clock_.Advance(absl::Hours(25));
  ASSERT_THAT(one->Maintain(), IsOk());
  ASSERT_THAT(two->Maintain(), IsOk());
  const std::uint32_t next = ParseKeyFile(shared->file.content)->front().id;
  EXPECT_NE(next, before);
  EXPECT_NE(two->Find(next), nullptr);
  clock_.Advance(absl::Seconds(6));
  ASSERT_THAT(one->Maintain(), IsOk());
  EXPECT_EQ(SealingId(*one), next);
  EXPECT_NE(two->Find(before), nullptr);
  EXPECT_FALSE(std::filesystem::exists(options.file));
}

TEST_F(TokenKeysTest, NoReserveOfASharedRingIsLostWhereTwoAreAsFast) {
  const auto shared = std::make_shared<FakeShared>();
  TokenKeys::Options options = Options();
  options.store = SharedKeys(shared, file_);
  std::unique_ptr<TokenKeys> two;
  shared->rival = [&] { two = Open(options); };
  const auto one = Open(options);
  EXPECT_EQ(SealingId(*one), SealingId(*two));
  EXPECT_EQ(ParseKeyFile(shared->file.content)->front().seals_bound, 2 * kSealsReserved);
  // Away: what is reserved still seals.
  shared->down = true;
  EXPECT_THAT(one->Maintain(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(one->TakeSealingKey(), IsOk());
}

}  // namespace
}  // namespace bandana::server
