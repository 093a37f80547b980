// Client's body: the core's client with threads, a connection and the wait for answers.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "bandana/client.h"
#include "client/core/client_core.h"
#include "client/core/connect.h"
#include "client/src/base/entering.h"
#include "client/src/base/scheduler.h"
#include "client/src/base/transport.h"
#include "client/src/seams.h"
#include "client/src/store/store.h"

namespace bandana::device {

class ClientImpl final : public Client {
 public:
  // Asks for the model over the `transport`, as device::Connect does it.
  static absl::StatusOr<std::unique_ptr<ClientImpl>> Connect(const ClientOptions& options,
                                                             std::shared_ptr<Store> store,
                                                             const Seams& seams,
                                                             std::unique_ptr<Transport> transport);
  // Makes the client of a model that has passed the policy. `is_start`: with Leave::kAtStart,
  // whether the client begins with one. Errors: those of ClientCore::Create.
  static absl::StatusOr<std::unique_ptr<ClientImpl>> Create(
      const ClientOptions& options, std::shared_ptr<Store> store, const Seams& seams,
      const ModelAnswer& model, std::unique_ptr<Transport> transport, bool is_start = true);
  ~ClientImpl() override;

  const ModelInfo& model() const override { return core_->model(); }
  absl::StatusOr<Selection> Select(std::string_view user, const Arms& arms, Ranks ranks) override;
  void SelectAsync(std::string_view user, const Arms& arms, Ranks ranks,
                   std::function<void(absl::StatusOr<Selection>)> done) override;
  absl::StatusOr<std::vector<Selection>> SelectSlots(std::string_view user, const Arms& arms,
                                                     int slots) override;
  void SelectSlotsAsync(std::string_view user, const Arms& arms, int slots,
                        std::function<void(absl::StatusOr<std::vector<Selection>>)> done) override;
  absl::StatusOr<Selection> SelectDeferred(std::string_view user, const Arms& arms,
                                           Ranks ranks) override;
  absl::Status Activate(const Selection& selection) override;
  absl::StatusOr<Selection> Adopt(std::string_view user, BackendAnswer answer) override;
  absl::StatusOr<Selection> SelectPoint(std::string_view user) override;
  void SelectPointAsync(std::string_view user,
                        std::function<void(absl::StatusOr<Selection>)> done) override;
  absl::StatusOr<Selection> SelectOnDevice(std::string_view user, const Arms& arms,
                                           Ranks ranks) override;
  absl::StatusOr<bool> RefreshPosterior(std::string_view user) override;
  absl::Status Report(const Selection& selection, std::optional<double> reward,
                      std::optional<int> shown, std::function<void(Delivery)> done) override;
  void ReportAsync(const Selection& selection, std::optional<double> reward,
                   std::optional<int> shown, std::function<void(absl::Status)> queued,
                   std::function<void(Delivery)> done) override;
  void Begin() override;
  bool Flush(absl::Duration timeout) override;
  ClientStats Stats() const override;
  absl::StatusOr<PrivacySpent> Spent(std::string_view user) const override;
  absl::StatusOr<LedgerReadings> Readings(std::string_view user, double delta) const override;
  absl::StatusOr<std::vector<StreamInfo>> Streams(std::string_view user) const override;

  // For the audit, whose store works on the caller's thread, so that nothing may block.
  void Inside(const std::function<void(ClientCore&)>& task) {
    Enter([&] { task(*core_); });
  }

 private:
  using Made = ClientCore::Made;

  ClientImpl(std::shared_ptr<Store> store, const Seams& seams,
             std::unique_ptr<Transport> transport);
  // Lets `make` make the core, and waits for it.
  static absl::StatusOr<std::unique_ptr<ClientImpl>> Make(
      std::shared_ptr<Store> store, const Seams& seams, std::unique_ptr<Transport> transport,
      const std::function<void(const ClientHost&, Made)>& make);
  void Enter(const std::function<void()>& task) const { store_->entrance().Enter(task); }
  // Runs `ask` inside the core, and waits for what it is told.
  template <typename Result>
  Result Ask(const std::function<void(std::function<void(Result)>)>& ask) const;

  const std::shared_ptr<Store> store_;
  const std::unique_ptr<Transport> transport_;
  const std::unique_ptr<Scheduler> scheduler_;
  EnteringCalls calls_;
  EnteringTimers timers_;
  std::unique_ptr<ClientCore> core_;  // null only while it is made
};

}  // namespace bandana::device
