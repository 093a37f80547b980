// Export and Import as streams, over loopback, with real models on the other side.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "bandana/v1/admin.grpc.pb.h"
#include "server/models/folder/export_header.h"
#include "server/service/admin/admin_service.h"
#include "tests/support/model_harness.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/ctl/admin_client.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

constexpr auto kInvalid = grpc::StatusCode::INVALID_ARGUMENT;

class ExportStreamsTest : public ::testing::Test {
 protected:
  void Serve(AdminOptions options = {}) {
    ModelRegistry::Options registry{.data_dir = folder_.path(), .models_max = 5};
    registry_ = *ModelRegistry::Open(registry, clock_);
    const auto model = registry_->Create(
        testing::SpecOf("name: 'm' dimension: 2 mode: NON_PRIVATE independent {}"));
    ASSERT_THAT(model, IsOk());
    for (int i = 0; i < 20; ++i) Report(**model, i);
    service_ = std::make_unique<AdminService>(*registry_, std::move(options));
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(service_->service());
    server_ = builder.BuildAndStart();
    target_ = "127.0.0.1:" + std::to_string(port);
    stub_ = v1::Admin::NewStub(grpc::CreateChannel(target_, grpc::InsecureChannelCredentials()));
  }
  void TearDown() override { server_->Shutdown(); }

  void Report(HostedModel& model, int number) {
    EXPECT_EQ(
        testing::CodeOf(testing::ReportOne(
            model, testing::DecisionOf(model, clock_, number, {1, 0}, absl::StrCat("u", number)),
            1)),
        v1::APPLIED);
  }

  // The chunks of an export: the first has the header.
  std::string Export(v1::ExportHeader& header) {
    v1::ExportRequest request;
    request.set_model("m");
    grpc::ClientContext context;
    const auto reader = stub_->Export(&context, request);
    std::string bytes;
    bool first = true;
    for (v1::Chunk chunk; reader->Read(&chunk); first = false) {
      EXPECT_EQ(chunk.has_header(), first);
      EXPECT_EQ(chunk.data().empty(), first);
      if (first) header = chunk.header();
      bytes += chunk.data();
    }
    EXPECT_TRUE(reader->Finish().ok());
    return bytes;
  }

  struct Stream {
    grpc::ClientContext context;
    v1::ModelDescription response;
    std::unique_ptr<grpc::ClientWriter<v1::ImportRequest>> writer;
    bool Write(const std::string& data, const v1::ExportHeader* header = nullptr,
               const std::string& name = "") const {
      v1::ImportRequest request;
      request.set_model(name);
      if (header != nullptr) *request.mutable_chunk()->mutable_header() = *header;
      request.mutable_chunk()->set_data(data);
      return writer->Write(request);
    }
    grpc::Status Finish() const {
      writer->WritesDone();
      return writer->Finish();
    }
  };
  std::unique_ptr<Stream> Open() {
    auto stream = std::make_unique<Stream>();
    stream->writer = stub_->Import(&stream->context, &stream->response);
    return stream;
  }
  grpc::Status Import(const std::string& name, const std::string& bytes,
                      const v1::ExportHeader* header) {
    const auto stream = Open();
    (void)stream->Write("", header, name);
    for (std::size_t at = 0; at < bytes.size(); at += 1000) {
      if (!stream->Write(bytes.substr(at, 1000))) break;
    }
    return stream->Finish();
  }

  std::vector<std::string> Folders() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.File("models"))) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  // Nothing is left of what was refused, and the model that is there learns on.
  void ExpectNothingHappened() {
    EXPECT_THAT(Folders(), ElementsAre("m"));
    EXPECT_EQ(registry_->List().size(), 1);
    Report(*registry_->FindOwned("m"), next_++);
  }

  const TempDir folder_;
  FakeClock clock_;
  int next_ = 100;
  std::unique_ptr<ModelRegistry> registry_;
  std::unique_ptr<AdminService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::string target_;
  std::unique_ptr<v1::Admin::Stub> stub_;
};

TEST_F(ExportStreamsTest, WithAHeaderAnExportMayBeLargerThanAStreamWithout) {
  Serve({.headless_bytes_max = 1500});
  v1::ExportHeader header;
  const std::string bytes = Export(header);
  ASSERT_GT(bytes.size(), 1500);
  EXPECT_EQ(header.bytes(), bytes.size());
  EXPECT_EQ(header.nodes(), 20u);
  EXPECT_EQ(header.config().name(), "m");
  EXPECT_EQ(HeaderOfExport(bytes)->SerializeAsString(), header.SerializeAsString());
  const grpc::Status headless = Import("copy", bytes, nullptr);
  EXPECT_EQ(headless.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(headless.error_message(), HasSubstr("without a header"));
  ExpectNothingHappened();
  EXPECT_TRUE(Import("copy", bytes, &header).ok());
  EXPECT_EQ(testing::StatisticsOf(*registry_->FindOwned("copy")).size(), 20);
}

TEST_F(ExportStreamsTest, WithoutAHeaderASmallOneIsTaken) {
  Serve();
  v1::ExportHeader header;
  const std::string bytes = Export(header);
  EXPECT_TRUE(Import("copy", bytes, nullptr).ok());
  EXPECT_EQ(testing::StatisticsOf(*registry_->FindOwned("copy")).size(), 20);
}

TEST_F(ExportStreamsTest, TheBytesMustBeAsManyAsPromised) {
  Serve();
  v1::ExportHeader header;
  const std::string bytes = Export(header);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, bytes.size() - 1}) {
    const grpc::Status cut = Import("copy", bytes.substr(0, size), &header);
    EXPECT_EQ(cut.error_code(), kInvalid) << size;
  }
  const grpc::Status more = Import("copy", bytes + "x", &header);
  EXPECT_EQ(more.error_code(), kInvalid);
  EXPECT_THAT(more.error_message(), HasSubstr("more came"));
  v1::ExportHeader other = header;
  other.set_nodes(21);
  const grpc::Status nodes = Import("copy", bytes, &other);
  EXPECT_EQ(nodes.error_code(), kInvalid);
  EXPECT_THAT(nodes.error_message(), HasSubstr("header: nodes is 21, the export has 20"));
  ExpectNothingHappened();
}

TEST_F(ExportStreamsTest, AHeaderIsJudgedBeforeAnythingBehindItIsRead) {
  Serve();
  v1::ExportHeader header;
  const std::string bytes = Export(header);
  v1::CheckImportRequest request;
  v1::CheckImportResponse response;
  request.set_model("copy");
  *request.mutable_header() = header;
  const auto check = [&] {
    grpc::ClientContext context;
    return stub_->CheckImport(&context, request, &response);
  };
  EXPECT_TRUE(check().ok());
  request.mutable_header()->set_bytes(1'000'000'000'000'000'000);
  // The stream stays open: only the header can be what is refused.
  const auto stream = Open();
  EXPECT_TRUE(stream->Write("", &request.header(), "copy"));
  for (const grpc::Status& status : {check(), stream->writer->Finish()}) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_THAT(status.error_message(), HasSubstr("1000000000000000000 bytes"));
  }
  request.set_model("../x");
  EXPECT_EQ(check().error_code(), kInvalid);
  request.set_model("m");
  EXPECT_EQ(check().error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(Import("m", bytes, &header).error_code(), grpc::StatusCode::ALREADY_EXISTS);
  ExpectNothingHappened();
}

TEST_F(ExportStreamsTest, AnyFlippedByteIsFound) {
  Serve();
  v1::ExportHeader header;
  const std::string bytes = Export(header);
  for (std::size_t i = 0; i < bytes.size(); i += 7) {
    std::string bad = bytes;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    EXPECT_EQ(Import("copy", bad, &header).error_code(), grpc::StatusCode::DATA_LOSS) << i;
  }
  ExpectNothingHappened();
}

TEST_F(ExportStreamsTest, AStreamThatIsCancelledLeavesNothing) {
  Serve({.streams_max = 1});
  v1::ExportHeader header;
  const std::string bytes = Export(header);
  const auto stream = Open();
  ASSERT_TRUE(stream->Write("", &header, "copy"));
  ASSERT_TRUE(stream->Write(bytes.substr(0, bytes.size() / 2)));
  stream->context.TryCancel();
  EXPECT_EQ(stream->writer->Finish().error_code(), grpc::StatusCode::CANCELLED);
  // Its place is free, and so is the name.
  ASSERT_TRUE(testing::Eventually([&] { return Import("copy", bytes, &header).ok(); }));
  ASSERT_THAT(registry_->Delete("copy"), IsOk());
  ExpectNothingHappened();
}

// A stream may take 300 ms, and a second more per MiB that it moves.
TEST_F(ExportStreamsTest, OneThatStandsStillIsCancelledAndOneThatMovesIsNot) {
  Serve({.stream_life_max = absl::Milliseconds(300)});
  v1::ExportHeader header;
  const std::string bytes = Export(header);
  const auto still = Open();
  ASSERT_TRUE(still->Write("", &header, "still"));
  EXPECT_EQ(still->writer->Finish().error_code(), grpc::StatusCode::CANCELLED);

  v1::ExportHeader large = header;
  large.set_bytes(1 << 20);
  const auto moves = Open();
  ASSERT_TRUE(moves->Write(std::string(512 << 10, 'x'), &large, "moves"));
  absl::SleepFor(absl::Milliseconds(500));
  ASSERT_TRUE(moves->Write(std::string(512 << 10, 'x')));
  EXPECT_EQ(moves->Finish().error_code(), grpc::StatusCode::DATA_LOSS) << "all of it was read";
  ExpectNothingHappened();
}

TEST_F(ExportStreamsTest, AReaderThatStopsDoesNotHoldTheModel) {
  Serve();
  v1::PutArmsResponse put;
  std::vector<CatalogueArm> arms;
  for (std::uint32_t id = 0; id < 80'000; ++id) {
    arms.push_back({id, {0.5, 0.5}, {std::string(64, 'a'), std::string(64, 'b')}});
  }
  ASSERT_THAT(registry_->FindOwned("m")->PutArms(arms, &put), IsOk());
  v1::ExportRequest request;
  request.set_model("m");
  grpc::ClientContext context;
  const auto reader = stub_->Export(&context, request);
  v1::Chunk chunk;
  ASSERT_TRUE(reader->Read(&chunk));
  ASSERT_GT(chunk.header().bytes(), 12 << 20);
  // The reader pauses here. Delete waits ten seconds for whoever holds the model.
  const absl::Time begin = absl::Now();
  Report(*registry_->FindOwned("m"), next_++);
  ASSERT_THAT(registry_->Delete("m"), IsOk());
  EXPECT_LT(absl::Now() - begin, absl::Seconds(5));
  std::string bytes;
  const v1::ExportHeader header = chunk.header();
  while (reader->Read(&chunk)) bytes += chunk.data();
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_TRUE(Import("m", bytes, &header).ok());
  EXPECT_EQ(registry_->FindOwned("m")->catalogue()->size(), 80'000);
}

TEST_F(ExportStreamsTest, TheClientGivesUpAServerThatDoesNotMove) {
  Serve();
  // Connections to this port are made, and nobody answers.
  const int port = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(port, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(port, 4), 0);
  ASSERT_EQ(::getsockname(port, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const auto take = [](std::string_view) { return absl::OkStatus(); };
  const auto client = AdminClient::Connect(absl::StrCat("127.0.0.1:", ntohs(address.sin_port)),
                                           absl::Milliseconds(200));
  ASSERT_THAT(client, IsOk());
  EXPECT_THAT((*client)->Export("m", take),
              StatusIs(absl::StatusCode::kDeadlineExceeded, "nothing moved for 200ms"));
  EXPECT_THAT((*client)->Import("copy", "bytes", nullptr),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  ::close(port);
}

TEST_F(ExportStreamsTest, TheClientsFullDiskEndsTheExport) {
  Serve();
  const auto client = AdminClient::Connect(target_, absl::Seconds(60));
  ASSERT_THAT(client, IsOk());
  const auto full = [](std::string_view) { return absl::ResourceExhaustedError("disk full"); };
  EXPECT_THAT((*client)->Export("m", full),
              StatusIs(absl::StatusCode::kResourceExhausted, "disk full"));
}

}  // namespace
}  // namespace bandana::server
