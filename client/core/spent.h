// The ledger's account for the application.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bandana/client.h"
#include "client/core/writer.h"

namespace bandana::device {

// All of one user under every configuration that the model ever had on this device.
PrivacySpent SpentBy(Transaction& transaction, const std::string& model, const std::string& user);
// Errors: INVALID_ARGUMENT delta.
absl::StatusOr<LedgerReadings> ReadingsOf(Transaction& transaction, const std::string& model,
                                          const std::string& user, double delta);
std::vector<StreamInfo> StreamsOf(Transaction& transaction, const std::string& model,
                                  const std::string& user);

}  // namespace bandana::device
