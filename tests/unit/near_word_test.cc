// The word that somebody may have meant, and flags that a program does not have.
#include "common/base/near_word.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "common/base/flag_words.h"

ABSL_FLAG(std::string, listen, "", "of this test");
ABSL_FLAG(bool, check_config, false, "of this test");

namespace bandana {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsChangesAndSwaps) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("abc", ""), 3);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("listne", "listen"), 1);
  EXPECT_EQ(EditDistance("ab", "ba"), 1);
  EXPECT_EQ(EditDistance("Reward-Min", "reward_min"), 0);
}

TEST(NearestWord, IsTheNearestOfThoseThatAreNearEnough) {
  const std::vector<std::string_view> words = {"reward_min", "reward_max", "mode", "features"};
  EXPECT_EQ(NearestWord("reward_mx", words), "reward_max");
  EXPECT_EQ(NearestWord("reward_mi", words), "reward_min");
  EXPECT_EQ(NearestWord("feature", words), "features");
  EXPECT_EQ(NearestWord("moed", words), "mode");
  EXPECT_EQ(NearestWord("arms", words), "");
  EXPECT_EQ(NearestWord("", words), "");
  EXPECT_EQ(NearestWord("x", words), "");
  EXPECT_EQ(NearestWord("mode", {}), "");
  EXPECT_EQ(NearestWord(std::string(65, 'm'), words), "");
}

TEST(DidYouMean, IsEmptyWhereNothingIsNear) {
  const std::vector<std::string_view> words = {"mode"};
  EXPECT_EQ(DidYouMean("mod", words), ": did you mean mode?");
  EXPECT_EQ(DidYouMean("zebra", words), "");
}

std::optional<std::string> Unknown(std::vector<const char*> words) {
  words.insert(words.begin(), "program");
  return UnknownFlag(static_cast<int>(words.size()), words.data());
}

TEST(UnknownFlag, NamesTheFirstAndTheNearest) {
  EXPECT_EQ(Unknown({"--lisen=1", "--zebra"}), "unknown flag --lisen: did you mean --listen?");
  EXPECT_EQ(Unknown({"-check-confg"}), "unknown flag -check-confg: did you mean --check_config?");
  EXPECT_EQ(Unknown({"--zebra", "1"}), "unknown flag --zebra");
}

TEST(UnknownFlag, TakesWhatAbseilTakes) {
  EXPECT_EQ(Unknown({}), std::nullopt);
  EXPECT_EQ(Unknown({"-listen", "--odd", "word", "-", "--nocheck_config"}), std::nullopt);
  EXPECT_EQ(Unknown({"--listen=1", "--", "--odd"}), std::nullopt);
  EXPECT_EQ(Unknown({"--odd", "--undefok=odd"}), std::nullopt);
  EXPECT_EQ(Unknown({"--check_config", "--odd"}), "unknown flag --odd");
}

}  // namespace
}  // namespace bandana
