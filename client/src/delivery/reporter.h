// The life of a report on the device. With a reward window: opened by a Select, overwritten by a
// reaction, drawn and handed to the outbox when it is due (window_timer.h), settled by the server's
// answer. Without: drawn and handed over at once.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "bandana/client.h"
#include "client/src/base/counters.h"
#include "client/src/delivery/outbox.h"
#include "client/src/delivery/queue_slots.h"
#include "client/src/delivery/seams.h"
#include "client/src/delivery/stream_outbox.h"
#include "client/src/delivery/window_timer.h"
#include "client/src/privacy/event_mechanism.h"
#include "client/src/store/handle.h"
#include "client/src/store/store.h"

namespace bandana::device {

// Threads: safe. Callbacks run on the store's or the transport's thread.
class Reporter {
 public:
  using Queued = std::function<void(absl::Status)>;
  using Done = std::function<void(Delivery)>;

  struct Options {
    PolicyId policy = 0;
    OwnerId owner = 0;
    int dimension = 0;
    double reward_min = 0;
    double reward_max = 1;
    std::optional<absl::Duration> window;  // of private models: reports leave when it is over
    absl::Duration remember;               // how long a drawn decision is remembered
    ClientOptions::WhenFull when_full = ClientOptions::WhenFull::kBlock;
    int queue_reports_max = 10'000;
  };
  struct Services {
    std::shared_ptr<Store> store;
    Outbox* outbox = nullptr;
    WindowTimer* timer = nullptr;
    Counters* counters = nullptr;
    const EventMechanism* mechanism = nullptr;
    const ModelEpoch* epoch = nullptr;
    StreamOutbox* stream_outbox = nullptr;
  };
  Reporter(Options options, const Seams& seams);
  // Before any other method: outbox and timer call back into the reporter, so they come later.
  void Attach(Services services) { services_ = std::move(services); }

  bool has_window() const { return options_.window.has_value(); }

  // Takes over what earlier clients left with this owner: `adopted` rows, and steps of streams that
  // wait.
  void Start(int adopted, const std::map<StreamId, int>& waiting);

  // With a window: takes a place in the queue for the next Select. Errors: RESOURCE_EXHAUSTED.
  absl::Status Reserve();
  void CancelReservation() { slots_.Release(); }
  // Debits one event and stores the open decision, with all that will be public of it and the
  // default reward. Uses the reservation up, also when it fails.
  void Open(const Handle& decision, Queued opened);

  // As Client::ReportAsync, for a checked handle.
  void Report(Handle handle, std::optional<double> reward, Queued queued, Done done);

  // From now on nothing is drawn: the model is not the one that was agreed on. Calls answer
  // `status`; what is drawn is still delivered, open windows end without a report.
  void Refuse(const absl::Status& status);
  absl::Status refusal() const;

  bool Flush(absl::Duration timeout);
  std::int64_t pending() const { return slots_.used(); }

  // Turns away who waits and who comes.
  void Close();

  // What the outbox and the timer call.
  void Begin();
  void End();
  void Leave(std::vector<OutboundReport> reports);
  void Settled(DecisionNumber number, Delivery delivery);
  void Defaulted(DecisionNumber number);
  void Rejected(DecisionNumber number);
  // `steps` steps of the stream are durable and may leave.
  void Stepped(StreamId stream, int steps);

 private:
  struct Call;
  using CallPtr = std::shared_ptr<Call>;

  void EnqueueDraw(const CallPtr& call);
  absl::StatusOr<Release> Take(Store::Transaction& transaction, Call& call);
  absl::StatusOr<Release> DrawAtOnce(Store::Transaction& transaction, Call& call);
  Release HoldInWindow(Store::Transaction& transaction, Call& call) const;
  void OnDrawn(const CallPtr& call, const absl::Status& status);
  void OnReleased(const CallPtr& call);
  void Answer(const CallPtr& call, const absl::Status& status, std::optional<Delivery> delivery);
  void Inform(DecisionNumber number, Delivery delivery);

  const Options options_;
  const Seams seams_;
  const Clock* const clock_;
  Services services_;
  QueueSlots slots_;

  mutable std::mutex mutex_;
  std::condition_variable idle_;
  std::int64_t busy_ = 0;  // calls, looks, and reports between their due time and their settlement
  absl::Status refusal_;
  std::unordered_map<DecisionNumber, Done> waiters_;
};

}  // namespace bandana::device
