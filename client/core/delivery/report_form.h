// How the reports of one kind of message travel to the server.
#pragma once

#include <optional>
#include <string_view>

#include "absl/time/time.h"
#include "client/core/calls.h"

namespace bandana::device {

// When a report may be tried.
struct Attempts {
  absl::Duration deadline;  // of one
  // None begins later than so long after the report was due: the server may have forgotten by then
  // that it has it.
  std::optional<absl::Duration> lifetime;
};

// `deadline`: the application's.
using AttemptsOf = Attempts (*)(absl::Duration deadline, absl::Duration token_lifetime);
Attempts UntilAnswered(absl::Duration deadline, absl::Duration token_lifetime);
// An attempt ends before the server forgets the report's id.
Attempts WhileRemembered(absl::Duration deadline, absl::Duration token_lifetime);

struct ReportForm {
  Method method = Method::kSubmit;
  int reports = 0;      // the field of the request that lists them
  int policy_hash = 0;  // and the one of the configuration's name
  AttemptsOf attempts = UntilAnswered;
  // Without a token: the server knows a report again by its id, for a token's lifetime.
  bool by_id = false;
  // Holds the reward as it is: once the model is another one than agreed on, none is sent.
  bool raw = false;
};
inline constexpr ReportForm kPerturbedForm = {
    .method = Method::kSubmit, .reports = 3, .policy_hash = 2};
inline constexpr ReportForm kContextForm = {.method = Method::kSubmit,
                                            .reports = 5,
                                            .policy_hash = 2,
                                            .attempts = WhileRemembered,
                                            .by_id = true};
inline constexpr ReportForm kOutcomeForm = {
    .method = Method::kReport, .reports = 2, .policy_hash = 3, .raw = true};

}  // namespace bandana::device
