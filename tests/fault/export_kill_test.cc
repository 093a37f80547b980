// SIGKILL while an export or an import is on its way: nothing is left after the next start, and the
// other models have lost nothing.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bandana/v1/admin.grpc.pb.h"
#include "server/models/folder/export_header.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/ctl/admin_client.h"

namespace bandana::testing {
namespace {

namespace fs = std::filesystem;

constexpr char kConfig[] = "models { name: 'plain' dimension: 8 shared {} mode: NON_PRIVATE }\n";
constexpr int kArms = 20'000;

class ExportKillTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Start();
    std::vector<v1::Arm> arms(kArms);
    for (int a = 0; a < kArms; ++a) {
      arms[a].set_id(static_cast<std::uint32_t>(a));
      for (int i = 0; i < 8; ++i) arms[a].add_features(0.125);
    }
    ASSERT_THAT(admin_->PutArms("plain", arms), IsOk());
    ASSERT_THAT(admin_->Export("plain",
                               [&](std::string_view piece) {
                                 exported_ += piece;
                                 return absl::OkStatus();
                               }),
                IsOk());
    header_ = *server::HeaderOfExport(exported_);
    files_ = Files();
  }

  void Start() {
    auto server = ServerProcess::Start({.config = kConfig, .folder = folder_.path()});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    admin_ = *AdminClient::Connect(server_->listen(), absl::Seconds(60));
    stub_ = v1::Admin::NewStub(
        grpc::CreateChannel(server_->listen(), grpc::InsecureChannelCredentials()));
  }

  // Every file of the data folder, but for what SQLite makes and removes.
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.File("data"))) {
      const std::string name = entry.path().string();
      if (name.ends_with("-wal") || name.ends_with("-shm")) continue;
      if (entry.path().filename().string().starts_with("checkpoint-")) continue;
      names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  void ExpectAsBefore() {
    EXPECT_EQ(Files(), files_);
    const auto models = admin_->ListModels();
    ASSERT_THAT(models, IsOk());
    ASSERT_EQ(models->models_size(), 1);
    EXPECT_EQ(models->models(0).arms(), static_cast<std::uint32_t>(kArms));
    EXPECT_THAT(admin_->Import("copy", exported_, &header_), IsOk());
    EXPECT_EQ(admin_->GetStats("copy")->arms(), static_cast<std::uint32_t>(kArms));
  }

  const TempDir folder_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<AdminClient> admin_;
  std::unique_ptr<v1::Admin::Stub> stub_;
  std::string exported_;
  v1::ExportHeader header_;
  std::vector<std::string> files_;
};

TEST_F(ExportKillTest, AnImportInTheMiddle) {
  grpc::ClientContext context;
  v1::ModelDescription response;
  const auto writer = stub_->Import(&context, &response);
  v1::ImportRequest request;
  request.set_model("copy");
  *request.mutable_chunk()->mutable_header() = header_;
  ASSERT_TRUE(writer->Write(request));
  request.Clear();
  request.mutable_chunk()->set_data(exported_.substr(0, exported_.size() / 2));
  ASSERT_TRUE(writer->Write(request));
  // Other calls are answered meanwhile.
  EXPECT_THAT(admin_->GetStats("plain"), IsOk());
  server_->Kill();
  EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  Start();
  ExpectAsBefore();
}

TEST_F(ExportKillTest, AnImportWhoseFolderIsHalfMade) {
  // Killed at any moment after its last byte: the folder is half-made, made, or not yet begun.
  for (int delay = 0; delay < 8; ++delay) {
    const std::string name = absl::StrCat("copy", delay);
    grpc::ClientContext context;
    v1::ModelDescription response;
    const auto writer = stub_->Import(&context, &response);
    v1::ImportRequest request;
    request.set_model(name);
    *request.mutable_chunk()->mutable_header() = header_;
    request.mutable_chunk()->set_data(exported_);
    ASSERT_TRUE(writer->Write(request));
    writer->WritesDone();
    absl::SleepFor(absl::Milliseconds(delay * 15));
    server_->Kill();
    writer->Finish().ok();
    Start();
    for (const auto& entry : fs::directory_iterator(folder_.File("data/models"))) {
      EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << entry.path();
    }
    const auto models = admin_->ListModels();
    ASSERT_THAT(models, IsOk());
    // Every model that is there is whole.
    for (const v1::ModelDescription& model : models->models()) {
      EXPECT_EQ(model.arms(), static_cast<std::uint32_t>(kArms)) << model.model().model();
      if (model.model().model() != name) continue;
      EXPECT_THAT(admin_->DeleteModel(name), IsOk());
    }
  }
  ExpectAsBefore();
}

TEST_F(ExportKillTest, AnExportInTheMiddle) {
  grpc::ClientContext context;
  v1::ExportRequest request;
  request.set_model("plain");
  const auto reader = stub_->Export(&context, request);
  v1::Chunk chunk;
  ASSERT_TRUE(reader->Read(&chunk));
  EXPECT_EQ(chunk.header().bytes(), header_.bytes());
  server_->Kill();
  while (reader->Read(&chunk)) {
  }
  reader->Finish().ok();
  Start();
  ExpectAsBefore();
}

}  // namespace
}  // namespace bandana::testing
