// Traces of a real server, to a tiny collector: who gets spans, and who does not.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bandana/v1/recommender.grpc.pb.h"
#include "nlohmann/json.hpp"
#include "server/api/http_front.h"
#include "tests/support/http_request.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

constexpr char kTrace[] = "4bf92f3577b34da6a3ce929d0e0e4736";

// Takes what is posted to it.
class TinyCollector final : public server::HttpService {
 public:
  TinyCollector() {
    server::HttpFrontOptions options;
    options.listen = "127.0.0.1:0";
    options.threads = 1;
    options.body_bytes_max = 1 << 20;
    front_ = *server::HttpFront::Bind(options, *this);
    front_->Start();
  }
  ~TinyCollector() override { front_->Stop(); }

  void Handle(server::HttpCall call, server::AnswerHttp answer) override {
    {
      const std::lock_guard lock(mutex_);
      paths_.push_back(call.path);
      bodies_.push_back(call.body);
    }
    answer({.status = 200, .body = "{}"});
  }
  server::HttpAnswer Refusal(int status, const server::HttpCall&) override {
    return {.status = status};
  }

  std::string address() const { return front_->address(); }
  // Names of all spans so far.
  std::vector<std::string> Names() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    for (const std::string& body : bodies_) {
      const auto spans = nlohmann::json::parse(body)["resourceSpans"][0]["scopeSpans"][0]["spans"];
      for (const auto& span : spans) {
        EXPECT_EQ(span["traceId"], kTrace);
        EXPECT_EQ(span["parentSpanId"], "00f067aa0ba902b7");
        names.push_back(span["name"]);
      }
    }
    return names;
  }
  std::vector<std::string> paths() const {
    const std::lock_guard lock(mutex_);
    return paths_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> paths_;
  std::vector<std::string> bodies_;
  std::unique_ptr<server::HttpFront> front_;
};

constexpr char kModels[] =
    "models { name: 'open' dimension: 1 shared {} mode: NON_PRIVATE }\n"
    "models { name: 'hidden' dimension: 1 shared {} mode: CENTRAL_REWARD"
    " privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER }"
    " reporting { reward_window { duration { seconds: 3600 } grace {} } } }\n"
    "drain_delay {}\n";

class TraceServerTest : public ::testing::Test {
 protected:
  void Start(const std::string& collector) {
    auto server = ServerProcess::Start(
        {.config = kModels,
         .folder = folder_.path(),
         .arguments = {"--api_listen=127.0.0.1:0", "--trace_collector=http://" + collector}});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    stub_ = v1::Recommender::NewStub(
        grpc::CreateChannel(server_->listen(), grpc::InsecureChannelCredentials()));
  }
  static void Trace(grpc::ClientContext& context, const char* flags) {
    context.AddMetadata("traceparent", absl::StrCat("00-", kTrace, "-00f067aa0ba902b7-", flags));
  }
  // The token.
  std::string Select(const std::string& model, const char* flags) {
    grpc::ClientContext context;
    Trace(context, flags);
    v1::SelectRequest request;
    request.set_model(model);
    request.set_user("ann");
    request.mutable_arms()->mutable_inline_arms()->add_features(1);
    v1::SelectResponse response;
    const grpc::Status status = stub_->Select(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.token();
  }
  void Report(const std::string& model, const std::string& token) {
    grpc::ClientContext context;
    Trace(context, "01");
    v1::ReportRequest request;
    request.set_model(model);
    request.add_outcomes()->set_token(token);
    request.mutable_outcomes(0)->set_reward(1);
    v1::ReportResponse response;
    const grpc::Status status = stub_->Report(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  std::string Metrics() const { return HttpRequest(server_->http_listen(), "/metrics").body; }
  // Whether metrics have the line soon.
  bool SoonIn(const std::string& line) const {
    const absl::Time end = absl::Now() + absl::Seconds(60);
    while (absl::Now() < end) {
      if (Metrics().find(line) != std::string::npos) return true;
      absl::SleepFor(absl::Milliseconds(50));
    }
    return false;
  }

  TempDir folder_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<v1::Recommender::Stub> stub_;
};

TEST_F(TraceServerTest, SpansGoToWhoAsksForThemAndNeverForHiddenReports) {
  const TinyCollector collector;
  Start(collector.address());
  Select("open", "00");
  Report("hidden", Select("hidden", "01"));
  Report("open", Select("open", "01"));
  const HttpResult json =
      Send(server_->api_listen(),
           {.path = "/v1/models/open:select",
            .headers = {absl::StrCat("traceparent: 00-", kTrace, "-00f067aa0ba902b7-01")},
            .body = "{}"});
  EXPECT_NE(json.status, 0);
  EXPECT_EQ(server_->Terminate(), 0);  // what waits is sent before it ends
  const std::vector<std::string> names = collector.Names();
  EXPECT_EQ(std::count(names.begin(), names.end(), "bandana.v1.Recommender/Report"), 1);
  EXPECT_GE(std::count(names.begin(), names.end(), "bandana.v1.Recommender/Select"), 2);
  EXPECT_THAT(collector.paths(), Each(::testing::Eq("/v1/traces")));
}

TEST_F(TraceServerTest, ACollectorThatIsAwayCostsSpansAlone) {
  std::string nobody;
  {
    const TinyCollector gone;
    nobody = gone.address();
  }
  Start(nobody);
  for (int i = 0; i < 3; ++i) Report("open", Select("open", "01"));
  EXPECT_TRUE(SoonIn("bandana_trace_spans_dropped_total 6")) << Metrics();
  EXPECT_THAT(Metrics(), HasSubstr("bandana_trace_spans_sent_total 0"));
  EXPECT_EQ(server_->Terminate(), 0);
  EXPECT_THAT(server_->process().err(), HasSubstr("spans are dropped until the collector"));
}

TEST_F(TraceServerTest, ACollectorElsewhereIsRefused) {
  const ProcessResult refused =
      RunProgram("bandana-server", {"--config=x", "--trace_collector=http://192.0.2.1:4318"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--trace_collector: must be http://HOST:PORT"));
}

}  // namespace
}  // namespace bandana::testing
