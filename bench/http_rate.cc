// How many selections per second a server's HTTP API answers: connections that stay open, one
// call in flight on each; and what callers of gRPC notice of it.
//   ./dev bench http_rate [--seconds 5] [--connections 4]
// Starts a server of its own. gRPC's caller asks 500 times per second, in turns alone and beside
// that load. The last line is `http_per_second=N grpc_p99_us=X grpc_p99_beside_http_us=Y`.
#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "bandana/v1/recommender.grpc.pb.h"
#include "bench/http_load.h"
#include "bench/measure.h"
#include "bench/server_child.h"
#include "common/base/check.h"

ABSL_FLAG(int, arms, 25, "arms of a request");
ABSL_FLAG(int, connections, 4, "calls in flight by HTTP");
ABSL_FLAG(double, seconds, 5, "of each kind of load, in all");

namespace bandana::bench {
namespace {

constexpr int kTurns = 5;
constexpr int kDimension = 25;
constexpr double kGrpcPerSecond = 500;
constexpr char kConfig[] =
    "api_listen: '127.0.0.1:0' models { name: 'm' dimension: 25 mode: NON_PRIVATE shared {} }";

// Features of all arms, row by row.
std::vector<double> ArmFeatures() {
  std::vector<double> features;
  for (int i = 0; i < absl::GetFlag(FLAGS_arms) * kDimension; ++i) {
    features.push_back(0.01 * ((i * 37) % 19 - 9));
  }
  return features;
}

std::string HttpRequest() {
  return SelectByHttp(absl::StrCat("{\"user\":\"ann\",\"arms\":{\"inlineArms\":{\"features\":[",
                                   absl::StrJoin(ArmFeatures(), ","), "]}}}"));
}

// At a fixed rate, so that a slow answer delays none of those after it more than it must.
Latencies AskByGrpc(v1::Recommender::Stub& stub, absl::Duration time) {
  v1::SelectRequest request;
  request.set_model("m");
  request.set_user("bob");
  const std::vector<double> features = ArmFeatures();
  request.mutable_arms()->mutable_inline_arms()->mutable_features()->Add(features.begin(),
                                                                         features.end());
  Latencies micros;
  const absl::Time start = absl::Now();
  for (absl::Time due = start; due < start + time; due += absl::Seconds(1 / kGrpcPerSecond)) {
    absl::SleepFor(due - absl::Now());
    grpc::ClientContext context;
    v1::SelectResponse response;
    const absl::Time sent = absl::Now();
    BANDANA_CHECK(stub.Select(&context, request, &response).ok());
    micros.push_back(absl::ToDoubleMicroseconds(absl::Now() - sent));
  }
  return micros;
}

void Add(const Latencies& from, Latencies& to) { to.insert(to.end(), from.begin(), from.end()); }

int Main() {
  const ServerChild server(kConfig);
  const auto stub = v1::Recommender::NewStub(
      grpc::CreateChannel(server.address(), grpc::InsecureChannelCredentials()));
  const absl::Duration time = absl::Seconds(absl::GetFlag(FLAGS_seconds)) / kTurns;
  Latencies http, alone, beside;
  AskByGrpc(*stub, absl::Milliseconds(200));
  for (int turn = 0; turn < kTurns; ++turn) {
    Add(AskByGrpc(*stub, time), alone);
    std::thread load([&] {
      Add(AskByHttp(server.api_address(), {HttpRequest()}, absl::GetFlag(FLAGS_connections), time),
          http);
    });
    Add(AskByGrpc(*stub, time), beside);
    load.join();
  }
  std::printf(
      "by HTTP: %d arms of %d features, %zu bytes a request, %d in flight: p50 %.0f us, p99 "
      "%.0f us\nby gRPC: p50 %.0f us alone, %.0f us beside\n",
      absl::GetFlag(FLAGS_arms), kDimension, HttpRequest().size(), absl::GetFlag(FLAGS_connections),
      Percentile(http, 0.5), Percentile(http, 0.99), Percentile(alone, 0.5),
      Percentile(beside, 0.5));
  std::printf("http_per_second=%.0f grpc_p99_us=%.0f grpc_p99_beside_http_us=%.0f\n",
              static_cast<double>(http.size()) / absl::GetFlag(FLAGS_seconds),
              Percentile(alone, 0.99), Percentile(beside, 0.99));
  return 0;
}

}  // namespace
}  // namespace bandana::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return bandana::bench::Main();
}
