// Tells the server which deferred decisions are shown, of models whose windows it closes.
#pragma once

#include <cstdint>
#include <list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "client/core/backoff.h"
#include "client/core/calls.h"
#include "client/core/delivery/model_watch.h"
#include "client/core/delivery/outbox.h"
#include "client/core/delivery/pending_reports.h"
#include "client/core/journal.h"
#include "client/core/tables.h"
#include "client/core/timers.h"

namespace bandana::device {

// A call is durable before it goes out, and has the same bytes until it is answered. The report of
// its decision waits for that answer: the server takes none before. Threads: not thread-safe.
class Activations {
 public:
  struct Options {
    std::string model;
    std::string policy_hash;
    OwnerId owner = 0;
    absl::Duration deadline;
    BackoffOptions backoff;
    int in_flight_max = 8;
    int waiting_max = 10'000;  // calls without an answer
  };
  // All outlive it.
  struct Services {
    Journal* journal = nullptr;
    Calls* calls = nullptr;
    Timers* timers = nullptr;
    PendingReports* pending = nullptr;
    ModelWatch* model = nullptr;
    Outbox* outbox = nullptr;  // for the reports
  };
  // v1.ActivateRequest of a decision, and the report that waits for its answer, or none.
  struct Call {
    DecisionNumber number = 0;
    std::string request;
    int attempt = 0;
    std::vector<OutboundReport> report;
  };
  using Queue = std::list<Call>;

  Activations(Options options, Services services)
      : options_(std::move(options)), services_(services) {}

  // Gives `owner` what is kept of the model that none of `live` owns.
  static Queue Adopt(Tables& tables, std::string_view model, OwnerId owner,
                     const std::set<OwnerId>& live);

  // As many calls wait for their answers as may.
  bool IsFull() const;
  // Whether the call for a decision does.
  bool IsWaiting(DecisionNumber number) { return Find(number) != nullptr; }
  // The call for a decision, kept with what else makes it an event.
  Call Keep(Tables& tables, DecisionNumber number, std::string_view token) const;
  // Requires that they are durable.
  void Send(Queue calls);
  // Reports that may leave: to the outbox, now or after the answer to their decision's call.
  void Deliver(std::vector<OutboundReport> reports);
  // Starts nothing more.
  void Close() { closed_ = true; }

 private:
  using Place = Queue::iterator;

  // The call that waits for its answer; null: none does.
  Call* Find(DecisionNumber number);
  void Pump();
  void Make(Place call);
  void OnAnswer(Place call, const Answer& answer, const std::string& response);
  void Retry(Place call, const Answer& answer);
  // Whatever was answered, the call is not made again.
  void End(Place call);

  const Options options_;
  const Services services_;
  Queue waiting_;
  Queue under_way_;  // at most in_flight_max
  bool closed_ = false;
};

}  // namespace bandana::device
