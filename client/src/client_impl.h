// Client's body: joins selector, reporter, outbox, timer and transport.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bandana/client.h"
#include "client/core/event_mechanism.h"
#include "client/src/base/counters.h"
#include "client/src/base/monotone_clock.h"
#include "client/src/base/scheduler.h"
#include "client/src/base/transport.h"
#include "client/src/delivery/model_watch.h"
#include "client/src/delivery/outbox.h"
#include "client/src/delivery/pending_reports.h"
#include "client/src/delivery/reporter.h"
#include "client/src/delivery/starts.h"
#include "client/src/delivery/stream_outbox.h"
#include "client/src/delivery/window_timer.h"
#include "client/src/seams.h"
#include "client/src/selection/ranker.h"
#include "client/src/store/store.h"
#include "common/promise/public_spec.h"

namespace bandana::device {

ModelInfo ToModelInfo(const PublicSpec& spec);

class ClientImpl final : public Client {
 public:
  // `spec` has passed the policy; `epoch` came with it; `transport` is connected. `is_start`: with
  // Leave::kAtStart, whether the client begins with one. Errors: those of the store;
  // INVALID_ARGUMENT a mechanism that cannot be made.
  static absl::StatusOr<std::unique_ptr<Client>> Create(const ClientOptions& options,
                                                        std::shared_ptr<Store> store,
                                                        const Seams& seams, const PublicSpec& spec,
                                                        std::uint64_t epoch,
                                                        std::unique_ptr<Transport> transport,
                                                        bool is_start = true);
  ~ClientImpl() override;

  const ModelInfo& model() const override { return info_; }
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
  void Begin() override {
    if (starts_ != nullptr) starts_->Begin(/*has_model=*/false);
  }
  bool Flush(absl::Duration timeout) override {
    return starts_ == nullptr ? reporter_.Flush(timeout) : starts_->WaitUntilEnd(timeout);
  }
  ClientStats Stats() const override;
  absl::StatusOr<PrivacySpent> Spent(std::string_view user) const override;
  absl::StatusOr<LedgerReadings> Readings(std::string_view user, double delta) const override;
  absl::StatusOr<std::vector<StreamInfo>> Streams(std::string_view user) const override;

 private:
  // The store's record of this client at its start.
  struct Membership {
    PolicyId policy = 0;
    OwnerId owner = 0;
    std::set<PolicyId> deliverable;
    int adopted = 0;
    std::map<StreamId, int> waiting;  // adopted steps, by stream
    std::uint64_t rejected = 0;       // steps of streams under other policies
  };
  // The parts that exist before the mechanism, which asks for the model's epoch, and the mechanism.
  struct Base {
    Base(const ClientOptions& options, const std::shared_ptr<Store>& store, const PublicSpec& spec,
         std::uint64_t epoch, std::unique_ptr<Transport> connected);

    Counters counters;
    const std::shared_ptr<KeptAnswers> kept;  // null but with Leave::kAtStart
    const std::unique_ptr<Transport> transport;
    PendingReports pending;
    ModelWatch model;
    std::unique_ptr<EventMechanism> mechanism;  // never null once the client is made
  };
  ClientImpl(const ClientOptions& options, std::shared_ptr<Store> store, const Seams& seams,
             const PublicSpec& spec, const Membership& membership, std::unique_ptr<Base> base);

  static absl::StatusOr<Membership> Join(Store& store, const PublicSpec& spec,
                                         std::uint64_t events_max, bool went_back);
  static void AdoptStreams(Transaction& transaction, const std::set<OwnerId>& live,
                           Membership& membership, const std::vector<PolicyRow>& policies);

  using Selected = std::function<void(absl::StatusOr<Selection>)>;
  using SelectedSlots = std::function<void(absl::StatusOr<std::vector<Selection>>)>;
  // The kind of selection: a ranking, of which one rank is shown, or slots.
  struct Wanted {
    int shown = 0;
    int slots = 0;  // 0: a ranking
    bool deferred = false;
    // That are events with the answer.
    int events() const { return deferred ? 0 : std::max(1, slots); }
  };
  // Errors: FAILED_PRECONDITION the model has no slots here.
  absl::Status MayHaveSlots() const;
  // Errors: FAILED_PRECONDITION the model's windows do not close here.
  absl::Status MayDefer() const;
  absl::Status MaySelect(std::string_view user, int events);
  // Runs what was prepared, once there is a place for each of its events. After the start that is
  // under way.
  void Run(std::string_view user, const absl::StatusOr<Ranker::Run>& prepared, const Wanted& wanted,
           SelectedSlots done);
  void RunNow(std::string_view user, const absl::StatusOr<Ranker::Run>& prepared,
              const Wanted& wanted, SelectedSlots done);
  // The decisions of a ranking: itself, or each of its slots. The handles have all that the store
  // would keep, the selections none yet.
  struct Decided {
    std::vector<Handle> handles;
    std::vector<Selection> selections;
  };
  // With Leave::kAtStart: when no start of the store is under way.
  void AfterStart(std::function<void()> task);
  Decided Decide(const std::string& user, Ranking ranking, const Wanted& wanted);
  // Gives each decision its handle; with a reward window after the store has them all, open.
  void Complete(Decided decided, SelectedSlots done);
  void CancelSelect(int events);
  // The handle with the rank to report.
  absl::StatusOr<Handle> CheckHandle(const Selection& selection, std::optional<int> shown) const;

  const ClientOptions options_;
  const std::shared_ptr<Store> store_;
  const PublicSpec spec_;
  const ModelInfo info_;
  const std::uint64_t events_max_;
  const PolicyId policy_;
  const OwnerId owner_;
  // In the order in which each needs those before it.
  const std::unique_ptr<Base> base_;
  const std::unique_ptr<Scheduler> scheduler_;
  MonotoneClock& clock_;
  Outbox outbox_;
  StreamOutbox stream_outbox_;
  WindowTimer timer_;
  Reporter reporter_;
  const std::unique_ptr<Ranker> ranker_;
  const std::unique_ptr<Starts> starts_;  // null but with Leave::kAtStart
};

}  // namespace bandana::device
