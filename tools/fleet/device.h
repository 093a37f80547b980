// The device of the simulated users: as much of an SDK as the fleet needs. The values are those of
// the C++ SDK, whichever device it is.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bandana/client.h"

namespace bandana {

struct FleetDeviceOptions {
  std::string target;
  std::string model;
  std::string store;  // path of a file that the device makes, or goes on from
  TransportSecurity security;
  absl::Duration connect_timeout = absl::Seconds(30);
};

// One device with the ledgers of all simulated users. It accepts the model as it is. Threads: all
// methods are safe; callbacks run on any thread, or on the caller's before the call returns, and
// must not block.
class FleetDevice {
 public:
  virtual ~FleetDevice() = default;
  virtual const ModelInfo& model() const = 0;

  // As Client::SelectAsync with one rank, of inline arms or arms of the catalogue, and
  // Client::SelectPointAsync.
  virtual void Select(const std::string& user, const Arms& arms,
                      std::function<void(absl::StatusOr<Selection>)> done) = 0;
  virtual void SelectPoint(const std::string& user,
                           std::function<void(absl::StatusOr<Selection>)> done) = 0;
  // As Client::ReportAsync, of the arm that was selected.
  virtual void Report(const Selection& selection, double reward,
                      std::function<void(absl::Status)> queued,
                      std::function<void(Delivery)> done) = 0;

  virtual ClientStats Stats() = 0;
  virtual absl::StatusOr<PrivacySpent> Spent(const std::string& user) = 0;
};

}  // namespace bandana
