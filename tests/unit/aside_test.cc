#include "server/service/transport/aside.h"

#include <grpcpp/alarm.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace bandana::testing {
namespace {

using server::LooksAside;

TEST(LooksAsideTest, GivesEachEventAndTheEnd) {
  grpc::CompletionQueue queue;
  int first = 0, second = 0;
  grpc::Alarm now, later;
  const auto start = std::chrono::system_clock::now();
  now.Set(&queue, start, &first);
  later.Set(&queue, start + std::chrono::milliseconds(30), &second);
  LooksAside looks;
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(looks.Next(queue, &tag, &ok));
  EXPECT_EQ(tag, &first);
  ASSERT_TRUE(looks.Next(queue, &tag, &ok));
  EXPECT_EQ(tag, &second);
  EXPECT_TRUE(ok);
  std::thread ending([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    queue.Shutdown();
  });
  EXPECT_FALSE(looks.Next(queue, &tag, &ok));
  ending.join();
}

}  // namespace
}  // namespace bandana::testing
