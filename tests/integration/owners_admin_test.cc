// Admin about models that another server owns: its owner answers.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "bandana/internal/peer.grpc.pb.h"
#include "bandana/v1/admin.grpc.pb.h"
#include "common/base/sha256.h"
#include "tests/integration/owners_harness.h"
#include "tests/support/model_harness.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;
using ::testing::HasSubstr;

constexpr grpc::StatusCode kUnavailable = grpc::StatusCode::UNAVAILABLE;

class OwnersAdminTest : public OwnersTest {
 protected:
  OwnersAdminTest() {
    ModelSpec spec = SpecOf("name: 'm' dimension: 2 mode: NON_PRIVATE independent {} ");
    EXPECT_TRUE(far_->Create(spec).ok());
    near_.Add(spec).SetOwner(peers_->address());
    AdminOptions options;
    options.decision_index = near_index_.get();
    options.owners = &peers_->owners();
    admin_ = std::make_unique<AdminService>(near_, std::move(options));
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(admin_->service());
    server_ = builder.BuildAndStart();
    stub_ = v1::Admin::NewStub(grpc::CreateChannel("127.0.0.1:" + std::to_string(port),
                                                   grpc::InsecureChannelCredentials()));
  }
  ~OwnersAdminTest() override {
    server_->Shutdown();
    peers_->Shutdown(absl::ZeroDuration());
  }

  std::unique_ptr<ModelRegistry> OpenFar() {
    return std::move(
               ModelRegistry::Open({.data_dir = folder_.File("far"), .models_max = 3}, clock_))
        .value();
  }
  FakeModel& near() { return static_cast<FakeModel&>(*near_.Find("m")); }

  // A call about `m`.
  template <typename Request, typename Response>
  grpc::Status Ask(grpc::Status (v1::Admin::Stub::*method)(grpc::ClientContext*, const Request&,
                                                           Response*),
                   Response& response, Request request = {}) {
    request.set_model("m");
    grpc::ClientContext context;
    return (stub_.get()->*method)(&context, request, &response);
  }

  grpc::Status PutArms(const std::vector<v1::PutArmsRequest>& messages,
                       v1::PutArmsResponse& response) {
    grpc::ClientContext context;
    const auto writer = stub_->PutArms(&context, &response);
    for (const auto& message : messages) writer->Write(message);
    writer->WritesDone();
    return writer->Finish();
  }
  static v1::PutArmsRequest ArmMessage(std::uint32_t id, bool last) {
    v1::PutArmsRequest request;
    request.set_model("m");
    v1::Arm& arm = *request.add_arms();
    arm.set_id(id);
    arm.add_features(1);
    arm.add_features(0);
    request.set_last(last);
    return request;
  }

  std::unique_ptr<ModelRegistry> far_ = OpenFar();
  FakeRegistry near_;
  std::unique_ptr<Peers> peers_ = Serve(*far_);
  std::unique_ptr<AdminService> admin_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::Admin::Stub> stub_;
};

TEST_F(OwnersAdminTest, TheOwnerAnswersUnaryCalls) {
  v1::GetStatsResponse stats;
  ASSERT_TRUE(Ask(&v1::Admin::Stub::GetStats, stats).ok());
  EXPECT_EQ(stats.SerializeAsString(), far_->Find("m")->Stats().SerializeAsString());
  v1::CheckpointResponse checkpoint;
  EXPECT_TRUE(Ask(&v1::Admin::Stub::Checkpoint, checkpoint).ok());
  v1::GetLedgerResponse ledger;
  EXPECT_TRUE(Ask(&v1::Admin::Stub::GetLedger, ledger).ok());
  const std::uint64_t before = far_->Find("m")->Stats().log_sequence();
  clock_.Advance(absl::Seconds(1));
  v1::ConfirmClockResponse confirmed;
  EXPECT_TRUE(Ask(&v1::Admin::Stub::ConfirmClock, confirmed).ok());
  EXPECT_GT(far_->Find("m")->Stats().log_sequence(), before);  // the time of its log
  v1::DeleteUsersRequest users;
  users.add_ids("u");
  v1::DeleteUsersResponse deleted;
  EXPECT_TRUE(Ask(&v1::Admin::Stub::DeleteUsers, deleted, users).ok());
  v1::OpenEpochResponse epoch;
  ASSERT_TRUE(Ask(&v1::Admin::Stub::OpenEpoch, epoch).ok());
  EXPECT_EQ(epoch.epoch(), 2);
  EXPECT_EQ(far_->Find("m")->epoch(), 2);
  v1::ExportUserRequest nobody;
  nobody.set_id("nobody");
  v1::ExportUserResponse user;
  const grpc::Status unknown = Ask(&v1::Admin::Stub::ExportUser, user, nobody);
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(OwnersAdminTest, EveryServerForgetsWhatItAnsweredADeletedUser) {
  const auto answer = [&](DecisionIndex& index, const std::string& user) {
    auto taken = index.Take({.model = "m", .caller = "shop", .id = user}, Sha256Of(""),
                            [](std::string_view, const auto&) { return true; });
    std::get<DecisionIndex::Claim>(*taken).Keep({.until = clock_.Now() + absl::Hours(1),
                                                 .maker = "m",
                                                 .instance = near().instance(),
                                                 .user = Sha256Of(user),
                                                 .answer = "what " + user + " saw"});
  };
  for (DecisionIndex* const index : {near_index_.get(), far_index_.get()}) {
    answer(*index, "ann");
    answer(*index, "bob");
  }
  near_.SetOthers({peers_->address()});
  v1::DeleteUsersRequest request;
  request.add_ids("ann");
  v1::DeleteUsersResponse response;
  ASSERT_TRUE(Ask(&v1::Admin::Stub::DeleteUsers, response, request).ok());
  for (DecisionIndex* const index : {near_index_.get(), far_index_.get()}) {
    EXPECT_EQ(index->Find({.model = "m", .caller = "shop", .id = "ann"}), std::nullopt);
    EXPECT_EQ(index->Find({.model = "m", .caller = "shop", .id = "bob"}), "what bob saw");
  }

  // Another server that is seen and does not answer: no user is deleted, and the caller knows.
  near_.SetOthers({"127.0.0.1:1"});
  const grpc::Status failed = Ask(&v1::Admin::Stub::DeleteUsers, response, request);
  EXPECT_EQ(failed.error_code(), kUnavailable);
  EXPECT_THAT(failed.error_message(), HasSubstr("another server has not forgotten"));
}

TEST_F(OwnersAdminTest, OnlyAPeerHasDecisionsForgotten) {
  const auto forget = [&](const std::string& instance, bool peer) {
    const auto stub =
        internal::Peer::NewStub(ChannelOf(IdentityOf(peer ? 'a' : 'b'), peers_->address()));
    grpc::ClientContext context;
    internal::ForgetRequest request;
    request.set_instance(instance);
    internal::ForgetResponse response;
    return stub->Forget(&context, request, &response).error_code();
  };
  EXPECT_EQ(forget(std::string(16, 'i'), true), grpc::StatusCode::OK);
  EXPECT_EQ(forget("short", true), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(forget(std::string(16, 'i'), false), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(OwnersAdminTest, TheOwnerChangesAndDeletesItsModel) {
  v1::UpdateModelRequest update;
  update.mutable_config()->set_name("m");
  update.mutable_config()->mutable_exploration()->set_alpha(0.75);
  grpc::ClientContext context;
  v1::ModelDescription description;
  const grpc::Status updated = stub_->UpdateModel(&context, update, &description);
  ASSERT_TRUE(updated.ok()) << updated.error_message();
  EXPECT_EQ(description.config().exploration().alpha(), 0.75);
  v1::DeleteModelResponse deleted;
  ASSERT_TRUE(Ask(&v1::Admin::Stub::DeleteModel, deleted).ok());
  EXPECT_EQ(far_->Find("m"), nullptr);
  // The near server has not seen it yet.
  EXPECT_EQ(Ask(&v1::Admin::Stub::DeleteModel, deleted).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(OwnersAdminTest, StreamsGoToTheOwnerWhole) {
  v1::PutArmsResponse put;
  ASSERT_TRUE(PutArms({ArmMessage(1, false), ArmMessage(2, true)}, put).ok());
  EXPECT_EQ(far_->Find("m")->catalogue()->size(), 2);
  // One without its end changes nothing.
  EXPECT_EQ(PutArms({ArmMessage(3, false)}, put).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(far_->Find("m")->catalogue()->size(), 2);
  // A call that breaks off here breaks off there.
  {
    grpc::ClientContext context;
    const auto writer = stub_->PutArms(&context, &put);
    writer->Write(ArmMessage(3, true));
    context.TryCancel();
    EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  grpc::ClientContext context;
  v1::PutUsersResponse users;
  const auto writer = stub_->PutUsers(&context, &users);
  v1::PutUsersRequest request;
  request.set_model("m");
  request.add_users()->set_id("ann");
  request.set_last(true);
  writer->Write(request);
  writer->WritesDone();
  const grpc::Status put_users = writer->Finish();
  EXPECT_NE(put_users.error_code(), kUnavailable) << put_users.error_message();
}

TEST_F(OwnersAdminTest, AnExportIsTheOwners) {
  v1::ExportRequest request;
  request.set_model("m");
  grpc::ClientContext context;
  const auto reader = stub_->Export(&context, request);
  v1::Chunk chunk;
  ASSERT_TRUE(reader->Read(&chunk));
  const std::uint64_t promised = chunk.header().bytes();
  std::string bytes;
  while (reader->Read(&chunk)) bytes += chunk.data();
  ASSERT_TRUE(reader->Finish().ok());
  EXPECT_EQ(bytes.size(), promised);
  EXPECT_TRUE(far_->Import("copy", bytes).ok());
}

TEST_F(OwnersAdminTest, WithoutAnOwnerOnlyStatisticsAreAnswered) {
  for (const char* owner : {"", "127.0.0.1:1"}) {
    near().SetOwner(owner);
    v1::CheckpointResponse checkpoint;
    const grpc::Status away = Ask(&v1::Admin::Stub::Checkpoint, checkpoint);
    EXPECT_EQ(away.error_code(), kUnavailable);
    EXPECT_EQ(away.error_message(), "the model's owner does not answer; try again");
    v1::ConfirmClockResponse confirmed;
    EXPECT_EQ(Ask(&v1::Admin::Stub::ConfirmClock, confirmed).error_code(), kUnavailable);
    v1::PutArmsResponse put;
    EXPECT_EQ(PutArms({ArmMessage(1, true)}, put).error_code(), kUnavailable);
    v1::ExportRequest request;
    request.set_model("m");
    grpc::ClientContext context;
    EXPECT_EQ(stub_->Export(&context, request)->Finish().error_code(), kUnavailable);
    v1::GetStatsResponse stats;
    EXPECT_EQ(Ask(&v1::Admin::Stub::GetStats, stats).ok(), *owner == 0);
  }
  grpc::ClientContext context;
  v1::ListModelsResponse models;
  ASSERT_TRUE(stub_->ListModels(&context, {}, &models).ok());
  EXPECT_EQ(models.models_size(), 1);
}

TEST_F(OwnersAdminTest, NoCallOfAdminGoesRound) {
  FakeRegistry circle;
  circle.Add(near().spec());
  const std::unique_ptr<Peers> peers = Serve(circle);
  static_cast<FakeModel&>(*circle.Find("m")).SetOwner(peers->address());
  near().SetOwner(peers->address());
  v1::GetStatsResponse stats;
  EXPECT_EQ(Ask(&v1::Admin::Stub::GetStats, stats).error_code(), kUnavailable);
  v1::PutArmsResponse put;
  EXPECT_EQ(PutArms({ArmMessage(1, true)}, put).error_code(), kUnavailable);
  peers->Shutdown(absl::ZeroDuration());
}

}  // namespace
}  // namespace bandana::server
