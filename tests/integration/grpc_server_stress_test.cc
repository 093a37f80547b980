// Events that break hand-written queue servers: cancellations, shutdown under load, answers that
// come too late.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/service/transport/grpc_server.h"
#include "tests/integration/service_harness.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

#ifdef BANDANA_SANITIZED
constexpr int kCalls = 1500;
#else
constexpr int kCalls = 6000;
#endif

// An asynchronous client that keeps calls in flight and cancels some of them.
template <typename Response>
class Storm {
 public:
  struct Call {
    std::unique_ptr<grpc::ClientContext> context;
    Response response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> reader;
  };

  ~Storm() {
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) delete static_cast<Call*>(tag);
  }

  template <typename Stub, typename Request, typename Start>
  Call* Begin(Stub& stub, const Request& request, Start start, absl::Duration timeout) {
    auto call = std::make_unique<Call>();
    call->context = Context(timeout);
    call->reader = (stub.*start)(call->context.get(), request, &queue_);
    call->reader->Finish(&call->response, &call->status, call.get());
    ++open_;
    return call.release();
  }

  // Waits for one call and counts its status.
  void Await() {
    void* tag = nullptr;
    bool ok = false;
    ASSERT_TRUE(queue_.Next(&tag, &ok));
    const std::unique_ptr<Call> call(static_cast<Call*>(tag));
    ++codes[call->status.error_code()];
    --open_;
  }
  void AwaitAll() {
    while (open_ > 0) Await();
  }
  int open() const { return open_; }

  std::map<grpc::StatusCode, int> codes;

 private:
  grpc::CompletionQueue queue_;
  int open_ = 0;
};

TEST(GrpcServerStressTest, SurvivesCancelStorms) {
  ScriptedHandlers handlers;
  CountingObserver observer;
  const auto server = StartServer(handlers, {.observer = &observer});
  const auto stub = v1::Recommender::NewStub(Connect(server->address()));
  Storm<v1::SelectResponse> storm;
  for (int i = 0; i < kCalls; ++i) {
    auto* call = storm.Begin(*stub, v1::SelectRequest(), &v1::Recommender::Stub::AsyncSelect,
                             absl::Seconds(30));
    // At once, a moment later (while the server works on it), or not at all.
    if (i % 3 == 0) call->context->TryCancel();
    if (i % 3 == 1) {
      absl::SleepFor(absl::Microseconds(i % 7 * 20));
      call->context->TryCancel();
    }
    while (storm.open() >= 64) storm.Await();
  }
  storm.AwaitAll();
  EXPECT_EQ(storm.codes[grpc::StatusCode::OK] + storm.codes[grpc::StatusCode::CANCELLED] +
                storm.codes[grpc::StatusCode::RESOURCE_EXHAUSTED],
            kCalls);
  EXPECT_GT(storm.codes[grpc::StatusCode::OK], 0);
  EXPECT_GT(storm.codes[grpc::StatusCode::CANCELLED], 0);
  EXPECT_TRUE(Eventually([&] { return server->calls_in_flight() == 0; }));
  v1::SelectResponse response;
  EXPECT_TRUE(stub->Select(Context().get(), {}, &response).ok());
}

TEST(GrpcServerStressTest, SurvivesCancelledReportsThatCompleteOnAnotherThread) {
  ScriptedHandlers handlers;
  const auto server = StartServer(handlers);
  const auto stub = v1::Recommender::NewStub(Connect(server->address()));
  handlers.HoldReports();
  std::atomic<bool> stop{false};
  std::thread log([&] {
    while (!stop) {
      handlers.ReleaseReports(/*keep_holding=*/true);
      absl::SleepFor(absl::Microseconds(200));
    }
  });
  v1::ReportRequest request;
  request.add_outcomes();
  Storm<v1::ReportResponse> storm;
  for (int i = 0; i < kCalls; ++i) {
    auto* call =
        storm.Begin(*stub, request, &v1::Recommender::Stub::AsyncReport, absl::Seconds(30));
    if (i % 2 == 0) call->context->TryCancel();
    while (storm.open() >= 64) storm.Await();
  }
  storm.AwaitAll();
  EXPECT_GT(storm.codes[grpc::StatusCode::OK], 0);
  EXPECT_TRUE(Eventually([&] { return server->calls_in_flight() == 0; }));
  stop = true;
  log.join();
}

TEST(GrpcServerStressTest, SurvivesDeadlinesThatPassAtEveryStage) {
  ScriptedHandlers handlers;
  const auto server = StartServer(handlers);
  const auto stub = v1::Recommender::NewStub(Connect(server->address()));
  Storm<v1::SelectResponse> storm;
  for (int i = 0; i < kCalls; ++i) {
    storm.Begin(*stub, v1::SelectRequest(), &v1::Recommender::Stub::AsyncSelect,
                absl::Microseconds(50 + i % 40 * 50));
    while (storm.open() >= 64) storm.Await();
  }
  storm.AwaitAll();
  EXPECT_TRUE(Eventually([&] { return server->calls_in_flight() == 0; }));
  v1::SelectResponse response;
  EXPECT_TRUE(stub->Select(Context().get(), {}, &response).ok());
}

TEST(GrpcServerStressTest, SurvivesClientsThatVanish) {
  ScriptedHandlers handlers;
  const auto server = StartServer(handlers);
  handlers.HoldReports();
  v1::ReportRequest request;
  request.add_outcomes();
  for (int round = 0; round < 20; ++round) {
    Storm<v1::ReportResponse> storm;
    const auto stub = v1::Recommender::NewStub(Connect(server->address()));
    std::vector<Storm<v1::ReportResponse>::Call*> calls;
    for (int i = 0; i < 3; ++i) {
      calls.push_back(
          storm.Begin(*stub, request, &v1::Recommender::Stub::AsyncReport, absl::Seconds(30)));
    }
    if (round % 2 == 0) {
      EXPECT_TRUE(Eventually([&] { return handlers.held() >= round / 2 * 3; }));
    }
    for (auto* call : calls) call->context->TryCancel();
    storm.AwaitAll();
  }
  handlers.ReleaseReports();
  EXPECT_TRUE(Eventually([&] { return server->calls_in_flight() == 0; }));
}

// Clients that call until the server is gone.
class Load {
 public:
  Load(const std::string& address, int threads) {
    for (int t = 0; t < threads; ++t) {
      threads_.emplace_back([this, address, t] {
        const auto stub = v1::Recommender::NewStub(Connect(address));
        for (;;) {
          grpc::Status status;
          if (t % 2 == 0) {
            v1::SelectResponse response;
            status = stub->Select(Context(absl::Seconds(10)).get(), {}, &response);
          } else {
            v1::ReportRequest request;
            request.add_outcomes();
            v1::ReportResponse response;
            status = stub->Report(Context(absl::Seconds(10)).get(), request, &response);
          }
          if (status.ok()) {
            answered.fetch_add(1);
          } else {
            // CANCELLED is what gRPC itself gives to a call that arrives while connections close.
            if (status.error_code() != grpc::StatusCode::UNAVAILABLE &&
                status.error_code() != grpc::StatusCode::CANCELLED) {
              unexpected.fetch_add(1);
            }
            return;
          }
        }
      });
    }
  }
  void Join() {
    for (auto& thread : threads_) thread.join();
    threads_.clear();
  }

  std::atomic<int> answered{0};
  std::atomic<int> unexpected{0};

 private:
  std::vector<std::thread> threads_;
};

TEST(GrpcServerStressTest, ShutdownUnderLoadLetsPendingReportsComplete) {
  for (int round = 0; round < 5; ++round) {
    ScriptedHandlers handlers;
    const auto server = StartServer(handlers, {.queues = 1 + round % 2});
    handlers.HoldReports();
    std::atomic<bool> stop{false};
    std::thread log([&] {
      while (!stop) {
        handlers.ReleaseReports(/*keep_holding=*/true);
        absl::SleepFor(absl::Milliseconds(1));
      }
    });
    Load load(server->address(), 6);
    EXPECT_TRUE(Eventually([&] { return load.answered > 50; }));
    server->Shutdown(absl::Seconds(10));
    EXPECT_EQ(server->calls_in_flight(), 0);
    load.Join();
    EXPECT_EQ(load.unexpected, 0);
    stop = true;
    log.join();
  }
}

TEST(GrpcServerStressTest, ShutdownGivesUpOnReportsThatNeverComplete) {
  ScriptedHandlers handlers;
  auto server = StartServer(handlers);
  handlers.HoldReports();
  Load load(server->address(), 6);
  EXPECT_TRUE(Eventually([&] { return handlers.held() == 3 && load.answered > 50; }));
  server->Shutdown(absl::Milliseconds(100));
  load.Join();
  EXPECT_EQ(load.unexpected, 0);
  server.reset();
  EXPECT_EQ(handlers.held(), 3);
  handlers.ReleaseReports();  // the server is gone: their Finish finds nothing
}

TEST(GrpcServerStressTest, LateCompletionsRaceWithShutdown) {
  for (int round = 0; round < 20; ++round) {
    ScriptedHandlers handlers;
    auto server = StartServer(handlers);
    handlers.HoldReports();
    Load load(server->address(), 6);
    EXPECT_TRUE(Eventually([&] { return handlers.held() == 3; }));
    std::thread log([&] {
      absl::SleepFor(absl::Microseconds(round * 100));
      handlers.ReleaseReports();
    });
    server->Shutdown(absl::Milliseconds(1));
    server.reset();
    load.Join();
    log.join();
  }
}

TEST(GrpcServerStressTest, ShutdownMayBeCalledAgainAndFromManyThreads) {
  ScriptedHandlers handlers;
  const auto server = StartServer(handlers);
  Load load(server->address(), 2);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] { server->Shutdown(absl::Seconds(1)); });
  }
  for (auto& thread : threads) thread.join();
  server->Shutdown(absl::ZeroDuration());
  load.Join();
  EXPECT_EQ(server->calls_in_flight(), 0);
}

TEST(GrpcServerStressTest, ADrainingServerStillAnswersUntilItShutsDown) {
  ScriptedHandlers handlers;
  const auto server = StartServer(handlers);
  const auto stub = v1::Recommender::NewStub(Connect(server->address()));
  server->SetDraining();
  v1::SelectResponse response;
  EXPECT_TRUE(stub->Select(Context().get(), {}, &response).ok());
}

}  // namespace
}  // namespace bandana::server
