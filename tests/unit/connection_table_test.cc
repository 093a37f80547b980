// Which connections a listener takes: number, address, rate, offences.
#include "server/service/connections/connection_table.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <set>

#include "absl/strings/str_cat.h"

namespace bandana::server {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

Peer At(const std::string& group, int port) {
  return {.name = absl::StrCat(group, ":", port), .group = group};
}

// Sockets are numbered; those in `closed` are gone.
class ConnectionTableTest : public ::testing::Test {
 protected:
  ConnectionTable Table(const ConnectionLimits& limits) {
    return ConnectionTable(limits,
                           [this](const SocketId& s) { return !closed_.contains(s.inode); });
  }
  Refusal Enter(ConnectionTable& table, const std::string& group, absl::Time now = kStart) {
    ++next_;
    return table.Enter(At(group, next_), {.descriptor = next_, .inode = std::uint64_t(next_)}, now);
  }
  int next_ = 0;
  std::set<std::uint64_t> closed_;
};

TEST_F(ConnectionTableTest, OneAddressHasHalf) {
  ConnectionTable table = Table({.connections_max = 8});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Enter(table, "a"), Refusal::kNone);
  EXPECT_EQ(Enter(table, "a"), Refusal::kGroupFull);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Enter(table, "b"), Refusal::kNone);
  EXPECT_EQ(Enter(table, "c"), Refusal::kNone);
  EXPECT_EQ(Enter(table, "c"), Refusal::kFull);
  EXPECT_EQ(table.open(), 8);
}

TEST_F(ConnectionTableTest, OneAddressMayHaveAllByOption) {
  ConnectionTable table = Table({.connections_max = 4, .per_group_max = 4});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Enter(table, "a"), Refusal::kNone);
  EXPECT_EQ(Enter(table, "a"), Refusal::kFull);
}

TEST_F(ConnectionTableTest, ClosedConnectionsMakeRoom) {
  ConnectionTable table = Table({.connections_max = 4});
  EXPECT_EQ(Enter(table, "a"), Refusal::kNone);
  EXPECT_EQ(Enter(table, "a"), Refusal::kNone);
  EXPECT_EQ(Enter(table, "a", kStart + absl::Milliseconds(30)), Refusal::kGroupFull);
  closed_ = {1};
  EXPECT_EQ(Enter(table, "a", kStart + absl::Milliseconds(31)), Refusal::kGroupFull);  // not again
  EXPECT_EQ(Enter(table, "a", kStart + absl::Milliseconds(60)), Refusal::kNone);
  EXPECT_EQ(Enter(table, "a", kStart + absl::Milliseconds(90)), Refusal::kGroupFull);
}

TEST_F(ConnectionTableTest, ArrivalsOfAnAddressHaveARate) {
  ConnectionTable table = Table({.arrivals_per_second = 10});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Enter(table, "a"), Refusal::kNone);
  EXPECT_EQ(Enter(table, "a"), Refusal::kTooFast);
  EXPECT_EQ(Enter(table, "b"), Refusal::kNone);
  EXPECT_EQ(Enter(table, "a", kStart + absl::Milliseconds(100)), Refusal::kNone);
  EXPECT_EQ(Enter(table, "a", kStart + absl::Milliseconds(100)), Refusal::kTooFast);
}

// With TLS: forgers, and whoever else wastes handshakes.
TEST_F(ConnectionTableTest, ConnectionsThatEndWithoutACallSlowTheirAddress) {
  ConnectionTable table = Table({.offences_per_second = 3, .handshakes = true});
  for (int i = 1; i <= 4; ++i) {
    ASSERT_EQ(Enter(table, "a"), Refusal::kNone);
    closed_.insert(i);
  }
  // More are silent than are forgiven, so they are looked at soon.
  const absl::Time later = kStart + absl::Milliseconds(30);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Enter(table, "a", later), Refusal::kNone);
  EXPECT_EQ(Enter(table, "a", later), Refusal::kOffender);
  EXPECT_EQ(Enter(table, "b", later), Refusal::kNone);
  // One more of them, and the ten seconds begin anew.
  closed_.insert(5);
  table.Sweep(later + absl::Seconds(9));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Enter(table, "a", later + absl::Seconds(11)), Refusal::kNone);
  }
  EXPECT_EQ(Enter(table, "a", later + absl::Seconds(11)), Refusal::kOffender);
  EXPECT_EQ(Enter(table, "a", later + absl::Seconds(20)), Refusal::kNone);
}

TEST_F(ConnectionTableTest, ConnectionsThatEndAfterACallSlowNobody) {
  ConnectionTable table = Table({.offences_per_second = 3, .handshakes = true});
  for (int i = 1; i <= 50; ++i) {
    ASSERT_EQ(Enter(table, "a", kStart + absl::Milliseconds(10) * i), Refusal::kNone);
    table.NoteCall(absl::StrCat("a:", i));
    closed_.insert(i);
  }
}

TEST_F(ConnectionTableTest, WithoutHandshakesSilenceIsNoOffence) {
  ConnectionTable table = Table({.offences_per_second = 3});
  for (int i = 1; i <= 50; ++i) {
    ASSERT_EQ(Enter(table, "a", kStart + absl::Milliseconds(10) * i), Refusal::kNone);
    closed_.insert(i);
  }
}

TEST_F(ConnectionTableTest, TooManyOffencesCloseAConnectionAndSlowItsAddress) {
  ConnectionTable table = Table({.offences_per_second = 3});
  ASSERT_EQ(Enter(table, "a"), Refusal::kNone);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(table.Offence("a:1", kStart), nullptr);
  const SocketId* const closing = table.Offence("a:1", kStart);
  ASSERT_NE(closing, nullptr);
  EXPECT_EQ(closing->descriptor, 1);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Enter(table, "a"), Refusal::kNone);
  EXPECT_EQ(Enter(table, "a"), Refusal::kOffender);
  EXPECT_EQ(Enter(table, "b"), Refusal::kNone);
  EXPECT_EQ(Enter(table, "a", kStart + absl::Milliseconds(500)), Refusal::kNone);
  EXPECT_EQ(Enter(table, "a", kStart + absl::Milliseconds(500)), Refusal::kOffender);
  // From now on the first offence is enough, and begins the time anew.
  EXPECT_NE(table.Offence("a:2", kStart + absl::Seconds(1)), nullptr);
  EXPECT_EQ(table.Offence("a:2", kStart + absl::Seconds(2)), nullptr);  // told once
  EXPECT_NE(table.Offence("a:3", kStart + absl::Seconds(2)), nullptr);
  EXPECT_EQ(table.Offence("b:5", kStart + absl::Seconds(2)), nullptr);
  const absl::Time over = kStart + absl::Seconds(2) + kOffenderTime;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Enter(table, "a", over), Refusal::kNone);
  EXPECT_EQ(table.Offence("a:6", over), nullptr);
}

TEST_F(ConnectionTableTest, OffencesAtALowRateAndOfStrangersAreNothing) {
  ConnectionTable table = Table({.offences_per_second = 2});
  ASSERT_EQ(Enter(table, "a"), Refusal::kNone);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(table.Offence("a:1", kStart + i * absl::Milliseconds(500)), nullptr);
    EXPECT_EQ(table.Offence("b:1", kStart), nullptr);
  }
}

TEST_F(ConnectionTableTest, AGraveOffenceIsNotForgiven) {
  ConnectionTable table = Table({});
  ASSERT_EQ(Enter(table, "a"), Refusal::kNone);
  EXPECT_EQ(table.GraveOffence("b:1", kStart), nullptr);
  ASSERT_NE(table.GraveOffence("a:1", kStart), nullptr);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Enter(table, "a"), Refusal::kNone);
  EXPECT_EQ(Enter(table, "a"), Refusal::kOffender);
}

TEST_F(ConnectionTableTest, ABannedAddressIsShutOutForAMinute) {
  ConnectionTable table = Table({});
  for (const char* group : {"a", "b", "a"}) ASSERT_EQ(Enter(table, group), Refusal::kNone);
  std::set<int> closing;
  for (const SocketId& socket : table.Ban("a", kStart)) closing.insert(socket.descriptor);
  EXPECT_EQ(closing, (std::set<int>{1, 3}));
  EXPECT_TRUE(table.Ban("a", kStart).empty());  // each is told once
  EXPECT_TRUE(table.Ban("c", kStart).empty());
  EXPECT_EQ(table.GraveOffence("a:1", kStart), nullptr);
  closed_ = {1, 3};
  EXPECT_EQ(Enter(table, "a", kStart + kFloodBanTime - absl::Milliseconds(1)), Refusal::kBanned);
  EXPECT_EQ(Enter(table, "b", kStart + kFloodBanTime - absl::Milliseconds(1)), Refusal::kNone);
  EXPECT_EQ(Enter(table, "a", kStart + kFloodBanTime), Refusal::kNone);
}

TEST_F(ConnectionTableTest, TellsWhatOpenConnectionsHaveTakenIn) {
  ConnectionTable table = Table({});
  for (int i = 0; i < 3; ++i) ASSERT_EQ(Enter(table, "a"), Refusal::kNone);
  closed_ = {2};
  std::set<std::string> seen;
  for (const Intake& intake : table.Intakes([](const SocketId& s) { return 10 * s.inode; })) {
    EXPECT_EQ(intake.group, "a");
    seen.insert(absl::StrCat(intake.name, "=", intake.bytes));
  }
  EXPECT_EQ(seen, (std::set<std::string>{"a:1=10", "a:3=30"}));
}

TEST_F(ConnectionTableTest, APeerThatComesBackIsCountedOnce) {
  ConnectionTable table = Table({.connections_max = 4});
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(table.Enter(At("a", 1), {.descriptor = i, .inode = 100u + i}, kStart),
              Refusal::kNone);
  }
  EXPECT_EQ(table.open(), 1);
}

// Against a model: a list of connections, scanned.
TEST_F(ConnectionTableTest, CountsAsAListDoes) {
  ConnectionTable table =
      Table({.connections_max = 20, .per_group_max = 6, .arrivals_per_second = 0});
  std::vector<std::pair<std::uint64_t, std::string>> open;
  std::uint32_t state = 1;
  absl::Time now = kStart;
  for (int step = 0; step < 3000; ++step) {
    state = state * 1664525 + 1013904223;
    now += absl::Seconds(1);  // every step sweeps
    if (state % 3 == 0 && !open.empty()) {
      const std::size_t at = (state >> 8) % open.size();
      closed_.insert(open[at].first);
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
      continue;
    }
    const std::string group(1, static_cast<char>('a' + (state >> 16) % 5));
    const auto mine =
        std::count_if(open.begin(), open.end(), [&](const auto& c) { return c.second == group; });
    const Refusal expected = open.size() >= 20 ? Refusal::kFull
                             : mine >= 6       ? Refusal::kGroupFull
                                               : Refusal::kNone;
    ASSERT_EQ(Enter(table, group, now), expected) << "step " << step;
    if (expected == Refusal::kNone) open.emplace_back(next_, group);
    ASSERT_EQ(table.open(), open.size());
  }
}

sockaddr_storage Ipv4(const char* host, std::uint16_t port) {
  sockaddr_storage storage = {};
  auto& four = reinterpret_cast<sockaddr_in&>(storage);
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  EXPECT_EQ(::inet_pton(AF_INET, host, &four.sin_addr), 1);
  return storage;
}
sockaddr_storage Ipv6(const char* host, std::uint16_t port) {
  sockaddr_storage storage = {};
  auto& six = reinterpret_cast<sockaddr_in6&>(storage);
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  EXPECT_EQ(::inet_pton(AF_INET6, host, &six.sin6_addr), 1);
  return storage;
}

TEST(Peer, HasTheNameThatGrpcGivesIt) {
  struct Row {
    sockaddr_storage address;
    const char *name, *group, *uri;
  };
  const Row rows[] = {
      {Ipv4("192.0.2.1", 4711), "192.0.2.1:4711", "192.0.2.1", "ipv4:192.0.2.1:4711"},
      {Ipv6("::ffff:192.0.2.1", 4711), "192.0.2.1:4711", "192.0.2.1", "ipv4:192.0.2.1:4711"},
      {Ipv6("2001:db8:1:2:3:4:5:6", 80), "[2001:db8:1:2:3:4:5:6]:80", "2001:db8:1:2::/64",
       "ipv6:%5B2001:db8:1:2:3:4:5:6%5D:80"},
      {Ipv6("::1", 9), "[::1]:9", "::/64", "ipv6:%5B::1%5D:9"},
  };
  for (const Row& row : rows) {
    const auto peer = PeerOf(row.address);
    ASSERT_TRUE(peer.has_value());
    EXPECT_EQ(peer->name, row.name);
    EXPECT_EQ(peer->group, row.group);
    EXPECT_EQ(PeerName(row.uri), row.name);
  }
  EXPECT_FALSE(PeerOf({}).has_value());
  EXPECT_EQ(PeerName("unix:/tmp/x"), "");
  EXPECT_EQ(PeerName(""), "");
}

}  // namespace
}  // namespace bandana::server
