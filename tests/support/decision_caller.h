// Decisions that a real server makes, numbered by their features and rewards, and their lines.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "bandana/v1/recommender.grpc.pb.h"
#include "common/decisions/jsonl_reader.h"
#include "tests/support/decision_text.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {

inline std::string FileAt(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The lines of JSONL, all of which must be sound.
inline std::vector<LoggedDecision> LinesOf(const std::string& text) {
  JsonlReader reader(BytesOf(text));
  std::vector<LoggedDecision> lines;
  DecisionFault fault;
  for (;;) {
    const auto next = reader.Read(lines.emplace_back(), fault);
    EXPECT_THAT(next.status(), IsOk());
    if (next.ok() && *next == JsonlReader::Next::kDecision) continue;
    EXPECT_TRUE(next.ok() && *next == JsonlReader::Next::kEnd) << fault.message;
    lines.pop_back();
    return lines;
  }
}

// Reward k / 2^20 belongs to decision k: its first arm has that feature.
inline double FeatureOf(int k) { return k / 1048576.0; }
inline int NumberOf(double feature) { return static_cast<int>(feature * 1048576.0); }

class Caller {
 public:
  explicit Caller(const std::string& address)
      : stub_(v1::Recommender::NewStub(
            grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))) {}

  // Three arms inline.
  static v1::SelectRequest RequestOf(const std::string& model, const std::string& user, int k) {
    v1::SelectRequest request;
    request.set_model(model);
    request.set_user(user);
    for (const double x : {FeatureOf(k), 0.0, 0.0, 0.5, 0.4, 0.0}) {
      request.mutable_arms()->mutable_inline_arms()->add_features(x);
    }
    return request;
  }
  std::optional<v1::SelectResponse> Select(const v1::SelectRequest& request) const {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(20)));
    v1::SelectResponse response;
    const grpc::Status status = stub_->Select(&context, request, &response);
    return status.ok() ? std::optional(response) : std::nullopt;
  }
  bool Report(const std::string& model, const std::string& token, double reward,
              std::uint32_t shown = 0) const {
    v1::ReportRequest request;
    request.set_model(model);
    v1::Outcome& outcome = *request.add_outcomes();
    outcome.set_token(token);
    outcome.set_reward(reward);
    outcome.set_shown(shown);
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(20)));
    v1::ReportResponse response;
    return stub_->Report(&context, request, &response).ok() &&
           response.results(0).code() == v1::APPLIED;
  }
  bool Activate(const std::string& model, const std::string& token) const {
    v1::ActivateRequest request;
    request.set_model(model);
    request.add_tokens(token);
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(20)));
    v1::ActivateResponse response;
    return stub_->Activate(&context, request, &response).ok();
  }

 private:
  const std::unique_ptr<v1::Recommender::Stub> stub_;
};

}  // namespace bandana::testing
