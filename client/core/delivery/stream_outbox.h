// Delivery of counter streams: the newest released state with the tokens that the server lacks.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bandana/client.h"
#include "client/core/backoff.h"
#include "client/core/calls.h"
#include "client/core/delivery/counters.h"
#include "client/core/delivery/model_watch.h"
#include "client/core/delivery/pending_reports.h"
#include "client/core/journal.h"
#include "client/core/messages.h"
#include "client/core/timers.h"

namespace bandana::device {

// One report per stream is under way at a time. A report is sent as identical bytes until it is
// answered; steps taken meanwhile ride in the next one. A report holds what was durable when it was
// made, so which steps it joins depends on the network and on when decisions are due, never on a
// reward.
class StreamOutbox {
 public:
  struct Options {
    std::string model;
    std::string policy_hash;
    absl::Duration deadline;
    BackoffOptions backoff;
    int in_flight_max = 8;
    int steps_max = 32;        // in one report
    bool one_attempt = false;  // as Outbox::Options
  };
  // All outlive it.
  struct Services {
    Journal* journal = nullptr;
    Calls* calls = nullptr;
    Timers* timers = nullptr;
    Counters* counters = nullptr;
    PendingReports* pending = nullptr;  // hears the last word on a decision, or its stream's end
    ModelWatch* model = nullptr;  // asked when an answer would be explained by a changed model
  };
  StreamOutbox(Options options, Services services)
      : options_(std::move(options)), services_(services) {}

  // The stream has so many more steps that the server lacks.
  void Wake(StreamId stream, std::int64_t steps);
  // Nothing is under way.
  void NewStart();
  // Starts nothing more.
  void Close() { closed_ = true; }

 private:
  struct Job;
  using JobPtr = std::shared_ptr<Job>;
  struct Stream {
    bool busy = false;   // queued or under way
    bool again = false;  // has more steps than the job under way
    std::uint64_t acknowledged = 0;
    bool alone = false;     // a report of several steps was refused as a whole
    std::int64_t owed = 0;  // steps woken for and not settled
  };

  void Pump();
  void Load(StreamId stream);
  void OnLoaded(const JobPtr& job, const absl::Status& status);
  void Send(const JobPtr& job);
  void OnAnswer(const JobPtr& job, const Answer& answer, const std::string& response);
  void OnOutcome(const JobPtr& job, const Outcome& outcome);
  void Retry(const JobPtr& job, const Answer& answer);
  void Acknowledge(const JobPtr& job, std::uint64_t step, Delivery delivery);
  void End(const JobPtr& job, StreamEnd end);
  void Finish(StreamId stream, bool more);
  // Its steps, and all others that wait, stay in the store.
  void GiveUp(StreamId stream);
  std::int64_t TakeOwed();  // of streams that are not under way

  const Options options_;
  const Services services_;
  std::map<StreamId, Stream> streams_;
  std::list<StreamId> queue_;
  int in_flight_ = 0;
  bool closed_ = false;
  bool gave_up_ = false;
};

}  // namespace bandana::device
