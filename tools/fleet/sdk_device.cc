#include "tools/fleet/sdk_device.h"

#include <utility>

#include "bandana/store.h"
#include "common/base/status.h"

namespace bandana {
namespace {

class SdkDevice : public FleetDevice {
 public:
  explicit SdkDevice(std::unique_ptr<Client> client) : client_(std::move(client)) {}

  const ModelInfo& model() const override { return client_->model(); }
  void Select(const std::string& user, const Arms& arms,
              std::function<void(absl::StatusOr<Selection>)> done) override {
    client_->SelectAsync(user, arms, 1, std::move(done));
  }
  void SelectPoint(const std::string& user,
                   std::function<void(absl::StatusOr<Selection>)> done) override {
    client_->SelectPointAsync(user, std::move(done));
  }
  void Report(const Selection& selection, double reward, std::function<void(absl::Status)> queued,
              std::function<void(Delivery)> done) override {
    client_->ReportAsync(selection, reward, 0, std::move(queued), std::move(done));
  }
  ClientStats Stats() override { return client_->Stats(); }
  absl::StatusOr<PrivacySpent> Spent(const std::string& user) override {
    return client_->Spent(user);
  }

 private:
  const std::unique_ptr<Client> client_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FleetDevice>> ConnectSdkDevice(const FleetDeviceOptions& options) {
  BANDANA_ASSIGN_OR_RETURN(std::shared_ptr<DeviceStore> store, DeviceStore::Open(options.store));
  ClientOptions client_options;
  client_options.target = options.target;
  client_options.model = options.model;
  client_options.policy = PrivacyPolicy::AcceptAnything();  // it measures the model as it is
  client_options.security = options.security;
  client_options.posterior_interval = absl::Milliseconds(100);
  client_options.connect_timeout = options.connect_timeout;
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<Client> client,
                           Client::Connect(client_options, std::move(store)));
  return std::make_unique<SdkDevice>(std::move(client));
}

}  // namespace bandana
