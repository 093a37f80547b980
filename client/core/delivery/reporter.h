// The life of a report on the device. With a reward window: opened by a Select, overwritten by a
// reaction, drawn and handed to the outbox when it is due (window_timer.h), settled by the server's
// answer. Without: drawn and handed over at once.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "bandana/client.h"
#include "client/core/callback.h"
#include "client/core/delivery/activations.h"
#include "client/core/delivery/counters.h"
#include "client/core/delivery/pending_reports.h"
#include "client/core/delivery/stream_outbox.h"
#include "client/core/delivery/window_timer.h"
#include "client/core/event_mechanism.h"
#include "client/core/handle.h"
#include "client/core/journal.h"
#include "client/core/monotone_clock.h"
#include "common/base/clock.h"

namespace bandana::device {

class Reporter {
 public:
  using Queued = Callback<void(absl::Status)>;
  using Done = PendingReports::Done;
  // Changes made by a reaction beside the value that is held: none, but in mutants of the audit.
  using OnReaction = Callback<void(Transaction&, ReportRow&, const EventMechanism&)>;

  struct Options {
    PolicyId policy = 0;
    OwnerId owner = 0;
    int dimension = 0;
    RewardRange range;
    std::optional<absl::Duration> window;  // of private models: reports leave when it is over
    absl::Duration remember;               // how long a drawn decision is remembered
    absl::Duration token_lifetime;
    // The server closes the windows, and takes an activation so long after its decision.
    std::optional<absl::Duration> activated_within;
    ClientOptions::WhenFull when_full = ClientOptions::WhenFull::kBlock;
    int queue_reports_max = 10'000;
    bool at_start = false;  // reports leave at starts alone
  };
  // All outlive the reporter.
  struct Services {
    Journal* journal = nullptr;
    const MonotoneClock* clock = nullptr;
    Counters* counters = nullptr;
    const EventMechanism* mechanism = nullptr;
    const ModelEpoch* epoch = nullptr;
    PendingReports* pending = nullptr;
    Activations* activations = nullptr;
    StreamOutbox* stream_outbox = nullptr;
    WindowTimer* timer = nullptr;
    OnReaction on_reaction;
  };
  Reporter(Options options, Services services)
      : options_(options), services_(std::move(services)) {}

  bool has_window() const { return options_.window.has_value(); }

  // Takes over what earlier clients left with this owner: `adopted` rows, and steps of streams that
  // wait. They leave now, or at a start. `activations`: calls that are still to be made.
  void Start(int adopted, const std::map<StreamId, int>& waiting, Activations::Queue activations);

  // With a window: takes a place in the queue for each event of the next Select, or none. Errors:
  // RESOURCE_EXHAUSTED.
  absl::Status Reserve(int events);
  void CancelReservation(int events) { services_.pending->slots().Release(events); }
  // Debits an event for each of the decisions, which are of one user and shown at once, and stores
  // them open, with all that will be public of them and the default reward: all or none, on one
  // schedule. Uses their reservation up, also when it fails.
  void Open(std::span<const Handle> decisions, Queued opened);

  // Makes a decision one that is deferred.
  void Defer(Handle& decision) const;
  // As Client::Activate, for a checked handle of a deferred decision.
  void Activate(const Handle& decision, Queued activated);
  // As Activate, for a decision that a backend fetched, once per token of this store. Errors also:
  // as AdoptedTokens::Check.
  void Adopt(const Handle& decision, Queued adopted);

  // As Client::ReportAsync, for a checked handle.
  void Report(Handle handle, std::optional<double> reward, Queued queued, Done done);

  // Sends what is due; `flushed` runs once all of it has been answered.
  void Flush(Callback<void()> flushed);

 private:
  struct Call;
  struct Activation;
  // The core at the beginning of a transaction.
  struct View {
    absl::Time now;
    std::uint64_t epoch = 0;
    absl::Status refusal;
  };
  absl::Status QueueIsFull(int events) const;
  void Activate(const Handle& decision, bool adopts, Queued activated);
  // Opens it, unless it is or was. Errors: as Client::Activate.
  absl::Status OpenOnce(Transaction& transaction, Activation& it) const;
  // Errors: FAILED_PRECONDITION the model has gone into another epoch; or the server would not take
  // the activation, or the report, any more.
  absl::Status MayActivate(const View& view, const Deferral& deferral,
                           const WindowTimes& times) const;
  using CallPtr = std::shared_ptr<Call>;

  // The row of a decision, with all that is public of its report. A deferred decision has the epoch
  // that it was made in, any other one `epoch`.
  ReportRow RowOf(const Handle& decision, std::uint64_t epoch) const;
  // As above for a decision whose window is open.
  ReportRow OpenRowOf(const Handle& decision, const WindowTimes& times) const;
  // A moment that must not be seen leaves no trace in the clock.
  View Look(bool seen) const;
  void EnqueueDraw(const CallPtr& call);
  absl::StatusOr<Release> Take(Transaction& transaction, Call& call);
  absl::StatusOr<Release> DrawAtOnce(Transaction& transaction, Call& call);
  absl::StatusOr<Release> HoldInWindow(Transaction& transaction, Call& call) const;
  void OnDrawn(const CallPtr& call, const absl::Status& status);
  void OnReleased(const CallPtr& call);
  void Answer(const CallPtr& call, const absl::Status& status, std::optional<Delivery> delivery);

  const Options options_;
  const Services services_;
};

}  // namespace bandana::device
