// Closures of one pointer (client/core/callback.h).
#include "client/core/callback.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace bandana::device {
namespace {

TEST(CallbackTest, PassesItsArgumentsAndReturnsTheResult) {
  const Callback<std::string(int, std::unique_ptr<int>, const std::string&)> joined =
      [](int a, const std::unique_ptr<int>& b, const std::string& c) {
        return std::to_string(a + *b) + c;
      };
  EXPECT_EQ(joined(1, std::make_unique<int>(2), "x"), "3x");
}

TEST(CallbackTest, TakesClosuresThatCannotBeCopied) {
  const Callback<int()> held = [value = std::make_unique<int>(7)] { return *value; };
  EXPECT_EQ(held(), 7);
}

TEST(CallbackTest, CopiesAreOneClosure) {
  const Callback<int()> count = [calls = 0]() mutable { return ++calls; };
  const Callback<int()> copy = count;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(count(), 1);
  EXPECT_EQ(copy(), 2);
}

TEST(CallbackTest, TheClosureEndsOnceWithItsLastOwner) {
  const auto seen = std::make_shared<int>(0);
  Callback<void()> first = [seen] {};
  Callback<void()> second = first;
  Callback<void()> third = std::move(first);
  EXPECT_EQ(seen.use_count(), 2);
  second = nullptr;
  EXPECT_EQ(seen.use_count(), 2);
  third = [] {};
  EXPECT_EQ(seen.use_count(), 1);
}

TEST(CallbackTest, IsEmptyWhereItWasMadeOfNothing) {
  EXPECT_FALSE(Callback<void()>());
  EXPECT_TRUE(Callback<void()>(nullptr) == nullptr);
  EXPECT_FALSE(Callback<void()>(std::function<void()>()));
  EXPECT_TRUE(Callback<void()>(std::function<void()>([] {})));
  Callback<void()> given = [] {};
  const Callback<void()> taken = std::move(given);
  EXPECT_TRUE(taken);
  EXPECT_FALSE(given);  // NOLINT(bugprone-use-after-move)
}

}  // namespace
}  // namespace bandana::device
