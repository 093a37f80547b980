// Clients that mean harm against the real server: what others notice of them. Prints figures; what
// is asserted is that nobody else's call fails and that nothing hostile is admitted. The attackers
// run on the machine that they attack: what they take of its processors is not the server's doing,
// so each attack is measured a second time with attackers that get only what nobody else wants
// (nice 19).
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <mutex>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bandana/v1/recommender.grpc.pb.h"
#include "common/base/file.h"
#include "common/base/sha256.h"
#include "tests/support/http_request.h"
#include "tests/support/raw_http2.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_certificates.h"
#include "tests/support/tls_caller.h"

namespace bandana::testing {
namespace {

constexpr char kToken[] = "honest-token-0123456789abcdef";
constexpr char kSelectPath[] = "/bandana.v1.Recommender/Select";

v1::SelectRequest SelectOf(int arms) {
  v1::SelectRequest request;
  request.set_model("news");
  request.set_user("u");
  for (int i = 0; i < 2 * arms; ++i) {
    request.mutable_arms()->mutable_inline_arms()->add_features(i % 3);
  }
  return request;
}

// A metric of the server; 0 when it does not answer.
double Metric(const ServerProcess& server, const std::string& name) {
  const std::string body = HttpRequest(server.http_listen(), "/metrics").body;
  const std::size_t at = body.find("\n" + name + " ");
  if (at == std::string::npos) return 0;
  const std::size_t from = at + name.size() + 2;
  double value = 0;
  return absl::SimpleAtod(body.substr(from, body.find('\n', from) - from), &value) ? value : 0;
}

struct Figures {
  std::int64_t calls = 0;
  std::int64_t failed = 0;
  double p50_ms = 0;
  double p99_ms = 0;
};

constexpr char kServerName[] = "server.internal";  // in its certificate, where it has one

// How honest clients reach the server.
struct Endpoint {
  std::string address;
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
};

std::unique_ptr<v1::Recommender::Stub> Connect(const Endpoint& endpoint) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetSslTargetNameOverride(kServerName);
  return v1::Recommender::NewStub(
      grpc::CreateCustomChannel(endpoint.address, endpoint.credentials, arguments));
}

grpc::Status HonestCall(v1::Recommender::Stub& stub) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  context.AddMetadata("authorization", absl::StrCat("Bearer ", kToken));
  v1::SelectResponse response;
  return stub.Select(&context, SelectOf(10), &response);
}

// Two honest clients, each making a call every 4 ms on a connection that it keeps.
class Honest {
 public:
  explicit Honest(const Endpoint& endpoint) {
    for (int c = 0; c < 2; ++c) threads_.emplace_back([this, endpoint] { Run(endpoint); });
  }
  ~Honest() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

  // Figures of the calls that end within the next `time`.
  Figures For(absl::Duration time) {
    Take();
    absl::SleepFor(time);
    return Take();
  }

 private:
  // Since the last time.
  Figures Take() {
    const std::lock_guard lock(mutex_);
    Figures figures = figures_;
    std::sort(latencies_.begin(), latencies_.end());
    if (!latencies_.empty()) {
      figures.p50_ms = latencies_[latencies_.size() / 2];
      figures.p99_ms = latencies_[latencies_.size() * 99 / 100];
    }
    latencies_.clear();
    figures_ = {};
    return figures;
  }

  void Run(const Endpoint& endpoint) {
    const auto stub = Connect(endpoint);
    absl::Time next = absl::Now();
    while (!stop_) {
      absl::SleepFor(next - absl::Now());
      next = std::max(next + absl::Milliseconds(4), absl::Now());
      const absl::Time start = absl::Now();
      const grpc::Status status = HonestCall(*stub);
      const double ms = absl::ToDoubleMilliseconds(absl::Now() - start);
      const std::lock_guard lock(mutex_);
      ++figures_.calls;
      latencies_.push_back(ms);
      if (status.ok()) continue;
      if (++figures_.failed == 1) {
        std::printf("first failure: %d %s\n", status.error_code(), status.error_message().c_str());
      }
    }
  }

  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::vector<double> latencies_;
  Figures figures_;
  std::vector<std::thread> threads_;
};

// Attackers come from another address, so that the limits of one are not everybody's.
constexpr char kAttacker[] = "127.0.0.2";

enum class Manners { kEqual, kNice };

// For this thread and those that it starts.
void Behave(Manners manners) {
  if (manners == Manners::kNice) {
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 19);
  }
}

class HostileClients : public ::testing::Test {
 protected:
  void SetUp() override { Start(""); }

  void Start(const std::string& more) {
    const std::string config = absl::StrCat(
        "models { name: 'news' dimension: 2 shared {} mode: NON_PRIVATE }\n"
        "access { principals { name: 'honest' token_sha256: '",
        ToHex(Sha256Of(kToken)), "' roles: ROLE_SELECT } }\n", more);
    auto server = ServerProcess::Start({.config = config, .folder = folder_.path()});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    endpoint_.address = server_->listen();
  }

  // Measures honest calls before `attack` and during it. The attack lasts until `over` is set.
  void Measure(const std::string& name,
               const std::function<void(const std::atomic<bool>& over)>& attack) {
    MeasureOnce(name + ", equal", Manners::kEqual, attack);
    absl::SleepFor(absl::Seconds(11));  // what is remembered of offenders is over
    MeasureOnce(name + ", nice 19", Manners::kNice, attack);
  }

  void MeasureOnce(const std::string& name, Manners manners,
                   const std::function<void(const std::atomic<bool>& over)>& attack) {
    Honest honest(endpoint_);
    const Figures before = honest.For(absl::Seconds(4));
    const double bytes_before = Metric(*server_, "process_resident_memory_bytes");
    std::atomic<bool> over = false;
    const double cpu_before = Metric(*server_, "process_cpu_seconds_total");
    const absl::Time began = absl::Now();
    std::thread thread([&] {
      Behave(manners);
      attack(over);
    });
    const Figures during = honest.For(absl::Seconds(8));
    const double cores = (Metric(*server_, "process_cpu_seconds_total") - cpu_before) /
                         absl::ToDoubleSeconds(absl::Now() - began);
    const double bytes_during = Metric(*server_, "process_resident_memory_bytes");
    const double fds = Metric(*server_, "process_open_fds");
    const absl::Time start = absl::Now();
    const bool connected = HonestCall(*Connect(endpoint_)).ok();
    const absl::Duration connecting = absl::Now() - start;
    over = true;
    thread.join();
    std::printf(
        "%s\n  honest calls %lld, failed %lld; p50 %.2f -> %.2f ms, p99 %.2f -> %.2f ms "
        "(x %.2f); a new client's first call %s after %.1f ms; server %.0f -> %.0f MiB, "
        "%.0f descriptors, %.2f cores\n",
        name.c_str(), static_cast<long long>(during.calls), static_cast<long long>(during.failed),
        before.p50_ms, during.p50_ms, before.p99_ms, during.p99_ms, during.p99_ms / before.p99_ms,
        connected ? "answered" : "failed", absl::ToDoubleMilliseconds(connecting),
        bytes_before / (1 << 20), bytes_during / (1 << 20), fds, cores);
    EXPECT_GT(during.calls, 0);
    EXPECT_EQ(during.failed, 0);
    EXPECT_TRUE(server_->process().Running());
  }

  const TempDir folder_;
  std::unique_ptr<ServerProcess> server_;
  Endpoint endpoint_;
};

std::vector<std::pair<std::string, std::string>> Bearer(const std::string& token) {
  return {{"authorization", "Bearer " + token}};
}

// Streams whose answers may not be sent. They have a good token: the worst that a caller can do.
TEST_F(HostileClients, ThatNeverReadTheirAnswers) {
  const std::string request = SelectOf(100).SerializeAsString();
  Measure("64 x 100 unread answers", [&](const std::atomic<bool>& over) {
    while (!over) {
      std::vector<RawSocket> sockets;
      for (int c = 0; c < 64 && !over; ++c) {
        sockets.emplace_back(server_->listen(), kAttacker);
        std::string bytes = Http2Preface(0);
        for (std::uint32_t s = 0; s < 100; ++s) {
          bytes += Http2Call(2 * s + 1, kSelectPath, request, Bearer(kToken));
        }
        sockets.back().Send(bytes);
      }
      for (int i = 0; i < 30 && !over; ++i) absl::SleepFor(absl::Milliseconds(100));
    }
  });
}

TEST_F(HostileClients, ThatConnectAndSayNothing) {
  Measure("2000 half-open connections", [&](const std::atomic<bool>& over) {
    std::vector<RawSocket> sockets;
    for (int c = 0; c < 2000 && !over; ++c) sockets.emplace_back(server_->listen(), kAttacker);
    while (!over) absl::SleepFor(absl::Milliseconds(50));
  });
  const RawSocket silent(server_->listen());
  // Ten seconds are what a handshake may take.
  for (int i = 0; i < 60 && Metric(*server_, "process_open_fds") > 500; ++i) {
    absl::SleepFor(absl::Seconds(1));
  }
  EXPECT_LT(Metric(*server_, "process_open_fds"), 500);
}

class LargeMessages : public HostileClients {
 protected:
  void Send(const char* name, int arms);
};

void LargeMessages::Send(const char* name, int arms) {
  std::atomic<int> sent = 0;
  std::atomic<int> admitted = 0;
  Measure(name, [&](const std::atomic<bool>& over) {
    const auto stub = v1::Recommender::NewStub(
        grpc::CreateChannel(server_->listen(), grpc::InsecureChannelCredentials()));
    const v1::SelectRequest request = SelectOf(arms);
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&] {
        while (!over) {
          grpc::ClientContext context;
          context.AddMetadata("authorization", absl::StrCat("Bearer ", kToken));
          v1::SelectResponse response;
          admitted += stub->Select(&context, request, &response).ok();
          ++sent;
          absl::SleepFor(absl::Milliseconds(20));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  std::printf("  %d sent, %d admitted\n", sent.load(), admitted.load());
  EXPECT_EQ(admitted, 0);
}

constexpr int kFourMegabytes = 260'000;  // arms

TEST_F(LargeMessages, WithAdminOnTheSameListener) { Send("8 x 4 MB messages", kFourMegabytes); }

TEST_F(LargeMessages, WithAdminOnItsOwnListener) {
  server_.reset();
  Start("admin_listen: '127.0.0.1:0'");
  Send("8 x 4 MB messages, admin_listen", kFourMegabytes);
}

TEST_F(LargeMessages, OfManyMegabytes) {
  server_.reset();
  Start("admin_listen: '127.0.0.1:0'");
  Send("8 x 32 MB messages, admin_listen", 8 * kFourMegabytes);
}

TEST_F(HostileClients, ThatTryTokens) {
  std::atomic<int> tried = 0;
  std::atomic<int> admitted = 0;
  Measure("8 clients with wrong tokens", [&](const std::atomic<bool>& over) {
    const auto stub = v1::Recommender::NewStub(
        grpc::CreateChannel(server_->listen(), grpc::InsecureChannelCredentials()));
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        while (!over) {
          grpc::ClientContext context;
          context.AddMetadata("authorization",
                              absl::StrCat("Bearer guess-", t, "-", tried.load(), "-0123456789"));
          v1::SelectResponse response;
          admitted += stub->Select(&context, SelectOf(10), &response).ok();
          ++tried;
          absl::SleepFor(absl::Milliseconds(1));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  std::printf("  %d tried, %d admitted\n", tried.load(), admitted.load());
  EXPECT_EQ(admitted, 0);
}

TEST_F(HostileClients, ThatForgeCertificates) {
  const TestAuthority authority("authority");
  const TestAuthority forger("authority");  // the same name, another key
  WritePair(folder_.path(), "server",
            authority.Issue({.common_name = "server", .dns_names = {kServerName}}));
  ASSERT_THAT(WriteFileDurably(folder_.File("ca.pem"), authority.certificate(), 0644), IsOk());
  server_.reset();
  Start(
      "tls { certificate_file: 'server.pem' private_key_file: 'server.key' client_ca_file: "
      "'ca.pem' }");
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = authority.certificate();
  endpoint_.credentials = grpc::SslCredentials(options);
  const auto caller = [&](const TestAuthority& signer, const std::string& name) {
    WritePair(folder_.path(), name, signer.Issue({.common_name = "ops.internal"}));
    return std::make_unique<TlsCaller>(folder_.File(name + ".pem"), folder_.File(name + ".key"));
  };
  ASSERT_TRUE(caller(authority, "good")->IsAdmitted(server_->listen()));
  const auto forged = caller(forger, "forged");
  std::atomic<int> shown = 0;
  std::atomic<int> admitted = 0;
  Measure("8 clients with forged certificates", [&](const std::atomic<bool>& over) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&] {
        while (!over) {
          admitted += forged->IsAdmitted(server_->listen(), kAttacker);
          ++shown;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  std::printf("  %d shown, %d admitted\n", shown.load(), admitted.load());
  EXPECT_EQ(admitted, 0);
}

// Write calls, read nothing, keep no limit on their streams, and come back when they are closed:
// costs the attacker next to nothing.
class Floods : public HostileClients {
 protected:
  // `calls` at a time, then a pause.
  void Send(const char* name, std::uint32_t calls, absl::Duration pause);
};

void Floods::Send(const char* name, std::uint32_t calls, absl::Duration pause) {
  std::atomic<std::int64_t> bytes = 0;
  std::atomic<int> connections = 0;
  const std::string request = SelectOf(10).SerializeAsString();
  Measure(name, [&](const std::atomic<bool>& over) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        while (!over) {
          RawSocket socket(server_->listen(), kAttacker);
          if (!socket.connected() || !socket.Send(Http2Preface(65'535))) {
            absl::SleepFor(absl::Milliseconds(1));
            continue;
          }
          ++connections;
          for (std::uint32_t stream = 1; !over;) {
            std::string batch;
            for (std::uint32_t c = 0; c < calls; ++c, stream += 2) {
              batch += Http2Call(stream, kSelectPath, request, Bearer("guess-0123456789"));
            }
            if (!socket.Send(batch)) break;
            bytes += static_cast<std::int64_t>(batch.size());
            if (pause > absl::ZeroDuration()) absl::SleepFor(pause);
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  std::printf("  %d connections, %.1f MB sent\n", connections.load(),
              static_cast<double>(bytes) / 1e6);
}

TEST_F(Floods, OfAFewMegabytesASecond) {
  Send("4 floods of wrong tokens, 20 calls a millisecond", 20, absl::Milliseconds(1));
}

// gRPC 1.51 alone reads these for ever, on the queue's thread.
TEST_F(Floods, AtTheSpeedOfMemory) {
  Send("4 floods of wrong tokens, without a pause", 200, absl::ZeroDuration());
}

TEST_F(HostileClients, ThatOpenTenThousandConnections) {
  rlimit limit = {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  const int wanted = std::min<int>(10'000, static_cast<int>(limit.rlim_cur) - 500);
  if (wanted < 10'000) std::printf("  descriptors allow %d connections only\n", wanted);
  std::atomic<int> open = 0;
  Measure("10000 connections", [&](const std::atomic<bool>& over) {
    std::vector<RawSocket> sockets;
    for (int c = 0; c < wanted && !over; ++c) {
      sockets.emplace_back(server_->listen(), kAttacker);
      if (!sockets.back().connected()) break;
      open += sockets.back().Send(Http2Preface(65'535));
    }
    while (!over) absl::SleepFor(absl::Milliseconds(50));
  });
  std::printf("  %d connections were opened during the measurement\n", open.load());
}

}  // namespace
}  // namespace bandana::testing
