// Decisions and reports over the wire, without the SDK.
#pragma once

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <memory>
#include <string>

#include "bandana/v1/recommender.grpc.pb.h"

namespace bandana::testing {

// Threads: safe.
class PlainCaller {
 public:
  explicit PlainCaller(const std::string& address)
      : stub_(v1::Recommender::NewStub(
            grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))) {}

  // A decision between two arms of two features, given inline.
  grpc::Status Select(const std::string& model, const std::string& user,
                      v1::SelectResponse& response) const {
    v1::SelectRequest request;
    request.set_model(model);
    request.set_user(user);
    for (const double x : {1.0, 0.0, 0.0, 1.0}) {
      request.mutable_arms()->mutable_inline_arms()->add_features(x);
    }
    grpc::ClientContext context;
    return stub_->Select(&context, request, &response);
  }

  // Reward 1 for one decision.
  grpc::Status Report(const std::string& model, const std::string& token,
                      v1::ReportResponse& response) const {
    v1::ReportRequest request;
    request.set_model(model);
    v1::Outcome& outcome = *request.add_outcomes();
    outcome.set_token(token);
    outcome.set_reward(1);
    grpc::ClientContext context;
    return stub_->Report(&context, request, &response);
  }

  v1::Recommender::Stub& stub() const { return *stub_; }

 private:
  const std::unique_ptr<v1::Recommender::Stub> stub_;
};

}  // namespace bandana::testing
