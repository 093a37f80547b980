#include "server/service/tokens/random_buffer.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <set>

#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using ::bandana::testing::IsOk;
using Value = std::array<std::byte, 16>;

Value Draw() {
  Value value{};
  EXPECT_THAT(FillRandom(value), IsOk());
  return value;
}

TEST(RandomBufferTest, GivesEveryByteOutOnce) {
  std::set<Value> seen;
  for (int i = 0; i < 2000; ++i) EXPECT_TRUE(seen.insert(Draw()).second);  // over several blocks
}

TEST(RandomBufferTest, AForkedChildDrawsOtherBytesThanItsParent) {
  Draw();  // the block is now half used in both
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Value value{};
    const bool ok =
        FillRandom(value).ok() && ::write(pipe_ends[1], value.data(), value.size()) == 16;
    ::_exit(ok ? 0 : 1);
  }
  Value of_child{};
  ASSERT_EQ(::read(pipe_ends[0], of_child.data(), of_child.size()), 16);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_NE(Draw(), of_child);
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
}

}  // namespace
}  // namespace bandana::server
