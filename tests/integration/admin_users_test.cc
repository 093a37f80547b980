// Users of a model and what its callers named, deleted and exported by Admin; and the lines that
// its calls leave.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "bandana/v1/admin.grpc.pb.h"
#include "bandana/v1/recommender.pb.h"
#include "server/service/admin/admin_service.h"
#include "tests/support/model_harness.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

class Lines final : public CallLog {
 public:
  void Write(const CallRecord& record) override {
    const std::lock_guard lock(mutex_);
    lines_.push_back(absl::StrCat(std::string(record.method), " ", record.model));
  }
  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

class AdminUsersTest : public ::testing::Test {
 protected:
  AdminUsersTest() {
    model_ = *registry_->Create(
        testing::SpecOf("name: 'm' dimension: 2 mode: NON_PRIVATE independent {}"));
    EXPECT_EQ(testing::CodeOf(testing::ReportOne(
                  *model_, testing::DecisionOf(*model_, clock_, 1, {1, 0}, "ann"), 1)),
              v1::APPLIED);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(service_.service());
    server_ = builder.BuildAndStart();
    stub_ = v1::Admin::NewStub(grpc::CreateChannel("127.0.0.1:" + std::to_string(port),
                                                   grpc::InsecureChannelCredentials()));
  }
  ~AdminUsersTest() override { server_->Shutdown(); }

  AdminOptions Options() {
    AdminOptions options;
    options.decision_index = index_.get();
    options.calls.log = &lines_;
    return options;
  }
  // Keeps the answer given to the user under this name.
  void Keep(const std::string& user, const std::string& token) {
    v1::SelectResponse answer;
    answer.set_token(token);
    auto taken = index_->Take(kName, {}, [](std::string_view, const auto&) { return true; });
    ASSERT_THAT(taken, IsOk());
    std::get<DecisionIndex::Claim>(*taken).Keep({.content = {},
                                                 .until = clock_.Now() + absl::Hours(1),
                                                 .maker = "m",
                                                 .instance = model_->instance(),
                                                 .user = Sha256Of(user),
                                                 .answer = answer.SerializeAsString()});
  }
  grpc::StatusCode Delete(const std::vector<std::string>& ids) {
    v1::DeleteUsersRequest request;
    request.set_model("m");
    for (const std::string& id : ids) request.add_ids(id);
    grpc::ClientContext context;
    v1::DeleteUsersResponse response;
    return stub_->DeleteUsers(&context, request, &response).error_code();
  }

  static constexpr DecisionName kName{.model = "m", .caller = "", .id = "first"};
  TempDir folder_;
  FakeClock clock_;
  Lines lines_;
  std::unique_ptr<DecisionIndex> index_ = DecisionIndex::Open({}, clock_).value();
  std::unique_ptr<ModelRegistry> registry_ =
      *ModelRegistry::Open({.data_dir = folder_.path(), .models_max = 5}, clock_);
  std::shared_ptr<HostedModel> model_;
  AdminService service_{*registry_, Options()};
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::Admin::Stub> stub_;
};

TEST_F(AdminUsersTest, ADeletionThatTheModelRefusesForgetsNoAnswer) {
  Keep("ann", "token");
  EXPECT_EQ(Delete({"ann", ""}), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(index_->Find(kName).has_value());
  EXPECT_EQ(Delete({"ann"}), grpc::StatusCode::OK);
  EXPECT_FALSE(index_->Find(kName).has_value());
}

TEST_F(AdminUsersTest, AnExportHasWhatWasAnsweredUnderNames) {
  Keep("ann", "token");
  const auto answers = [&](const std::string& user) {
    v1::ExportUserRequest request;
    request.set_model("m");
    request.set_id(user);
    grpc::ClientContext context;
    v1::ExportUserResponse response;
    EXPECT_TRUE(stub_->ExportUser(&context, request, &response).ok());
    std::vector<std::string> tokens;
    for (const v1::UserEntry& entry : response.entries()) {
      if (entry.kind() != "answer") continue;
      v1::SelectResponse answer;
      EXPECT_TRUE(answer.ParseFromString(entry.record()));
      tokens.push_back(answer.token());
    }
    return tokens;
  };
  EXPECT_EQ(testing::CodeOf(testing::ReportOne(
                *model_, testing::DecisionOf(*model_, clock_, 2, {1, 0}, "bea"), 1)),
            v1::APPLIED);
  EXPECT_THAT(answers("ann"), ElementsAre("token"));
  EXPECT_THAT(answers("bea"), IsEmpty());
}

TEST_F(AdminUsersTest, TheLineOfACallNamesTheModelThatIsToCome) {
  {
    grpc::ClientContext context;
    v1::CreateModelRequest request;
    request.mutable_config()->set_name("new");
    v1::ModelDescription response;
    EXPECT_FALSE(stub_->CreateModel(&context, request, &response).ok());
  }
  {
    grpc::ClientContext context;
    v1::CheckImportRequest request;
    request.set_model("copy");
    v1::CheckImportResponse response;
    EXPECT_FALSE(stub_->CheckImport(&context, request, &response).ok());
  }
  {
    grpc::ClientContext context;
    v1::ModelDescription response;
    const auto writer = stub_->Import(&context, &response);
    v1::ImportRequest request;
    request.set_model("copy");
    request.mutable_chunk()->set_data("no export");
    EXPECT_TRUE(writer->Write(request));
    writer->WritesDone();
    EXPECT_FALSE(writer->Finish().ok());
  }
  EXPECT_THAT(lines_.lines(), ElementsAre("CreateModel new", "CheckImport copy", "Import copy"));
}

}  // namespace
}  // namespace bandana::server
