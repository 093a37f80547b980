// Whose bytes hold the reading thread.
#include "server/service/connections/flood_watch.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "absl/strings/str_cat.h"
#include "server/service/connections/bytes_read.h"

namespace bandana::server {
namespace {

constexpr std::uint64_t kMin = kFloodBytesMin;

TEST(FloodWatch, TheFirstLookOnlyTellsWhereTheyStand) {
  FloodWatch watch;
  EXPECT_EQ(watch.Look({{"a:1", "a", 100 * kMin}}), "");
  EXPECT_EQ(watch.Look({{"a:1", "a", 100 * kMin}}), "");
  EXPECT_EQ(watch.Look({{"a:1", "a", 101 * kMin}}), "a");
}

TEST(FloodWatch, TheAddressThatSentMostIsTheOne) {
  FloodWatch watch;
  watch.Look({{"a:1", "a", 0}, {"a:2", "a", 0}, {"b:1", "b", 0}, {"c:1", "c", 0}});
  EXPECT_EQ(watch.Look({{"a:1", "a", kMin}, {"a:2", "a", 2}, {"b:1", "b", kMin + 1}}), "a");
}

TEST(FloodWatch, ManyConnectionsOfAnAddressCountTogether) {
  FloodWatch watch;
  std::vector<Intake> connections;
  for (int i = 0; i < 100; ++i) connections.push_back({absl::StrCat("a:", i), "a", 0});
  watch.Look(connections);
  for (Intake& connection : connections) connection.bytes = kMin / 99;
  EXPECT_EQ(watch.Look(connections), "a");
}

TEST(FloodWatch, LittleIsNoFlood) {
  FloodWatch watch;
  watch.Look({{"a:1", "a", 0}});
  EXPECT_EQ(watch.Look({{"a:1", "a", kMin - 1}}), "");
  EXPECT_EQ(watch.Look({{"a:1", "a", 2 * kMin - 2}}), "");  // between two looks, not in all
}

TEST(FloodWatch, RestForgets) {
  FloodWatch watch;
  watch.Look({{"a:1", "a", 0}});
  watch.Rest();
  EXPECT_EQ(watch.Look({{"a:1", "a", 100 * kMin}}), "");
}

TEST(FloodWatch, WhatCameInTheMeantimeOrCannotBeToldIsNoFlood) {
  FloodWatch watch;
  watch.Look({{"a:1", "a", 50 * kMin}});
  EXPECT_EQ(watch.Look({{"a:1", "a", 0}, {"b:1", "b", 100 * kMin}}), "");
}

// Bytes that wait in the kernel were not read by the process.
TEST(BytesRead, CountsWhatWasReadAndNotWhatWaits) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const int client = ::socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&address), size), 0);
  const int server = ::accept(listener, nullptr, nullptr);
  ASSERT_GE(server, 0);
  std::array<char, 1000> bytes = {};
  ASSERT_EQ(::send(client, bytes.data(), bytes.size(), 0), 1000);
  ASSERT_EQ(::recv(server, bytes.data(), 400, MSG_WAITALL), 400);
  EXPECT_EQ(BytesRead(server), 400);
  EXPECT_EQ(BytesRead(client), 0);
  EXPECT_EQ(BytesRead(-1), 0);
  for (const int fd : {server, client, listener}) ::close(fd);
}

}  // namespace
}  // namespace bandana::server
