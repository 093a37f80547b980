// Delivery: reports that are due, in batches, the same bytes until they are answered.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bandana/client.h"
#include "client/core/backoff.h"
#include "client/core/calls.h"
#include "client/core/delivery/counters.h"
#include "client/core/delivery/model_watch.h"
#include "client/core/delivery/pending_reports.h"
#include "client/core/delivery/report_form.h"
#include "client/core/journal.h"
#include "client/core/messages.h"
#include "client/core/tables.h"
#include "client/core/timers.h"
#include "common/base/clock.h"

namespace bandana::device {

// A durable report that may leave.
struct OutboundReport {
  DecisionNumber number = 0;
  std::string user;
  std::string features;  // not empty: the token has still to be fetched for this packed arm
  std::string report;
  bool alone = false;  // has been in a delivery that was refused as a whole
  absl::Time due_at;   // when it may leave
};
// Requires a row whose report is drawn.
OutboundReport ToOutbound(ReportRow row);

// Up to deliveries_in_flight_max batches are under way; a batch keeps its place until every report
// of it is answered, so an outage holds up the queue instead of multiplying calls.
class Outbox {
 public:
  struct Options {
    std::string model;
    ReportForm form;
    std::string policy_hash;  // of every report: one policy per client
    Attempts attempts;
    BackoffOptions backoff;
    int in_flight_max = 8;
    int batch_max = 32;
    // Tries each delivery once between two calls of NewStart. Once one was not answered, the others
    // stay in the store as well.
    bool one_attempt = false;
  };
  // All outlive it.
  struct Services {
    Journal* journal = nullptr;
    Calls* calls = nullptr;
    Timers* timers = nullptr;
    Counters* counters = nullptr;
    const Clock* clock = nullptr;
    PendingReports* pending = nullptr;  // hears the server's last word
    ModelWatch* model = nullptr;  // asked when an answer would be explained by a changed policy
  };

  Outbox(Options options, Services services);
  ~Outbox();

  void Add(std::vector<OutboundReport> reports);
  // Nothing is under way.
  void NewStart() { gave_up_ = false; }
  // Starts nothing more.
  void Close() { closed_ = true; }

 private:
  struct Batch;
  using BatchPtr = std::shared_ptr<Batch>;

  void Pump();
  BatchPtr NextBatch();
  void Fill(Batch& batch) const;
  // Settles what must not be sent any more; false when nothing is left of the batch.
  bool MayLeave(const BatchPtr& batch);
  // Settles what has expired; false when nothing is left of the batch.
  bool DropExpired(const BatchPtr& batch);
  void Send(const BatchPtr& batch);
  void OnTokens(const BatchPtr& batch, const std::string& response);
  void OnOutcomes(const BatchPtr& batch, const std::string& response);
  void OnFailure(const BatchPtr& batch, const Answer& answer);
  void Decide(const BatchPtr& batch, const Answer& answer);
  void Retry(const BatchPtr& batch, const Answer& answer);
  // They, and all that wait, stay in the store.
  void GiveUp(std::size_t reports);
  void PersistTokens(std::vector<OutboundReport> reports);
  void Settle(const OutboundReport& report, Delivery delivery);
  void FinishBatch();
  absl::Duration Pause(int attempt, const std::optional<absl::Duration>& pushback) const;

  const Options options_;
  const Services services_;
  std::list<OutboundReport> ready_;      // have their token, or need none
  std::list<OutboundReport> tokenless_;  // made on the device
  int in_flight_ = 0;
  bool closed_ = false;
  bool gave_up_ = false;
};

}  // namespace bandana::device
