// One model's client on the device: joins ranker, reporter, outboxes, timer and starts.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bandana/client.h"
#include "client/core/callback.h"
#include "client/core/calls.h"
#include "client/core/delivery/activations.h"
#include "client/core/delivery/counters.h"
#include "client/core/delivery/model_watch.h"
#include "client/core/delivery/outbox.h"
#include "client/core/delivery/pending_reports.h"
#include "client/core/delivery/reporter.h"
#include "client/core/delivery/starts.h"
#include "client/core/delivery/stream_outbox.h"
#include "client/core/delivery/window_timer.h"
#include "client/core/device_state.h"
#include "client/core/event_mechanism.h"
#include "client/core/model_answer.h"
#include "client/core/selection/backend_answer.h"
#include "client/core/selection/ranker.h"
#include "client/core/timers.h"
#include "common/base/clock.h"
#include "common/promise/public_spec.h"
#include "common/random/bit_source.h"

namespace bandana::device {

ModelInfo ToModelInfo(const PublicSpec& spec);

// Everything that a client of one model asks of its host. All outlive it.
struct ClientHost {
  DeviceState* state = nullptr;
  Calls* calls = nullptr;
  Timers* timers = nullptr;
  const Clock* wall = nullptr;
  // Randomizers and counters draw with it; everything else uses SystemBits.
  BitSource* bits = nullptr;
  // Runs a callback of the application, once the core is left.
  Callback<void(Callback<void()>)> tell;
  // Longest sleep between two looks at the wall clock: windows close by it, and it may be set.
  absl::Duration recheck = absl::Seconds(30);
  // The audit's: puts a mechanism around the model's own, one whose draw ignores its input.
  Callback<std::unique_ptr<EventMechanism>(std::unique_ptr<EventMechanism>)> wrap_mechanism;
  // Mutants of the audit: what a reaction changes beside the value that is held.
  Reporter::OnReaction on_reaction;
};

// The methods are those of Client, whose comments hold, without blocking: callbacks are told by
// ClientHost::tell. Not thread-safe; a host with threads lets one in at a time.
class ClientCore {
 public:
  using Selected = Callback<void(absl::StatusOr<Selection>)>;
  using SelectedSlots = Callback<void(absl::StatusOr<std::vector<Selection>>)>;
  using Made = Callback<void(absl::StatusOr<std::unique_ptr<ClientCore>>)>;

  // `model` has passed the policy. `is_start`: with Leave::kAtStart, whether the client begins with
  // one. `made` is called, not told. Errors: those of the store; INVALID_ARGUMENT a mechanism that
  // cannot be made; those of a first posterior.
  static void Create(const ClientOptions& options, const ClientHost& host, const ModelAnswer& model,
                     bool is_start, Made made);
  ~ClientCore();

  const ModelInfo& model() const { return info_; }
  void Select(std::string_view user, const Arms& arms, Ranks ranks, Selected done);
  void SelectSlots(std::string_view user, const Arms& arms, int slots, SelectedSlots done);
  void SelectDeferred(std::string_view user, const Arms& arms, Ranks ranks, Selected done);
  void Activate(const Selection& selection, Callback<void(absl::Status)> done);
  // A decision that a backend fetched becomes the device's, as by Activate, once: a token is never
  // adopted twice. For the load of a page: when it comes is seen, so it must never follow from a
  // reaction. Makes no call. Errors: those of Activate; of RankingOf; FAILED_PRECONDITION the token
  // was adopted before, or the device needs the arms' features.
  void Adopt(std::string_view user, BackendAnswer answer, Selected done);
  void SelectPoint(std::string_view user, Selected done);
  void SelectOnDevice(std::string_view user, const Arms& arms, Ranks ranks, Selected done);
  void RefreshPosterior(std::string_view user, Callback<void(absl::StatusOr<bool>)> done);
  void Report(const Selection& selection, std::optional<double> reward, std::optional<int> shown,
              Callback<void(absl::Status)> queued, Callback<void(Delivery)> done);
  void Begin();
  // `flushed` is told once what is due has been answered.
  void Flush(Callback<void()> flushed);
  ClientStats Stats() const;
  void Spent(std::string_view user, Callback<void(absl::StatusOr<PrivacySpent>)> done);
  void Readings(std::string_view user, double delta,
                Callback<void(absl::StatusOr<LedgerReadings>)> done);
  void Streams(std::string_view user, Callback<void(absl::StatusOr<std::vector<StreamInfo>>)> done);

  // Starts nothing more. The host then answers what is under way CANCELLED, stops its timers, and
  // lets the state write until nothing waits; then the client may go.
  void Close();

 private:
  // The store's record of this client at its start.
  struct Membership {
    PolicyId policy = 0;
    OwnerId owner = 0;
    std::set<PolicyId> deliverable;
    int adopted = 0;
    Activations::Queue activations;              // of decisions that are shown
    std::map<StreamId, int> waiting;             // adopted steps, by stream
    std::uint64_t rejected = 0;                  // steps of streams under other policies
    std::map<std::string, std::string> answers;  // of the server, that are kept
  };
  // The parts that exist before the mechanism, which asks for the model's epoch, and the mechanism.
  struct Base {
    Base(const ClientOptions& options, const ClientHost& host, const ModelAnswer& agreed,
         std::map<std::string, std::string> answers);

    Counters counters;
    const std::unique_ptr<KeptAnswers> kept;  // null but with Leave::kAtStart
    PendingReports pending;
    ModelWatch model;
    std::unique_ptr<EventMechanism> mechanism;  // never null once the client is made
  };
  ClientCore(const ClientOptions& options, const ClientHost& host, const PublicSpec& spec,
             const Membership& membership, std::unique_ptr<Base> base);

  static void Join(Transaction& transaction, const PublicSpec& spec, std::uint64_t events_max,
                   bool went_back, const std::set<OwnerId>& live, Membership& membership);
  static void AdoptStreams(Transaction& transaction, const std::set<OwnerId>& live,
                           Membership& membership, const std::vector<PolicyRow>& policies);
  static absl::StatusOr<std::unique_ptr<ClientCore>> Assemble(const ClientOptions& options,
                                                              const ClientHost& host,
                                                              const ModelAnswer& model,
                                                              Membership& membership);

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
  // Errors: FAILED_PRECONDITION the model has no windows; the server closes them.
  absl::Status MayDefer() const;
  absl::Status MayAdopt() const;
  absl::Status MaySelect(std::string_view user, int events);
  // Reads the rows, and tells what was found.
  template <typename Found>
  void Look(Callback<absl::StatusOr<Found>(Transaction&)> look,
            Callback<void(absl::StatusOr<Found>)> done);
  // Tells the application.
  SelectedSlots TheOne(Selected done) const;
  SelectedSlots All(SelectedSlots done) const;
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
  void AfterStart(Callback<void()> task);
  Decided Decide(const std::string& user, Ranking ranking, const Wanted& wanted);
  // Gives each decision its handle; with a reward window after the store has them all, open.
  void Complete(Decided decided, SelectedSlots done);
  void CancelSelect(int events);
  // The handle with the rank to report.
  absl::StatusOr<Handle> CheckHandle(const Selection& selection, std::optional<int> shown) const;

  const ClientOptions options_;
  const ClientHost host_;
  const PublicSpec spec_;
  const ModelInfo info_;
  const std::uint64_t events_max_;
  const PolicyId policy_;
  const OwnerId owner_;
  // In the order in which each needs those before it.
  const std::unique_ptr<Base> base_;
  MonotoneClock& clock_;
  Outbox outbox_;
  StreamOutbox stream_outbox_;
  Activations activations_;
  WindowTimer timer_;
  Reporter reporter_;
  const std::unique_ptr<Ranker> ranker_;
  const std::unique_ptr<Starts> starts_;  // null but with Leave::kAtStart
};

}  // namespace bandana::device
