#include "server/service/admin/stream_guard.h"

#include <grpcpp/server_context.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "absl/time/clock.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using testing::IsOk;

// Its watcher compared the steady clock with the wall clock, and asked again without a pause.
TEST(StreamGuard, SleepsWhileAStreamIsOpen) {
  StreamGuard guard({.streams_max = 1, .stream_life_max = absl::Hours(1)});
  grpc::ServerContext context;
  const auto lease = guard.Enter(context);
  ASSERT_THAT(lease, IsOk());
  // In the quietest of five spans: a program that begins has other work.
  double least = 1;
  for (int span = 0; span < 5; ++span) {
    const std::clock_t before = std::clock();
    absl::SleepFor(absl::Milliseconds(100));
    least = std::min(least, static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC);
  }
  EXPECT_LT(least, 0.005);
}

}  // namespace
}  // namespace bandana::server
