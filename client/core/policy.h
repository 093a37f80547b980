// The application's minimum policy against a model's public configuration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bandana/client.h"
#include "bandana/options.h"
#include "common/promise/public_spec.h"

namespace bandana::device {

// OK when the options' own values are in range. Errors: INVALID_ARGUMENT naming the field.
absl::Status CheckOptions(const ClientOptions& options);

// Errors: FAILED_PRECONDITION naming the first point in which the model is weaker.
absl::Status CheckPolicy(const PublicSpec& spec, const PrivacyPolicy& policy);

// `durable`: the device's store outlives the process. Errors: FAILED_PRECONDITION the model's
// ledger needs that.
absl::Status CheckStore(const PublicSpec& spec, bool durable);

// Errors: FAILED_PRECONDITION the model's reports cannot leave as the application wants it.
absl::Status CheckLeave(const PublicSpec& spec, ClientOptions::Leave leave);

// The window that is waited for on this device: models without privacy report when the application
// does, window or not.
std::optional<absl::Duration> WindowHere(const PublicSpec& spec);
// How long after a decision its server, which closes the windows, takes an activation; nothing
// where no server closes them.
std::optional<absl::Duration> ActivatedWithin(const PublicSpec& spec);

// The arms as a model's are ranked. Where contexts are private no feature decides whether there is
// an event: rows that are not finite are zeros. `finite`: holds them, and must outlive the result.
Arms ArmsToRank(const PublicSpec& spec, const Arms& arms, std::vector<double>& finite);

// The name of the configuration, 32 bytes, that goes with every request about decisions.
std::string PolicyHashOf(const PublicSpec& spec);

// The smaller of the model's and the application's bound; 0 = none.
std::uint64_t EventsMax(const PublicSpec& spec, const PrivacyPolicy& policy);

}  // namespace bandana::device
