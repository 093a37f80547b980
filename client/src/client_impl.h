// Client's body: joins selector, reporter, outbox, timer and transport.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "bandana/client.h"
#include "client/src/context_privatizer.h"
#include "client/src/counters.h"
#include "client/src/outbox.h"
#include "client/src/posterior_clock.h"
#include "client/src/posteriors.h"
#include "client/src/privatizer.h"
#include "client/src/reporter.h"
#include "client/src/scheduler.h"
#include "client/src/seams.h"
#include "client/src/selector.h"
#include "client/src/store.h"
#include "client/src/stream_outbox.h"
#include "client/src/stream_privatizer.h"
#include "client/src/transport.h"
#include "client/src/window_timer.h"
#include "common/wire/model_spec.h"

namespace bandana::device {

ModelInfo ToModelInfo(const PublicSpec& spec);

class ClientImpl final : public Client {
 public:
  // `spec` has passed the policy; `epoch` came with it; `transport` is connected. Errors: those of
  // the store; INVALID_ARGUMENT a mechanism that cannot be made.
  static absl::StatusOr<std::unique_ptr<Client>> Create(const ClientOptions& options,
                                                        std::shared_ptr<Store> store,
                                                        const Seams& seams, const PublicSpec& spec,
                                                        std::uint64_t epoch,
                                                        std::unique_ptr<Transport> transport);
  ~ClientImpl() override;

  const ModelInfo& model() const override { return info_; }
  absl::StatusOr<Selection> Select(std::string_view user, const Arms& arms, int top_k) override;
  void SelectAsync(std::string_view user, const Arms& arms, int top_k,
                   std::function<void(absl::StatusOr<Selection>)> done) override;
  absl::StatusOr<Selection> SelectPoint(std::string_view user) override;
  void SelectPointAsync(std::string_view user,
                        std::function<void(absl::StatusOr<Selection>)> done) override;
  absl::StatusOr<Selection> SelectOnDevice(std::string_view user, const Arms& arms,
                                           int top_k) override;
  absl::StatusOr<bool> RefreshPosterior(std::string_view user) override;
  absl::Status Report(const Selection& selection, std::optional<double> reward, int shown,
                      std::function<void(Delivery)> done) override;
  void ReportAsync(const Selection& selection, std::optional<double> reward, int shown,
                   std::function<void(absl::Status)> queued,
                   std::function<void(Delivery)> done) override;
  bool Flush(absl::Duration timeout) override { return reporter_->Flush(timeout); }
  ClientStats Stats() const override;
  absl::StatusOr<PrivacySpent> Spent(std::string_view user) const override;
  absl::StatusOr<LedgerReadings> Readings(std::string_view user, double delta) const override;
  absl::StatusOr<std::vector<StreamInfo>> Streams(std::string_view user) const override;

 private:
  // What the store says about this client at its start.
  struct Membership {
    PolicyId policy = 0;
    OwnerId owner = 0;
    std::set<PolicyId> deliverable;
    int adopted = 0;
    std::map<StreamId, int> waiting;  // adopted steps, by stream
    std::uint64_t rejected = 0;       // steps of streams under other policies
  };
  // What turns rewards into reports: one of them for a local model, none otherwise.
  struct Mechanism {
    std::optional<Privatizer> privatizer;
    std::optional<StreamPrivatizer> streams;
    std::optional<ContextPrivatizer> contexts;
  };

  ClientImpl(const ClientOptions& options, std::shared_ptr<Store> store, const Seams& seams,
             const PublicSpec& spec, std::unique_ptr<ModelEpoch> epoch,
             std::unique_ptr<Transport> transport, Mechanism mechanism,
             const Membership& membership);
  static absl::StatusOr<Mechanism> MakeMechanism(const PublicSpec& spec,
                                                 const Membership& membership,
                                                 std::uint64_t events_max, BitSource* bits,
                                                 const ModelEpoch* epoch);
  static absl::StatusOr<Membership> Join(Store& store, const PublicSpec& spec,
                                         std::uint64_t events_max);
  static void AdoptStreams(Store::Transaction& transaction, const std::set<OwnerId>& live,
                           Membership& membership, const std::vector<PolicyRow>& policies);

  using Selected = std::function<void(absl::StatusOr<Selection>)>;
  absl::Status MaySelect(std::string_view user);
  absl::StatusOr<std::vector<double>> FeaturesForCounter(const Arms& arms) const;
  absl::StatusOr<Ranking> RankHere(std::string_view user, const Arms& arms, int top_k);
  void SelectHere(std::string_view user, const Arms& arms, int top_k, Selected done);
  // Asks the server. `features`: with a counter, of the inline arms; else none.
  void SelectThere(std::string_view user, v1::SelectRequest request, std::vector<double> features,
                   Selected done);
  // Gives the ranking its handle; with a reward window after the store has the open decision.
  void Complete(const std::string& user, Ranking ranking, Selected done);
  void CancelSelect();
  absl::StatusOr<Handle> CheckHandle(const Selection& selection, int shown) const;
  void CheckModelAgain();
  void OnModelAgain(const Answer& answer, const v1::GetModelResponse& response);

  const ClientOptions options_;
  const std::shared_ptr<Store> store_;
  const PublicSpec spec_;
  const ModelInfo info_;
  const std::uint64_t events_max_;
  const PolicyId policy_;
  const OwnerId owner_;
  const std::unique_ptr<ModelEpoch> epoch_;  // of the model, as last heard
  Counters counters_;
  Scheduler scheduler_;
  const std::unique_ptr<Transport> transport_;
  const std::optional<Privatizer> privatizer_;       // of local models with the randomizer
  const std::optional<StreamPrivatizer> streams_;    // with a counter
  const std::optional<ContextPrivatizer> contexts_;  // whose contexts are private
  std::unique_ptr<Reporter> reporter_;
  std::unique_ptr<Outbox> outbox_;
  std::unique_ptr<StreamOutbox> stream_outbox_;
  std::unique_ptr<WindowTimer> timer_;
  std::unique_ptr<Selector> selector_;
  PosteriorCache posteriors_;
  std::unique_ptr<PosteriorClock> posterior_clock_;  // whose contexts are private
  std::atomic<bool> checking_model_{false};
};

}  // namespace bandana::device
