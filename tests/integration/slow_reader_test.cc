// Clients that ask and do not read, against the transport in process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/service_harness.h"
#include "tests/support/raw_http2.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

using server::GrpcServer;

constexpr char kSelect[] = "/bandana.v1.Recommender/Select";

class SlowReaderTest : public ::testing::Test {
 protected:
  void Start(server::GrpcServerOptions options) {
    options.listen = "127.0.0.1:0";
    server_ = *GrpcServer::Start(options, handlers_);
    stub_ = v1::Recommender::NewStub(
        grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials()));
  }
  grpc::Status Select() {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    v1::SelectRequest request;
    request.set_top_k(1000);  // bytes of the answer
    v1::SelectResponse response;
    return stub_->Select(&context, request, &response);
  }
  // `n` calls on one connection whose answers of `bytes` may not be sent.
  RawSocket Stall(int n, int bytes) {
    v1::SelectRequest request;
    request.set_top_k(static_cast<std::uint32_t>(bytes));
    RawSocket socket(server_->address());
    EXPECT_TRUE(socket.Send(Http2Preface(0)));
    for (int i = 0; i < n; ++i) {
      const auto stream = static_cast<std::uint32_t>(2 * i + 1);
      EXPECT_TRUE(socket.Send(Http2Call(stream, kSelect, request.SerializeAsString())));
      while (handlers_.selects <= i) absl::SleepFor(absl::Milliseconds(1));  // one at a time
    }
    return socket;
  }

  ScriptedHandlers handlers_;
  std::unique_ptr<GrpcServer> server_;
  std::unique_ptr<v1::Recommender::Stub> stub_;
};

TEST_F(SlowReaderTest, TakesNoPlaceFromOthers) {
  Start({.calls_in_flight_max = 2});
  const RawSocket socket = Stall(50, 100);
  for (int i = 0; i < 10; ++i) {
    const grpc::Status status = Select();
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  EXPECT_EQ(server_->calls_in_flight(), 0);
}

TEST_F(SlowReaderTest, HoldsBoundedMemoryAndForABoundedTime) {
  Start({.unread_bytes_max = 10'000, .unread_time_max = absl::Milliseconds(100)});
  const RawSocket socket = Stall(50, 1000);
  const grpc::Status refused = Select();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(refused.error_message(), "too many answers wait for their readers");
  while (!Select().ok()) absl::SleepFor(absl::Milliseconds(50));  // the test's time limit bounds it
}

}  // namespace
}  // namespace bandana::testing
