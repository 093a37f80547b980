#include "server/service/transport/grpc_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "bandana/v1/admin.grpc.pb.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/descriptor_database.h"
#include "grpc/reflection/v1/reflection.grpc.pb.h"
#include "tests/integration/service_harness.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

constexpr char kSelect[] = "/bandana.v1.Recommender/Select";
constexpr char kPushback[] = "grpc-retry-pushback-ms";

class GrpcServerTest : public ::testing::Test {
 protected:
  void Start(GrpcServerOptions options = {}) {
    options.observer = &observer_;
    server_ = StartServer(handlers_, options);
    stub_ = v1::Recommender::NewStub(Connect(server_->address()));
  }
  grpc::Status Select(const v1::SelectRequest& request = {}) {
    auto context = Context();
    return stub_->Select(context.get(), request, &response_);
  }
  // Reports in the background; its status is there once `thread` is joined.
  struct Background {
    grpc::Status status;
    v1::ReportResponse response;
    std::thread thread;
  };
  std::unique_ptr<Background> ReportInBackground() {
    auto call = std::make_unique<Background>();
    call->thread = std::thread([this, call = call.get()] {
      auto context = Context();
      v1::ReportRequest request;
      request.add_outcomes();
      call->status = stub_->Report(context.get(), request, &call->response);
    });
    return call;
  }

  ScriptedHandlers handlers_;
  CountingObserver observer_;
  std::unique_ptr<GrpcServer> server_;
  std::unique_ptr<v1::Recommender::Stub> stub_;
  v1::SelectResponse response_;
};

TEST_F(GrpcServerTest, AnswersEveryMethod) {
  Start();
  v1::SelectRequest select;
  select.set_top_k(3);
  ASSERT_TRUE(Select(select).ok());
  EXPECT_EQ(response_.posterior_version(), 7);
  EXPECT_EQ(response_.token(), "ttt");

  v1::GetModelRequest get_model;
  get_model.set_model("m");
  v1::GetModelResponse model;
  ASSERT_TRUE(stub_->GetModel(Context().get(), get_model, &model).ok());
  EXPECT_EQ(model.model(), "m");

  v1::BatchSelectRequest batch;
  batch.add_decisions();
  batch.add_decisions();
  v1::BatchSelectResponse batch_response;
  ASSERT_TRUE(stub_->BatchSelect(Context().get(), batch, &batch_response).ok());
  EXPECT_EQ(batch_response.results_size(), 2);

  v1::ReportRequest report;
  report.add_outcomes();
  v1::ReportResponse report_response;
  ASSERT_TRUE(stub_->Report(Context().get(), report, &report_response).ok());
  EXPECT_EQ(report_response.results(0).code(), v1::APPLIED);

  v1::SubmitRequest submit;
  submit.add_reports();
  submit.add_reports();
  v1::SubmitResponse submit_response;
  ASSERT_TRUE(stub_->Submit(Context().get(), submit, &submit_response).ok());
  EXPECT_EQ(submit_response.results_size(), 2);

  v1::GetPosteriorResponse posterior;
  ASSERT_TRUE(stub_->GetPosterior(Context().get(), {}, &posterior).ok());
  EXPECT_EQ(posterior.version(), 7);

  v1::GetArmEffectsResponse arms;
  ASSERT_TRUE(stub_->GetArmEffects(Context().get(), {}, &arms).ok());
  EXPECT_EQ(arms.version(), 7);

  for (const char* method :
       {"GetModel", "Select", "BatchSelect", "Report", "Submit", "GetPosterior", "GetArmEffects"}) {
    EXPECT_EQ(observer_.calls(method, grpc::StatusCode::OK), 1) << method;
  }
  EXPECT_EQ(observer_.negative(), 0);
}

// Where reports are hidden nobody learns that one came: not from a count, not from a
// time, not from a call that waits or is refused.
TEST_F(GrpcServerTest, UnrecordedReportsAreNotObserved) {
  handlers_.keeps_unrecorded = true;
  Start();
  const auto report = [&](const std::string& model) {
    v1::ReportRequest request;
    request.set_model(model);
    request.add_outcomes();
    v1::ReportResponse response;
    return stub_->Report(Context().get(), request, &response);
  };
  EXPECT_TRUE(report("unrecorded").ok());
  EXPECT_EQ(report(std::string(300'000, 'm')).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);  // before anybody looks whose it is
  EXPECT_EQ(observer_.started(), 0);
  EXPECT_EQ(observer_.calls("Report", grpc::StatusCode::OK), 0);
  EXPECT_EQ(observer_.calls("Report", grpc::StatusCode::RESOURCE_EXHAUSTED), 0);
  EXPECT_TRUE(report("m").ok());
  EXPECT_EQ(observer_.started(), 1);
  EXPECT_EQ(observer_.calls("Report", grpc::StatusCode::OK), 1);
  handlers_.HoldReports();
  std::thread waiting([&] { EXPECT_TRUE(report("unrecorded").ok()); });
  EXPECT_TRUE(Eventually([&] { return server_->calls_in_flight() == 1; }));
  EXPECT_TRUE(Eventually([&] { return server_->calls_shown() == 0; }));
  handlers_.ReleaseReports();
  waiting.join();
  EXPECT_EQ(server_->calls_shown(), 0);
  EXPECT_EQ(observer_.calls("Report", grpc::StatusCode::OK), 1);
}

// One for a model that was there before, on a server that hides nothing now.
TEST_F(GrpcServerTest, ReportsForAnotherPolicyAreNotObserved) {
  Start();
  v1::ReportRequest request;
  request.set_model("m");
  request.add_outcomes();
  request.set_policy_hash("former");
  v1::ReportResponse response;
  EXPECT_TRUE(stub_->Report(Context().get(), request, &response).ok());
  EXPECT_EQ(observer_.started(), 0);
  EXPECT_EQ(observer_.calls("Report", grpc::StatusCode::OK), 0);
  request.clear_policy_hash();
  EXPECT_TRUE(stub_->Report(Context().get(), request, &response).ok());
  EXPECT_EQ(observer_.started(), 1);
  EXPECT_EQ(observer_.calls("Report", grpc::StatusCode::OK), 1);
  EXPECT_EQ(server_->calls_shown(), 0);
}

TEST_F(GrpcServerTest, ReusesCallsWithoutMixingThemUp) {
  Start();
  for (std::uint32_t i = 0; i < 1000; ++i) {  // more than are posted
    v1::SelectRequest request;
    request.set_top_k(i % 50);
    ASSERT_TRUE(Select(request).ok());
    ASSERT_EQ(response_.token().size(), i % 50);
  }
}

TEST_F(GrpcServerTest, ServesWithSeveralQueues) {
  Start({.queues = 3});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const auto stub = v1::Recommender::NewStub(Connect(server_->address()));
      for (int i = 0; i < 100; ++i) {
        v1::SelectResponse response;
        EXPECT_TRUE(stub->Select(Context().get(), {}, &response).ok());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(handlers_.selects, 400);
}

TEST_F(GrpcServerTest, PassesErrorsOnCappedAndPrintable) {
  handlers_.error_text = "field: \x01\xff " + std::string(5000, 'x');
  Start();
  v1::SelectRequest request;
  request.set_user("error");
  const grpc::Status status = Select(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message().size(), 1024);
  EXPECT_THAT(status.error_message(), ::testing::StartsWith("field: ?? xxx"));
}

TEST_F(GrpcServerTest, AFailedCallHasANameThatTheLogKnows) {
  ::bandana::testing::RecordingLog log;
  const std::string trace = "0af7651916cd43dd8448eb211c80319c";
  GrpcServerOptions options;
  options.log = &log;
  Start(options);
  v1::SelectRequest request;
  EXPECT_TRUE(Select(request).ok());
  EXPECT_EQ(log.records().size(), 0);
  request.set_user("error");
  auto context = Context();
  context->AddMetadata("traceparent", "00-" + trace + "-b7ad6b7169203331-01");
  EXPECT_FALSE(stub_->Select(context.get(), request, &response_).ok());
  auto without = Context();
  EXPECT_FALSE(stub_->Select(without.get(), request, &response_).ok());

  const auto records = log.records();
  ASSERT_EQ(records.size(), 2);
  EXPECT_EQ(records[0].method, "Select");
  EXPECT_EQ(records[0].caller, "anonymous");
  EXPECT_EQ(records[0].status_code, grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(records[0].trace_id, trace);
  EXPECT_EQ(records[0].request_id, Trailer(*context, "request-id"));
  EXPECT_EQ(records[0].request_id.size(), 16);
  EXPECT_EQ(records[1].request_id, Trailer(*without, "request-id"));
  EXPECT_NE(records[0].request_id, records[1].request_id);
  EXPECT_EQ(records[1].trace_id, "");
  server_.reset();  // before the log
}

TEST_F(GrpcServerTest, RefusesBytesThatAreNotTheMessage) {
  Start();
  const auto channel = Connect(server_->address());
  auto context = Context();
  const grpc::Status status = CallBytes(channel, kSelect, "\xff\xff\xff", *context);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("bandana.v1.SelectRequest"));
  auto report_context = Context();
  EXPECT_EQ(CallBytes(channel, "/bandana.v1.Recommender/Report", "\xff\xff\xff", *report_context)
                .error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(handlers_.selects, 0);
}

TEST_F(GrpcServerTest, UnknownMethodsAreUnimplemented) {
  Start();
  const auto channel = Connect(server_->address());
  for (const char* method : {"/bandana.v1.Recommender/Nope", "/nope.Service/Nope", "/"}) {
    auto context = Context();
    EXPECT_EQ(CallBytes(channel, method, "", *context).error_code(),
              grpc::StatusCode::UNIMPLEMENTED)
        << method;
  }
  EXPECT_TRUE(Select().ok());
}

TEST_F(GrpcServerTest, RefusesLargeRequestsWhileOthersAreServed) {
  Start();
  std::atomic<bool> stop{false};
  std::atomic<int> served{0};
  std::thread other([&] {
    while (!stop) {
      v1::SelectResponse response;
      EXPECT_TRUE(stub_->Select(Context().get(), {}, &response).ok());
      served.fetch_add(1);
    }
  });
  const auto channel = Connect(server_->address());
  for (const std::size_t bytes : {300'000, 4'000'000, 10'000'000}) {
    v1::SelectRequest request;
    request.set_user(std::string(bytes, 'u'));
    auto context = Context();
    const grpc::Status status = CallBytes(channel, kSelect, request.SerializeAsString(), *context);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED)
        << bytes << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr("larger")) << bytes;
    if (bytes < 4'194'304) {
      EXPECT_EQ(Trailer(*context, kPushback), "-1");
    }
  }
  const int before = served;
  EXPECT_TRUE(Eventually([&] { return served > before; }));
  stop = true;
  other.join();
}

TEST_F(GrpcServerTest, AcceptsRequestsUpToTheLimit) {
  Start();
  v1::SelectRequest request;
  request.set_user(std::string(256 * 1024 - 4, 'u'));
  ASSERT_EQ(request.ByteSizeLong(), 256 * 1024);
  EXPECT_TRUE(Select(request).ok());
  request.set_user(std::string(256 * 1024 - 3, 'u'));
  EXPECT_EQ(Select(request).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

class BigMessageAdmin final : public v1::Admin::Service {
  grpc::Status Checkpoint(grpc::ServerContext*, const v1::CheckpointRequest* request,
                          v1::CheckpointResponse* response) override {
    response->set_bytes(request->model().size());
    return grpc::Status::OK;
  }
};

TEST_F(GrpcServerTest, ServesSynchronousServicesWithLargerMessagesBesides) {
  BigMessageAdmin admin;
  Start({.services = {&admin}});
  const auto stub = v1::Admin::NewStub(Connect(server_->address()));
  v1::CheckpointRequest request;
  request.set_model(std::string(4'000'000, 'm'));
  v1::CheckpointResponse response;
  ASSERT_TRUE(stub->Checkpoint(Context().get(), request, &response).ok());
  EXPECT_EQ(response.bytes(), 4'000'000);
  EXPECT_TRUE(Select().ok());
  server_.reset();  // before the service
}

TEST_F(GrpcServerTest, ListsItsServicesByReflection) {
  Start();
  const auto channel = Connect(server_->address());
  // ServerReflectionRequest{ list_services: "" }, by field number.
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  auto context = Context();
  auto call = stub.PrepareCall(
      context.get(), "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  void* tag = nullptr;
  bool ok = false;
  call->StartCall(&queue);
  ASSERT_TRUE(queue.Next(&tag, &ok) && ok);
  const grpc::Slice slice(std::string("\x3a\x00", 2));
  call->Write(grpc::ByteBuffer(&slice, 1), &queue);
  ASSERT_TRUE(queue.Next(&tag, &ok) && ok);
  grpc::ByteBuffer answer;
  call->Read(&answer, &queue);
  ASSERT_TRUE(queue.Next(&tag, &ok) && ok);
  grpc::Slice bytes;
  ASSERT_TRUE(answer.DumpToSingleSlice(&bytes).ok());
  const std::string text(bytes.begin(), bytes.end());
  EXPECT_THAT(text, HasSubstr("bandana.v1.Recommender"));
  EXPECT_THAT(text, HasSubstr("grpc.health.v1.Health"));
  context->TryCancel();
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
}

// grpc.reflection.v1, which tools ask for first.
class Reflection : public GrpcServerTest {
 protected:
  using Response = grpc::reflection::v1::ServerReflectionResponse;
  Response Ask(const grpc::reflection::v1::ServerReflectionRequest& request) {
    const auto context = Context();
    const auto stream = stub_->ServerReflectionInfo(context.get());
    Response response;
    EXPECT_TRUE(stream->Write(request) && stream->Read(&response));
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
    EXPECT_EQ(response.original_request().SerializeAsString(), request.SerializeAsString());
    return response;
  }
  void Open() {
    Start();
    stub_ = grpc::reflection::v1::ServerReflection::NewStub(Connect(server_->address()));
  }
  std::unique_ptr<grpc::reflection::v1::ServerReflection::Stub> stub_;
};

TEST_F(Reflection, OfVersionOneHasFilesBySymbolAndName) {
  Open();
  grpc::reflection::v1::ServerReflectionRequest request;
  request.set_list_services("");
  std::vector<std::string> names;
  const Response listed = Ask(request);
  for (const auto& service : listed.list_services_response().service()) {
    names.push_back(service.name());
  }
  EXPECT_THAT(names, ::testing::IsSupersetOf({"bandana.v1.Recommender", "grpc.health.v1.Health",
                                              "grpc.reflection.v1.ServerReflection"}));
  for (const char* symbol : {"bandana.v1.Recommender", "bandana.v1.Recommender.Select",
                             "bandana.v1.SelectRequest", "bandana.v1.SelectRequest.top_k"}) {
    request.set_file_containing_symbol(symbol);
    const Response response = Ask(request);
    // All that a tool needs to build the pool, the asked file first.
    google::protobuf::SimpleDescriptorDatabase database;
    const auto& files = response.file_descriptor_response().file_descriptor_proto();
    ASSERT_GT(files.size(), 1) << symbol;
    google::protobuf::FileDescriptorProto file;
    for (const std::string& bytes : files) {
      ASSERT_TRUE(file.ParseFromString(bytes) && database.Add(file));
    }
    ASSERT_TRUE(file.ParseFromString(files[0]));
    EXPECT_EQ(file.name(), "bandana/v1/recommender.proto");
    google::protobuf::DescriptorPool pool(&database);
    EXPECT_NE(pool.FindServiceByName("bandana.v1.Recommender"), nullptr);
  }
  request.set_file_by_filename("bandana/v1/config.proto");
  EXPECT_TRUE(Ask(request).has_file_descriptor_response());
}

TEST_F(Reflection, SaysWhatItDoesNotKnow) {
  Open();
  grpc::reflection::v1::ServerReflectionRequest request;
  EXPECT_EQ(Ask(request).error_response().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_file_by_filename("none.proto");
  EXPECT_EQ(Ask(request).error_response().error_code(), grpc::StatusCode::NOT_FOUND);
  request.set_file_containing_symbol("bandana.v1.Nobody");
  EXPECT_EQ(Ask(request).error_response().error_code(), grpc::StatusCode::NOT_FOUND);
  request.mutable_file_containing_extension()->set_containing_type("bandana.v1.SelectRequest");
  EXPECT_EQ(Ask(request).error_response().error_code(), grpc::StatusCode::NOT_FOUND);
  request.set_all_extension_numbers_of_type("bandana.v1.SelectRequest");
  EXPECT_EQ(Ask(request).all_extension_numbers_response().extension_number_size(), 0);
  request.set_all_extension_numbers_of_type("bandana.v1.Nobody");
  EXPECT_EQ(Ask(request).error_response().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(Reflection, HasSixteenStreamsAndNoMore) {
  Open();
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<
      grpc::ClientReaderWriter<grpc::reflection::v1::ServerReflectionRequest, Response>>>
      streams;
  grpc::reflection::v1::ServerReflectionRequest request;
  request.set_list_services("");
  Response response;
  for (int i = 0; i < 16; ++i) {
    contexts.push_back(Context());
    streams.push_back(stub_->ServerReflectionInfo(contexts.back().get()));
    ASSERT_TRUE(streams.back()->Write(request) && streams.back()->Read(&response)) << i;
  }
  const auto context = Context();
  const auto beyond = stub_->ServerReflectionInfo(context.get());
  EXPECT_FALSE(beyond->Read(&response));
  EXPECT_EQ(beyond->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  for (const auto& stream : streams) {
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
  }
}

TEST_F(GrpcServerTest, AdmitsNoMoreReportsThanThreeQuartersOfTheLimit) {
  handlers_.HoldReports();
  Start({.calls_in_flight_max = 4});
  std::vector<std::unique_ptr<Background>> held;
  for (int i = 0; i < 3; ++i) held.push_back(ReportInBackground());
  ASSERT_TRUE(Eventually([&] { return handlers_.held() == 3; }));
  EXPECT_EQ(server_->calls_in_flight(), 3);

  auto context = Context();
  v1::ReportResponse response;
  const grpc::Status refused = stub_->Report(context.get(), {}, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("in flight"));
  EXPECT_EQ(Trailer(*context, kPushback), "50");
  EXPECT_TRUE(Select().ok());  // a hanging disk does not shut out Select

  handlers_.ReleaseReports();
  for (auto& call : held) {
    call->thread.join();
    EXPECT_TRUE(call->status.ok());
    EXPECT_EQ(call->response.results_size(), 1);
  }
  EXPECT_TRUE(Eventually([&] { return server_->calls_in_flight() == 0; }));
  EXPECT_TRUE(stub_->Report(Context().get(), {}, &response).ok());
}

TEST_F(GrpcServerTest, RefusesWhatAnOverloadedQueueWillNotGetTo) {
  handlers_.select_gate.Shut();
  Start({.calls_in_flight_max = 8});
  std::vector<std::unique_ptr<v1::Recommender::Stub>> stubs;
  for (int i = 0; i < 4; ++i)
    stubs.push_back(v1::Recommender::NewStub(Connect(server_->address())));
  // The first call occupies the queue's thread while the others arrive.
  std::thread first([&] { EXPECT_TRUE(Select().ok()); });
  handlers_.select_gate.AwaitWaiting(1);

  constexpr int kCalls = 200;
  grpc::CompletionQueue queue;
  struct Call {
    std::unique_ptr<grpc::ClientContext> context = Context();
    v1::SelectResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::SelectResponse>> reader;
  };
  std::vector<Call> calls(kCalls);
  for (int i = 0; i < kCalls; ++i) {
    calls[i].reader = stubs[i % stubs.size()]->AsyncSelect(calls[i].context.get(), {}, &queue);
    calls[i].reader->Finish(&calls[i].response, &calls[i].status, &calls[i]);
  }
  absl::SleepFor(absl::Milliseconds(300));  // most have arrived; the test holds for any number
  handlers_.select_gate.Open();
  first.join();
  int ok_calls = 0;
  int refused = 0;
  for (int i = 0; i < kCalls; ++i) {
    void* tag = nullptr;
    bool ok = false;
    ASSERT_TRUE(queue.Next(&tag, &ok));
    const Call& call = *static_cast<Call*>(tag);
    ok_calls += call.status.ok();
    if (call.status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) {
      ++refused;
      EXPECT_EQ(Trailer(*call.context, kPushback), "50");
    }
  }
  EXPECT_EQ(ok_calls + refused, kCalls);
  EXPECT_GT(ok_calls, 0);
  EXPECT_GT(refused, 0);
  EXPECT_EQ(handlers_.selects, ok_calls + 1);
  queue.Shutdown();
  EXPECT_TRUE(Eventually([&] { return server_->calls_in_flight() == 0; }));
}

TEST_F(GrpcServerTest, DoesNoWorkForExpiredDeadlines) {
  handlers_.select_gate.Shut();
  Start();
  std::thread first([&] { EXPECT_TRUE(Select().ok()); });
  handlers_.select_gate.AwaitWaiting(1);
  std::vector<std::thread> late;
  for (int i = 0; i < 4; ++i) {
    late.emplace_back([&] {
      auto context = Context(absl::Milliseconds(50));
      v1::SelectResponse response;
      EXPECT_EQ(stub_->Select(context.get(), {}, &response).error_code(),
                grpc::StatusCode::DEADLINE_EXCEEDED);
    });
  }
  for (auto& thread : late) thread.join();
  // The server counts a deadline from the call's arrival, so its own is a little later than the
  // client's.
  absl::SleepFor(absl::Milliseconds(200));
  handlers_.select_gate.Open();
  first.join();
  EXPECT_TRUE(Select().ok());  // behind the late ones in the queue
  EXPECT_EQ(handlers_.selects, 2);
  EXPECT_EQ(observer_.calls("Select", grpc::StatusCode::OK), 2);
}

TEST_F(GrpcServerTest, ASecondServerCannotTakeThePort) {
  Start();
  GrpcServerOptions options;
  options.listen = server_->address();
  EXPECT_THAT(GrpcServer::Start(options, handlers_),
              StatusIs(absl::StatusCode::kUnavailable, "cannot listen on 127"));
  EXPECT_TRUE(Select().ok());
}

TEST_F(GrpcServerTest, RefusesOptionsOutOfRange) {
  const std::vector<std::pair<GrpcServerOptions, std::string>> cases = {
      {{.listen = ""}, "listen"},
      {{.queues = 0}, "queues: must be in [1, 64], got 0"},
      {{.calls_in_flight_max = 0}, "calls_in_flight_max: must be in [1, 4096], got 0"},
      {{.calls_in_flight_max = 4097}, "calls_in_flight_max"},
      {{.watches_max = 1025}, "watches_max: must be in [1, 1024], got 1025"},
      {{.watch_interval = absl::ZeroDuration()}, "watch_interval"},
  };
  for (const auto& [options, message] : cases) {
    EXPECT_THAT(GrpcServer::Start(options, handlers_),
                StatusIs(absl::StatusCode::kInvalidArgument, message));
  }
}

TEST_F(GrpcServerTest, ListensOnAUnixSocket) {
  GrpcServerOptions options;
  options.listen =
      "unix:" + ::testing::TempDir() + "bandana-" + std::to_string(::getpid()) + ".sock";
  auto server = GrpcServer::Start(options, handlers_);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ((*server)->address(), options.listen);
  const auto stub = v1::Recommender::NewStub(Connect((*server)->address()));
  EXPECT_TRUE(stub->Select(Context().get(), {}, &response_).ok());
}

}  // namespace
}  // namespace bandana::server
