// Two real servers on a database that lies: whoever may write it, and nothing else, gets no raw
// report, no credential, and nothing of a central model in clear.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bandana/v1/admin.grpc.pb.h"
#include "bandana/v1/recommender.grpc.pb.h"
#include "common/base/file.h"
#include "tests/support/http_request.h"
#include "tests/support/postgres_server.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

constexpr double kReward = 0.875;

// Listens, and keeps all that anybody says to it.
class Stranger {
 public:
  // `port`: 0: a free one.
  explicit Stranger(int port = 0) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_, generic, size), 0) << std::strerror(errno);
    EXPECT_EQ(::listen(listener_, 64), 0);
    ::getsockname(listener_, generic, &size);
    address_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
    thread_ = std::thread([this] { Run(); });
  }
  ~Stranger() {
    stop_ = true;
    thread_.join();
    for (const pollfd& socket : sockets_) ::close(socket.fd);
  }
  const std::string& address() const { return address_; }
  std::string heard() {
    const std::lock_guard lock(mutex_);
    return heard_;
  }
  int callers() const { return callers_; }

 private:
  void Run() {
    sockets_ = {{.fd = listener_, .events = POLLIN, .revents = 0}};
    while (!stop_) {
      ::poll(sockets_.data(), sockets_.size(), 20);
      for (std::size_t i = 1; i < sockets_.size(); ++i) {
        char bytes[4096];
        const auto size = ::recv(sockets_[i].fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (size <= 0) continue;
        const std::lock_guard lock(mutex_);
        heard_.append(bytes, static_cast<std::size_t>(size));
      }
      if ((sockets_[0].revents & POLLIN) == 0) continue;
      const int caller = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (caller < 0) continue;
      ++callers_;
      sockets_.push_back({.fd = caller, .events = POLLIN, .revents = 0});
    }
  }

  int listener_ = -1;
  std::string address_;
  std::vector<pollfd> sockets_;
  std::atomic<bool> stop_{false};
  std::atomic<int> callers_{0};
  std::mutex mutex_;
  std::string heard_;
  std::thread thread_;
};

struct Server {
  TempDir folder;
  std::unique_ptr<ServerProcess> process;
  std::unique_ptr<v1::Recommender::Stub> recommender;
  std::unique_ptr<v1::Admin::Stub> admin;
};

class HostileDatabaseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!PostgresServer::Available()) {
      GTEST_SKIP() << "no PostgreSQL 15 here (package postgresql)";
    }
    database_ = std::make_unique<PostgresServer>();
    ASSERT_THAT(WriteFileDurably(keys_.File("key"), std::string(64, '7'), 0600), IsOk());
    Start(owner_, "one");
    Start(follower_, "two");
    ASSERT_TRUE(Eventually([&] { return Owns(owner_) || Owns(follower_); }));
    if (!Owns(owner_)) {
      std::swap(owner_.process, follower_.process);
      std::swap(owner_.recommender, follower_.recommender);
      std::swap(owner_.admin, follower_.admin);
    }
    ASSERT_TRUE(Eventually([&] { return Report(follower_).ok(); }));
  }

  void Start(Server& server, const std::string& name) {
    const std::string config = absl::StrCat(
        "log { postgresql { connection: '", database_->connection(), "' key_file: '",
        keys_.File("key"), "' noise_key_file: '", keys_.File("key"),
        "' lease { seconds: 20 } server: '", name,
        "' } } peers { listen: '127.0.0.1:0' } "
        "models { name: 'm' dimension: 2 mode: CENTRAL_REWARD independent {} refresh_interval {}"
        "  privacy { epsilon: 1 delta: 1e-6 mechanism: COUNTER }"
        "  reporting { one_per_decision: true } }");
    auto started = ServerProcess::Start({.config = config, .folder = server.folder.path()});
    ASSERT_THAT(started, IsOk());
    server.process = *std::move(started);
    const auto channel =
        grpc::CreateChannel(server.process->listen(), grpc::InsecureChannelCredentials());
    server.recommender = v1::Recommender::NewStub(channel);
    server.admin = v1::Admin::NewStub(channel);
  }
  static bool Eventually(const std::function<bool()>& done) {
    for (int i = 0; i < 600 && !done(); ++i) absl::SleepFor(absl::Milliseconds(50));
    return done();
  }
  static bool Owns(const Server& server) {
    return HttpRequest(server.process->http_listen(), "/metrics")
               .body.find("bandana_model_owned{model=\"m\"} 1") != std::string::npos;
  }
  static void SetDeadline(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(8));
  }
  // A decision of this server, and its raw reward, which goes to the owner.
  grpc::Status Report(Server& server) {
    v1::SelectRequest select;
    select.set_model("m");
    select.set_user("ann");
    for (const double x : {1.0, 0.0, 0.0, 1.0}) {
      select.mutable_arms()->mutable_inline_arms()->add_features(x);
    }
    v1::SelectResponse selected;
    grpc::ClientContext first;
    SetDeadline(first);
    if (grpc::Status s = server.recommender->Select(&first, select, &selected); !s.ok()) return s;
    v1::ReportRequest request;
    request.set_model("m");
    v1::Outcome& outcome = *request.add_outcomes();
    outcome.set_token(selected.token());
    outcome.set_reward(kReward);
    token_ = selected.token();
    v1::ReportResponse response;
    grpc::ClientContext second;
    SetDeadline(second);
    return server.recommender->Report(&second, request, &response);
  }
  // The bytes that would betray a raw report, a token or a credential.
  void ExpectNothingIn(const std::string& heard) const {
    std::string reward(sizeof kReward, '\0');
    std::memcpy(reward.data(), &kReward, sizeof kReward);
    for (const std::string& what : {reward, token_, std::string("authorization"),
                                    std::string("Bearer"), std::string("bandana.v1")}) {
      EXPECT_EQ(heard.find(what), std::string::npos);
    }
  }

  const TempDir keys_;
  std::unique_ptr<PostgresServer> database_;
  Server owner_;
  Server follower_;
  std::string token_;
};

TEST_F(HostileDatabaseTest, SendsNobodyToAStranger) {
  Stranger stranger;
  database_->Sql(absl::StrCat(
      "CREATE FUNCTION bandana.bend() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.address := "
      "'",
      stranger.address(),
      "'; RETURN NEW; END $$;"
      "CREATE TRIGGER bend BEFORE INSERT OR UPDATE ON bandana.served FOR EACH ROW"
      " EXECUTE FUNCTION bandana.bend();"
      "UPDATE bandana.served SET term = term;"
      "INSERT INTO bandana.servers(address, seen, reads, told, name, proof) SELECT '",
      stranger.address(),
      "', t, reads, t, name, proof FROM bandana.servers, (SELECT now() + interval '1h' AS t) t"
      " LIMIT 1"));
  absl::SleepFor(absl::Seconds(1));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Report(follower_).error_code(), grpc::StatusCode::UNAVAILABLE);
  }
  EXPECT_TRUE(Report(owner_).ok());
  v1::DeleteUsersRequest request;
  request.set_model("m");
  request.add_ids("ann");
  v1::DeleteUsersResponse response;
  grpc::ClientContext context;
  SetDeadline(context);
  EXPECT_EQ(owner_.admin->DeleteUsers(&context, request, &response).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(stranger.callers(), 0);
  database_->Sql(
      "DROP TRIGGER bend ON bandana.served; DELETE FROM bandana.served;"
      "DELETE FROM bandana.servers; -- bandana.");
  EXPECT_TRUE(Eventually([&] { return Report(follower_).ok(); }));
}

// The address was an owner's, and the database says truly so.
TEST_F(HostileDatabaseTest, WhoTakesAnOwnersAddressHearsNothing) {
  const std::string peers = owner_.process->peers_listen();
  owner_.process->Kill();
  Stranger stranger(std::stoi(peers.substr(peers.rfind(':') + 1)));
  EXPECT_TRUE(Eventually([&] {
    EXPECT_EQ(Report(follower_).error_code(), grpc::StatusCode::UNAVAILABLE);
    return stranger.callers() > 0;
  }));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Report(follower_).error_code(), grpc::StatusCode::UNAVAILABLE);
  }
  // The first bytes of a handshake, which need not keep a secret.
  EXPECT_FALSE(stranger.heard().empty());
  ExpectNothingIn(stranger.heard());
}

// Records of a central model are raw rewards to a model without noise.
TEST_F(HostileDatabaseTest, CarriesNoRecordIntoAnotherModel) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Report(owner_).ok());
  v1::CreateModelRequest request;
  request.mutable_config()->set_name("open");
  request.mutable_config()->set_dimension(2);
  request.mutable_config()->set_mode(v1::NON_PRIVATE);
  request.mutable_config()->mutable_independent();
  request.mutable_config()->mutable_reporting()->set_one_per_decision(true);
  v1::ModelDescription made;
  grpc::ClientContext context;
  ASSERT_TRUE(owner_.admin->CreateModel(&context, request, &made).ok());
  owner_.process->Kill();
  follower_.process->Kill();
  database_->Sql(
      "UPDATE bandana.logs SET last_sequence = c.last_sequence, last_hash = c.last_hash,"
      "  trimmed = c.trimmed, lease_until = '-infinity' FROM bandana.logs c"
      "  JOIN bandana.states s ON s.log = c.id AND s.name = 'm'"
      "  WHERE logs.id = (SELECT log FROM bandana.states WHERE name = 'open');"
      "DELETE FROM bandana.seal_keys WHERE log = (SELECT log FROM bandana.states"
      "  WHERE name = 'open');"
      "INSERT INTO bandana.seal_keys SELECT o.log, k.id, k.wrapped FROM bandana.seal_keys k"
      "  JOIN bandana.states s ON s.log = k.log AND s.name = 'm', bandana.states o"
      "  WHERE o.name = 'open';"
      "INSERT INTO bandana.batches SELECT o.log, b.last_sequence, b.first_sequence, b.hash_before,"
      "  b.seal_key, b.records FROM bandana.batches b JOIN bandana.states s ON s.log = b.log"
      "  AND s.name = 'm', bandana.states o WHERE o.name = 'open'");
  Start(owner_, "one");
  absl::SleepFor(absl::Seconds(2));
  v1::GetStatsRequest of_open;
  of_open.set_model("open");
  v1::GetStatsResponse stats;
  grpc::ClientContext asks;
  SetDeadline(asks);
  EXPECT_EQ(owner_.admin->GetStats(&asks, of_open, &stats).error_code(),
            grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace bandana::testing
