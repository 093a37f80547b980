#include "bench/echo_load.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "bandana/v1/recommender.grpc.pb.h"

namespace bandana::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

void DieUnlessOk(const grpc::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "echo_ratio: call failed: %d %s\n", status.error_code(),
               status.error_message().c_str());
  std::abort();
}

double Seconds(SteadyClock::duration d) { return std::chrono::duration<double>(d).count(); }

double Quantile(std::vector<double>& values, double q) {
  if (values.empty()) return 0;
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

template <typename Request, typename Response, typename Start>
LoadResult Run(const std::vector<Request>& requests, double seconds, Start start) {
  struct Call {
    std::optional<grpc::ClientContext> context;
    Response response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> reader;
    SteadyClock::time_point begin;
  };
  grpc::CompletionQueue queue;
  std::vector<Call> calls(LoadClient::kInFlight);
  std::size_t next = 0;
  const auto launch = [&](Call& call) {
    call.context.emplace();
    call.context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
    call.begin = SteadyClock::now();
    call.reader = start(&*call.context, requests[next++ % requests.size()], &queue);
    call.reader->Finish(&call.response, &call.status, &call);
  };
  for (Call& call : calls) launch(call);
  const SteadyClock::time_point begin = SteadyClock::now();
  SteadyClock::time_point measured_from{};
  std::vector<double> latencies;
  int open = LoadClient::kInFlight;
  double elapsed = 0;
  while (open > 0) {
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    Call& call = *static_cast<Call*>(tag);
    DieUnlessOk(call.status);
    const SteadyClock::time_point now = SteadyClock::now();
    if (measured_from == SteadyClock::time_point{}) {
      if (Seconds(now - begin) >= LoadClient::kWarmUpSeconds) measured_from = now;
    } else if (elapsed == 0) {
      latencies.push_back(Seconds(now - call.begin) * 1e6);
      if (Seconds(now - measured_from) >= seconds) elapsed = Seconds(now - measured_from);
    }
    if (elapsed == 0) {
      launch(call);
    } else {
      --open;
    }
  }
  queue.Shutdown();
  return {.calls_per_second = static_cast<double>(latencies.size()) / elapsed,
          .p50_us = Quantile(latencies, 0.5),
          .p99_us = Quantile(latencies, 0.99)};
}

}  // namespace

struct LoadClient::Connection {
  std::unique_ptr<v1::Recommender::Stub> stub;
};

LoadClient::LoadClient(const std::string& address)
    : connection_(std::make_unique<Connection>(Connection{v1::Recommender::NewStub(
          grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))})) {}
LoadClient::~LoadClient() = default;

LoadResult LoadClient::Select(const std::vector<v1::SelectRequest>& requests, double seconds) {
  return Run<v1::SelectRequest, v1::SelectResponse>(
      requests, seconds, [&](auto* context, const auto& request, auto* queue) {
        return connection_->stub->AsyncSelect(context, request, queue);
      });
}

LoadResult LoadClient::BatchSelect(const std::vector<v1::BatchSelectRequest>& requests,
                                   double seconds) {
  return Run<v1::BatchSelectRequest, v1::BatchSelectResponse>(
      requests, seconds, [&](auto* context, const auto& request, auto* queue) {
        return connection_->stub->AsyncBatchSelect(context, request, queue);
      });
}

int LoadClient::ResponseBytes(const v1::SelectRequest& request) {
  grpc::ClientContext context;
  v1::SelectResponse response;
  if (!connection_->stub->Select(&context, request, &response).ok()) return -1;
  return static_cast<int>(response.ByteSizeLong());
}

}  // namespace bandana::bench
