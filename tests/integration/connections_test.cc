// The transport's connections: how many, whose, and which are closed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/service/access/gatekeeper.h"
#include "server/service/connections/acceptor.h"
#include "tests/integration/service_harness.h"
#include "tests/support/fake_clock.h"
#include "tests/support/raw_http2.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

constexpr char kSelect[] = "/bandana.v1.Recommender/Select";
constexpr char kToken[] = "a-good-token-0123456789";

class ConnectionsTest : public ::testing::Test {
 protected:
  void Start(server::ConnectionLimits limits, Gatekeeper* gatekeeper = nullptr) {
    GrpcServerOptions options;
    options.connections = limits;
    options.gatekeeper = gatekeeper;
    options.observer = &observer_;
    server_ = StartServer(handlers_, options);
  }
  std::int64_t Refused(Refusal refusal) const {
    return server_->connections()->refused[static_cast<std::size_t>(refusal)];
  }
  // True when the server answered its preface; false when it reset the connection.
  static bool TakenIn(RawSocket& socket) {
    bool closed = false;
    return socket.connected() && socket.Send(Http2Preface(65'535)) &&
           !socket.Receive(closed).empty();
  }
  static grpc::Status Select(const std::shared_ptr<grpc::Channel>& channel,
                             const std::string& token = kToken) {
    const auto context = Context();
    context->AddMetadata("authorization", "Bearer " + token);
    v1::SelectResponse response;
    return v1::Recommender::NewStub(channel)->Select(context.get(), {}, &response);
  }

  const testing::FakeClock clock_;
  Gatekeeper gatekeeper_{[] {
                           server::Principal app{.name = "app", .token_digest = Sha256Of(kToken)};
                           app.roles = server::Role::kSelect;
                           return AccessRules{.principals = {app}, .anonymous_roles = {}};
                         }(),
                         clock_};
  ScriptedHandlers handlers_;
  testing::CountingObserver observer_;
  std::unique_ptr<GrpcServer> server_;
};

TEST_F(ConnectionsTest, AreBoundedAndMakeRoomWhenTheyClose) {
  Start({.connections_max = 4, .per_group_max = 4});
  std::vector<RawSocket> sockets;
  for (int i = 0; i < 4; ++i) {
    sockets.emplace_back(server_->address());
    EXPECT_TRUE(TakenIn(sockets.back()));
  }
  EXPECT_EQ(server_->connections()->open, 4);
  RawSocket fifth(server_->address());
  EXPECT_FALSE(TakenIn(fifth));
  EXPECT_GE(Refused(Refusal::kFull), 1);
  sockets.clear();
  EXPECT_TRUE(Eventually([&] { return server_->connections()->open == 0; }));
  EXPECT_TRUE(Select(Connect(server_->address())).ok());
}

TEST_F(ConnectionsTest, OneAddressLeavesRoomForOthers) {
  Start({.connections_max = 4});
  std::vector<RawSocket> sockets;
  for (int i = 0; i < 10; ++i) sockets.emplace_back(server_->address(), "127.0.0.2");
  EXPECT_TRUE(Eventually([&] { return Refused(Refusal::kGroupFull) == 8; }));
  EXPECT_EQ(server_->connections()->open, 2);
  EXPECT_TRUE(Select(Connect(server_->address())).ok());  // from 127.0.0.1
}

TEST_F(ConnectionsTest, ArriveAtABoundedRate) {
  Start({.arrivals_per_second = 5});
  std::vector<RawSocket> sockets;
  for (int i = 0; i < 50; ++i) sockets.emplace_back(server_->address(), "127.0.0.2");
  EXPECT_TRUE(Eventually([&] { return Refused(Refusal::kTooFast) >= 40; }));
  EXPECT_TRUE(Select(Connect(server_->address())).ok());
}

TEST_F(ConnectionsTest, MayPingAsOftenAsIsSet) {
  const std::string ping("\0\0\x08\x06\0\0\0\0\0pingpong", 17);
  const auto sent_away = [&](absl::Duration interval_min) {
    Start({.keepalive_interval_min = interval_min});
    RawSocket socket(server_->address());
    EXPECT_TRUE(socket.Send(Http2Preface(65'535)));
    std::string received;
    bool closed = false;
    for (int i = 0; i < 10 && !closed; ++i) {
      absl::SleepFor(absl::Milliseconds(10));
      if (!socket.Send(ping)) break;
      received += socket.Receive(closed);
    }
    return absl::StrContains(received, "too_many_pings");
  };
  EXPECT_FALSE(sent_away(absl::Milliseconds(1)));
  EXPECT_TRUE(sent_away(absl::Hours(1)));
}

TEST_F(ConnectionsTest, WithoutACallLastAsLongAsIsSet) {
  Start({.grpc_idle = absl::Seconds(1)});
  RawSocket socket(server_->address());
  EXPECT_TRUE(socket.Send(Http2Preface(65'535)));
  std::string received;
  bool closed = false;
  for (int i = 0; i < 20 && !closed && !absl::StrContains(received, "max_idle"); ++i) {
    received += socket.Receive(closed);
  }
  EXPECT_TRUE(closed || absl::StrContains(received, "max_idle"));
}

TEST_F(ConnectionsTest, ThatTryTokensAreClosedAndOthersAreNot) {
  Start({.offences_per_second = 5}, &gatekeeper_);
  const auto honest = Connect(server_->address());
  ASSERT_TRUE(Select(honest).ok());
  RawSocket guesser(server_->address(), "127.0.0.2");
  std::string calls = Http2Preface(65'535);
  for (std::uint32_t i = 0; i < 100; ++i) {
    calls += Http2Call(2 * i + 1, kSelect, "", {{"authorization", "Bearer guess"}});
  }
  guesser.Send(calls);
  EXPECT_TRUE(Eventually([&] { return server_->connections()->closed_offenders >= 1; }));
  bool closed = false;
  while (!closed) guesser.Receive(closed);
  EXPECT_TRUE(Select(honest).ok());
  EXPECT_EQ(handlers_.selects, 2);
  for (int i = 0; i < 10; ++i) RawSocket(server_->address(), "127.0.0.2");
  EXPECT_TRUE(Eventually([&] { return Refused(Refusal::kOffender) >= 7; }));
  EXPECT_TRUE(Select(Connect(server_->address())).ok());
}

TEST_F(ConnectionsTest, AWrongTokenNowAndThenClosesNothing) {
  Start({.offences_per_second = 1000}, &gatekeeper_);
  const auto channel = Connect(server_->address());
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(Select(channel, "old-token").error_code(), grpc::StatusCode::UNAUTHENTICATED);
  }
  EXPECT_EQ(server_->connections()->closed_offenders, 0);
  EXPECT_EQ(server_->connections()->accepted, 1);
}

TEST_F(ConnectionsTest, ThatSendOversizedMessagesAreClosed) {
  Start({.offences_per_second = 3});
  const auto channel = Connect(server_->address());
  v1::SelectRequest request;
  request.set_user(std::string(300'000, 'u'));
  bool cut = false;
  for (int i = 0; i < 20 && !cut; ++i) {
    const auto context = Context();
    cut = CallBytes(channel, kSelect, request.SerializeAsString(), *context).error_code() ==
          grpc::StatusCode::UNAVAILABLE;
  }
  EXPECT_TRUE(cut);
  EXPECT_EQ(handlers_.selects, 0);
}

// Under ThreadSanitizer each call costs tens of milliseconds of suppressed reports.
#ifdef BANDANA_SANITIZED
constexpr int kSockets = 4;
constexpr absl::Duration kPause = absl::Milliseconds(50);
#else
constexpr int kSockets = 40;
constexpr absl::Duration kPause = absl::Milliseconds(1);
#endif

// A client that never acknowledges the server's settings, and opens streams without end, faster
// than they are served. Its calls are right ones.
TEST_F(ConnectionsTest, WithMoreStreamsThanAClientMayOpenAreClosed) {
  Start({});
  const auto honest = Connect(server_->address());
  ASSERT_TRUE(Select(honest).ok());
  RawSocket socket(server_->address(), "127.0.0.2");
  ASSERT_TRUE(socket.Send(Http2Preface(0)));
  std::uint32_t stream = 1;
  bool open = true;
  for (int i = 0; i < 200'000 && open; ++i, stream += 2) {
    open = socket.Send(Http2Call(stream, kSelect, ""));
    if (i % 20 == 0) absl::SleepFor(kPause);
  }
  EXPECT_FALSE(open);
  EXPECT_GE(server_->connections()->closed_offenders, 1);
  EXPECT_TRUE(Select(honest).ok());
}

TEST_F(ConnectionsTest, ManyHonestStreamsStayOpen) {
  Start({});
  std::vector<RawSocket> sockets;
  for (int c = 0; c < kSockets; ++c) {
    sockets.emplace_back(server_->address(), "127.0.0.2");
    std::string calls = Http2Preface(0);  // nothing is read: all stay open
    for (std::uint32_t i = 0; i < 100; ++i) calls += Http2Call(2 * i + 1, kSelect, "");
    ASSERT_TRUE(sockets.back().Send(calls));
  }
  // Some are refused: there are more than may be in flight.
  EXPECT_TRUE(Eventually([&] {
    return observer_.calls("Select", grpc::StatusCode::OK) +
               observer_.calls("Select", grpc::StatusCode::RESOURCE_EXHAUSTED) ==
           100 * kSockets;
  }));
  EXPECT_EQ(server_->connections()->closed_offenders, 0);
}

TEST_F(ConnectionsTest, TheNameOfALocalhostListensOnEveryAddressOfIt) {
  GrpcServerOptions options;
  options.listen = "localhost:0";
  const auto server = GrpcServer::Start(options, handlers_);
  ASSERT_THAT(server, testing::IsOk());
  EXPECT_TRUE(Select(Connect((*server)->address())).ok());
  EXPECT_TRUE(
      Select(Connect("127.0.0.1" + (*server)->address().substr(sizeof "localhost" - 1))).ok());
}

TEST_F(ConnectionsTest, AnAddressIsTakenOnce) {
  Start({});
  GrpcServerOptions options;
  options.listen = server_->address();
  EXPECT_THAT(GrpcServer::Start(options, handlers_),
              testing::StatusIs(absl::StatusCode::kUnavailable, "cannot listen on 127.0.0.1"));
  options.listen = "no-such-host.invalid:0";
  EXPECT_THAT(GrpcServer::Start(options, handlers_),
              testing::StatusIs(absl::StatusCode::kUnavailable, "cannot listen on no-such-host"));
}

// This thread plays gRPC, which reads whatever is there and does nothing else.
TEST(AcceptorTest, ClosesTheAddressWhoseBytesHoldTheThread) {
  const auto acceptor = *server::Acceptor::Bind("127.0.0.1:0", {});
  std::mutex mutex;
  std::vector<int> taken;
  acceptor->Start(
      [&](int, int connection) {
        const std::lock_guard lock(mutex);
        taken.push_back(connection);
      },
      [] { return true; });
  const std::string address = absl::StrCat("127.0.0.1:", acceptor->port());
  RawSocket flood(address, "127.0.0.2");
  RawSocket idle(address, "127.0.0.2");
  RawSocket other(address, "127.0.0.3");
  const auto all_taken = [&] {
    const std::lock_guard lock(mutex);
    return taken.size() == 3;
  };
  ASSERT_TRUE(Eventually(all_taken));
  const std::string bytes(64 * 1024, 'x');
  std::string sink(bytes.size(), 0);
  bool open = true;
  for (int i = 0; i < 100'000 && open; ++i) {
    open = flood.Send(bytes);
    for (const int connection : taken) {
      while (::recv(connection, sink.data(), sink.size(), MSG_DONTWAIT) > 0) continue;
    }
  }
  EXPECT_FALSE(open);
  EXPECT_EQ(acceptor->stats().closed_floods, 2);  // the idle one as well
  bool closed = false;
  idle.Receive(closed);
  EXPECT_TRUE(closed);
  EXPECT_TRUE(other.Send(bytes.substr(0, 100)));
  RawSocket again(address, "127.0.0.2");
  EXPECT_TRUE(Eventually(
      [&] { return acceptor->stats().refused[static_cast<std::size_t>(Refusal::kBanned)] == 1; }));
  acceptor->Stop();
  for (const int connection : taken) ::close(connection);
}

// Nothing is closed, however much comes, while the thread comes round.
TEST(AcceptorTest, ClosesNobodyWhileNoThreadIsHeld) {
  const auto acceptor = *server::Acceptor::Bind("127.0.0.1:0", {});
  std::atomic<int> taken = -1;
  std::atomic<int> looks = 0;
  acceptor->Start([&](int, int connection) { taken = connection; },
                  [&] {
                    ++looks;
                    return false;
                  });
  RawSocket busy(absl::StrCat("127.0.0.1:", acceptor->port()));
  ASSERT_TRUE(Eventually([&] { return taken >= 0; }));
  const std::string bytes(64 * 1024, 'x');
  std::string sink(bytes.size(), 0);
  for (const int before = looks; looks < before + 4;) {
    ASSERT_TRUE(busy.Send(bytes));
    while (::recv(taken, sink.data(), sink.size(), MSG_DONTWAIT) > 0) continue;
  }
  EXPECT_EQ(acceptor->stats().closed_floods, 0);
  acceptor->Stop();
  ::close(taken);
}

}  // namespace
}  // namespace bandana::server
