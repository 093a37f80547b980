// How the reports of one kind of message travel to the server.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "bandana/v1/recommender.pb.h"
#include "client/src/base/transport.h"

namespace bandana::device {

// When a report may be tried.
struct Attempts {
  absl::Duration deadline;  // of one
  // None begins later than so long after the report was due: the server may have forgotten by then
  // that it has it.
  std::optional<absl::Duration> lifetime;
};

// The server's answers to the reports of a request, in their order.
using OnResults = std::function<void(
    const Answer&, const google::protobuf::RepeatedPtrField<v1::OutcomeResult>& results)>;

// How the reports of one of these messages travel.
struct ReportMessage {
  // By which call a request goes; the other is not read.
  void (*send)(Transport& transport, const v1::SubmitRequest& submit,
               const v1::ReportRequest& outcomes, const CallOptions& options,
               OnResults done) = nullptr;
  // `deadline`: the application's.
  Attempts (*attempts)(absl::Duration deadline, absl::Duration token_lifetime) = nullptr;
  // Without a token: the server knows a report again by its id, for a token's lifetime.
  bool by_id = false;
  // Holds the reward as it is: once the model is another one than agreed on, none is sent.
  bool raw = false;
  // Adds one to the request of its call; the other is not touched.
  void (*add)(std::string_view report, v1::SubmitRequest& submit,
              v1::ReportRequest& outcomes) = nullptr;
  // Returns the report with its token set. Null by_id.
  std::string (*with_token)(std::string_view report, std::string_view token) = nullptr;
};
extern const ReportMessage kPerturbedForm;
extern const ReportMessage kOutcomeForm;
extern const ReportMessage kContextForm;

// Adds one packed arm (features.h).
void UnpackArm(std::string_view bytes, v1::InlineArms& arms);

}  // namespace bandana::device
