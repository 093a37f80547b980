// The token that a server draws for itself: what is kept, and what is refused.
#include "server/ops/config/generated_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "absl/status/status.h"
#include "common/base/file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

class GeneratedTokenTest : public ::testing::Test {
 protected:
  static AccessRules Rules() {
    AccessRules rules{.principals = {{.name = "generated"}}, .anonymous_roles = {}};
    rules.generate_token = true;
    return rules;
  }
  absl::StatusOr<std::string> Open(AccessRules& rules) {
    return OpenGeneratedToken(folder_.path(), SystemBits(), rules);
  }
  static bool IsKnown(const AccessRules& rules, const std::string& token) {
    const std::string bearer = "Bearer " + token;
    const auto caller = Identify(rules, {.authorization = {bearer}, .subjects = {}});
    return caller.ok() && caller->principal == rules.principals.data();
  }

  const TempDir folder_;
  const std::string file_ = folder_.File(kGeneratedTokenFile);
};

TEST_F(GeneratedTokenTest, IsDrawnOnceAndKnownLater) {
  AccessRules first = Rules();
  const auto token = Open(first);
  ASSERT_THAT(token, IsOk());
  EXPECT_EQ(token->size(), 64);
  EXPECT_TRUE(IsKnown(first, *token));
  AccessRules later = Rules();
  EXPECT_THAT(Open(later), IsOkAndHolds(""));
  EXPECT_TRUE(IsKnown(later, *token));
  EXPECT_FALSE(IsKnown(later, *token + "0"));
}

TEST_F(GeneratedTokenTest, KeepsTheDigestAloneAndForItsOwnerAlone) {
  AccessRules rules = Rules();
  const std::string token = *Open(rules);
  EXPECT_THAT(ReadFile(file_, 4096), IsOkAndHolds(ToHex(Sha256Of(token)) + "\n"));
  struct stat info {};
  ASSERT_EQ(::stat(file_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600);
}

TEST_F(GeneratedTokenTest, AnotherIsDrawnWhenTheFileIsGone) {
  AccessRules first = Rules();
  const std::string token = *Open(first);
  ASSERT_EQ(::remove(file_.c_str()), 0);
  AccessRules rules = Rules();
  const std::string next = *Open(rules);
  EXPECT_NE(next, token);
  EXPECT_TRUE(IsKnown(rules, next));
  EXPECT_FALSE(IsKnown(rules, token));
}

TEST_F(GeneratedTokenTest, ADamagedFileIsRefusedAndNotReplaced) {
  for (const std::string text : {"", "00", "token"}) {
    ASSERT_THAT(WriteFileDurably(file_, text, 0600), IsOk());
    AccessRules rules = Rules();
    EXPECT_THAT(Open(rules), StatusIs(absl::StatusCode::kDataLoss, file_));
    EXPECT_THAT(ReadFile(file_, 4096), IsOkAndHolds(text));
  }
}

TEST_F(GeneratedTokenTest, AFileThatOthersCanReadIsRefused) {
  ASSERT_THAT(WriteFileDurably(file_, ToHex(Sha256Of("t")) + "\n", 0644), IsOk());
  AccessRules rules = Rules();
  EXPECT_THAT(Open(rules), StatusIs(absl::StatusCode::kFailedPrecondition, file_));
}

}  // namespace
}  // namespace bandana::server
