// The application's minimum policy against a model's public configuration.
#pragma once

#include "absl/status/status.h"
#include "bandana/options.h"
#include "common/design/model_spec.h"

namespace bandana::device {

// OK when the options' own values are in range. Errors: INVALID_ARGUMENT naming the field.
absl::Status CheckOptions(const ClientOptions& options);

// Errors: FAILED_PRECONDITION naming the first point in which the model is weaker.
absl::Status CheckPolicy(const PublicSpec& spec, const PrivacyPolicy& policy);

// The smaller of the model's and the application's bound; 0 = none.
std::uint64_t EventsMax(const PublicSpec& spec, const PrivacyPolicy& policy);

}  // namespace bandana::device
