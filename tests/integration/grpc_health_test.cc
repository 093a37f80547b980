#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "grpc/health/v1/health.grpc.pb.h"
#include "server/service/transport/grpc_server.h"
#include "tests/integration/service_harness.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;
using ::grpc::health::v1::Health;
using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;

HealthCheckRequest For(const std::string& service) {
  HealthCheckRequest request;
  request.set_service(service);
  return request;
}

// A Watch that blocks in Next.
class Watcher {
 public:
  Watcher(Health::Stub& stub, const std::string& service)
      : context_(Context()), reader_(stub.Watch(context_.get(), For(service))) {}
  ~Watcher() {
    context_->TryCancel();
    Finish();
  }
  // -1 when the call is over.
  int Next() {
    HealthCheckResponse response;
    return reader_->Read(&response) ? response.status() : -1;
  }
  grpc::Status Finish() {
    if (!finished_) status_ = reader_->Finish();
    finished_ = true;
    return status_;
  }
  void Cancel() { context_->TryCancel(); }

 private:
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReader<HealthCheckResponse>> reader_;
  grpc::Status status_;
  bool finished_ = false;
};

class GrpcHealthTest : public ::testing::Test {
 protected:
  void Start(GrpcServerOptions options = {}) {
    server_ = StartServer(handlers_, options);
    stub_ = Health::NewStub(Connect(server_->address()));
  }
  grpc::Status Check(const std::string& service) {
    return stub_->Check(Context().get(), For(service), &response_);
  }

  ScriptedHandlers handlers_;
  std::unique_ptr<GrpcServer> server_;
  std::unique_ptr<Health::Stub> stub_;
  HealthCheckResponse response_;
};

TEST_F(GrpcHealthTest, ChecksTheServerAndItsModels) {
  Start();
  ASSERT_TRUE(Check("").ok());
  EXPECT_EQ(response_.status(), HealthCheckResponse::SERVING);
  ASSERT_TRUE(Check("m").ok());
  EXPECT_EQ(response_.status(), HealthCheckResponse::SERVING);
  handlers_.SetServing("m", Serving::kNotServing);
  ASSERT_TRUE(Check("m").ok());
  EXPECT_EQ(response_.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Check("unknown").error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(GrpcHealthTest, ChecksEvenWhenNoCallIsAdmitted) {
  handlers_.HoldReports();
  Start({.calls_in_flight_max = 1});
  const auto stub = v1::Recommender::NewStub(Connect(server_->address()));
  std::thread held([&] {
    v1::ReportResponse response;
    EXPECT_TRUE(stub->Report(Context().get(), {}, &response).ok());
  });
  EXPECT_TRUE(Eventually([&] { return handlers_.held() == 1; }));
  v1::SelectResponse response;
  EXPECT_EQ(stub->Select(Context().get(), {}, &response).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(Check("").ok());
  handlers_.ReleaseReports();
  held.join();
}

TEST_F(GrpcHealthTest, DrainingServersDoNotServe) {
  Start();
  Watcher watcher(*stub_, "");
  Watcher unknown(*stub_, "unknown");
  EXPECT_EQ(watcher.Next(), HealthCheckResponse::SERVING);
  EXPECT_EQ(unknown.Next(), HealthCheckResponse::SERVICE_UNKNOWN);
  server_->SetDraining();
  EXPECT_EQ(watcher.Next(), HealthCheckResponse::NOT_SERVING);
  ASSERT_TRUE(Check("m").ok());
  EXPECT_EQ(response_.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Check("unknown").error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(GrpcHealthTest, WatchSendsEveryChange) {
  Start({.watch_interval = absl::Hours(1)});
  Watcher watcher(*stub_, "m");
  EXPECT_EQ(watcher.Next(), HealthCheckResponse::SERVING);
  for (int i = 0; i < 20; ++i) {
    handlers_.SetServing("m", Serving::kNotServing);
    server_->HealthChanged();
    EXPECT_EQ(watcher.Next(), HealthCheckResponse::NOT_SERVING);
    handlers_.SetServing("m", Serving::kServing);
    server_->HealthChanged();
    server_->HealthChanged();  // no change, nothing sent
    EXPECT_EQ(watcher.Next(), HealthCheckResponse::SERVING);
  }
}

TEST_F(GrpcHealthTest, WatchNoticesChangesByItself) {
  Start({.watch_interval = absl::Milliseconds(5)});
  Watcher watcher(*stub_, "m");
  EXPECT_EQ(watcher.Next(), HealthCheckResponse::SERVING);
  handlers_.SetServing("m", Serving::kNotServing);
  EXPECT_EQ(watcher.Next(), HealthCheckResponse::NOT_SERVING);
}

TEST_F(GrpcHealthTest, WatchedServicesMayBecomeKnown) {
  Start();
  Watcher watcher(*stub_, "later");
  EXPECT_EQ(watcher.Next(), HealthCheckResponse::SERVICE_UNKNOWN);
  handlers_.SetServing("later", Serving::kServing);
  server_->HealthChanged();
  EXPECT_EQ(watcher.Next(), HealthCheckResponse::SERVING);
}

TEST_F(GrpcHealthTest, BoundsTheNumberOfWatches) {
  Start({.watches_max = 3});
  std::vector<std::unique_ptr<Watcher>> open;
  for (int i = 0; i < 3; ++i) {
    open.push_back(std::make_unique<Watcher>(*stub_, ""));
    EXPECT_EQ(open.back()->Next(), HealthCheckResponse::SERVING);
  }
  Watcher refused(*stub_, "");
  EXPECT_EQ(refused.Next(), -1);
  EXPECT_EQ(refused.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  // A cancelled watch makes room.
  open.pop_back();
  EXPECT_TRUE(
      Eventually([&] { return Watcher(*stub_, "").Next() == HealthCheckResponse::SERVING; }));
}

TEST_F(GrpcHealthTest, ServesManyWatchersThatComeAndGo) {
  Start({.watches_max = 256, .watch_interval = absl::Milliseconds(2)});
  std::atomic<bool> stop{false};
  std::thread flapping([&] {
    for (int i = 0; !stop; ++i) {
      handlers_.SetServing("m", i % 2 == 0 ? Serving::kServing : Serving::kNotServing);
      server_->HealthChanged();
    }
  });
  std::vector<std::thread> clients;
  for (int t = 0; t < 4; ++t) {
    clients.emplace_back([&, t] {
      const auto stub = Health::NewStub(Connect(server_->address()));
      for (int i = 0; i < 30; ++i) {
        std::vector<std::unique_ptr<Watcher>> watchers;
        for (int w = 0; w < 8; ++w) watchers.push_back(std::make_unique<Watcher>(*stub, "m"));
        for (int w = 0; w < 8; ++w) {
          if ((w + t) % 3 == 0) watchers[w]->Cancel();
        }
        for (int w = 0; w < 8; ++w) {
          if ((w + t) % 3 != 0) {
            EXPECT_NE(watchers[w]->Next(), -1);
          }
        }
      }
    });
  }
  for (auto& client : clients) client.join();
  stop = true;
  flapping.join();
  ASSERT_TRUE(Check("").ok());
}

TEST_F(GrpcHealthTest, ShutdownEndsWatches) {
  Start();
  std::vector<std::unique_ptr<Watcher>> open;
  for (int i = 0; i < 20; ++i) {
    open.push_back(std::make_unique<Watcher>(*stub_, i % 2 == 0 ? "" : "unknown"));
    EXPECT_NE(open.back()->Next(), -1);
  }
  server_->Shutdown(absl::Seconds(5));
  EXPECT_EQ(open[0]->Next(), HealthCheckResponse::NOT_SERVING);
  for (auto& watcher : open) {
    while (watcher->Next() != -1) {
    }
    EXPECT_EQ(watcher->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  }
}

}  // namespace
}  // namespace bandana::server
