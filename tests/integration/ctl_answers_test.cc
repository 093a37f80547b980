// How bandana-ctl treats answers that it cannot read.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "bandana/v1/admin.grpc.pb.h"
#include "tests/support/status_matchers.h"
#include "tools/ctl/admin_client.h"

namespace bandana::testing {
namespace {

// A server of a former version: it took the names of arms from files as they were.
class FormerServer final : public v1::Admin::Service {
 public:
  explicit FormerServer(std::string name) : name_(std::move(name)) {}

  grpc::Status ListArms(grpc::ServerContext*, const v1::ListArmsRequest*,
                        grpc::ServerWriter<v1::Arm>* writer) override {
    v1::Arm arm;
    arm.set_id(1);
    writer->Write(arm);
    arm.set_name(name_);
    for (int i = 0; i < 10'000 && writer->Write(arm); ++i) arm.set_id(2 + i);
    return grpc::Status::OK;
  }

 private:
  const std::string name_;
};

absl::Status List(const std::string& name, int& arms) {
  FormerServer service(name);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const auto client = AdminClient::Connect(absl::StrCat("127.0.0.1:", port), absl::Seconds(20), {});
  if (!client.ok()) return client.status();
  return (*client)->ListArms("m", [&](const v1::Arm&) { ++arms; });
}

TEST(CtlAnswersTest, AnArmThatCannotBeReadIsAnError) {
  int arms = 0;
  EXPECT_THAT(List("caf\xE9", arms),
              StatusIs(absl::StatusCode::kDataLoss, "arm 2 of the answer cannot be read"));
  EXPECT_EQ(arms, 1);
}

TEST(CtlAnswersTest, ArmsAreReadToTheEnd) {
  int arms = 0;
  EXPECT_THAT(List("caf\xC3\xA9", arms), IsOk());
  EXPECT_EQ(arms, 10'001);
}

}  // namespace
}  // namespace bandana::testing
