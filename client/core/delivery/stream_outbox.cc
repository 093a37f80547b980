#include "client/core/delivery/stream_outbox.h"

#include <algorithm>
#include <utility>

#include "client/core/report_bytes.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"

namespace bandana::device {
namespace {

StreamEnd EndOf(RejectReason reason) {
  switch (reason) {
    case RejectReason::kStreamForked:
      return StreamEnd::kForked;
    case RejectReason::kStreamGap:
      return StreamEnd::kGap;
    case RejectReason::kStreamExhausted:
    case RejectReason::kUserLimit:
      return StreamEnd::kExhausted;
    case RejectReason::kTokenInvalid:
    case RejectReason::kTokenForeign:
    case RejectReason::kShownOutOfRange:
      return StreamEnd::kToken;
    default:
      return StreamEnd::kRefused;
  }
}

}  // namespace

// One report. The request is made once: every attempt sends the same bytes.
struct StreamOutbox::Job {
  StreamId stream = 0;
  std::vector<StepRow> steps;
  std::uint64_t newest = 0;  // step of the stream when the report was made
  int attempt = 0;
  std::string public_id;  // of the stream
  std::string request;
};

void StreamOutbox::Wake(StreamId stream, std::int64_t steps) {
  Stream& state = streams_[stream];
  state.owed += steps;
  if (std::exchange(state.busy, true)) {
    state.again = true;
    return;
  }
  queue_.push_back(stream);
  Pump();
}

void StreamOutbox::NewStart() {
  streams_.clear();
  gave_up_ = false;
}

std::int64_t StreamOutbox::TakeOwed() {
  std::int64_t owed = 0;
  queue_.clear();
  for (auto& [stream, state] : streams_) owed += std::exchange(state.owed, 0);
  return owed;
}

void StreamOutbox::GiveUp(StreamId stream) {
  gave_up_ = true;
  Finish(stream, /*more=*/false);
}

void StreamOutbox::Pump() {
  while (!closed_ && !gave_up_ && in_flight_ < options_.in_flight_max && !queue_.empty()) {
    const StreamId stream = queue_.front();
    queue_.pop_front();
    ++in_flight_;
    Load(stream);
  }
}

// Through the writer, so that nothing is read, and sent, that is not durable yet.
void StreamOutbox::Load(StreamId stream) {
  auto job = std::make_shared<Job>();
  job->stream = stream;
  Stream& state = streams_[stream];
  state.again = false;
  services_.journal->Enqueue(
      [job, acknowledged = state.acknowledged,
       steps_max = state.alone ? 1 : options_.steps_max](Transaction& transaction) -> absl::Status {
        StreamRows& streams = transaction.tables.streams();
        const auto row = streams.Find(job->stream);
        if (!row) return absl::OkStatus();
        BANDANA_ASSIGN_OR_RETURN(
            job->steps,
            streams.Steps(job->stream, std::max(acknowledged, row->acknowledged), steps_max));
        job->newest = row->step;
        job->public_id = row->stream;
        return absl::OkStatus();
      },
      [this, job](const absl::Status& status) { OnLoaded(job, status); });
}

void StreamOutbox::OnLoaded(const JobPtr& job, const absl::Status& status) {
  if (!status.ok()) {
    if (options_.one_attempt) return GiveUp(job->stream);
    services_.timers->RunAfter(options_.backoff.max, [this, stream = job->stream] {
      if (!closed_) Load(stream);
    });
    return;
  }
  if (job->steps.empty()) return Finish(job->stream, /*more=*/false);
  std::vector<std::string_view> steps;
  for (const StepRow& step : job->steps) steps.push_back(step.content);
  job->request =
      CounterRequestBytes(options_.model, options_.policy_hash,
                          JoinCounterSteps(job->public_id, job->steps.back().step, steps));
  Send(job);
}

void StreamOutbox::Send(const JobPtr& job) {
  ++services_.counters->delivery_attempts;
  services_.calls->Make(Method::kSubmit, job->request, {.deadline = options_.deadline},
                        [this, job](const Answer& answer, const std::string& response) {
                          OnAnswer(job, answer, response);
                        });
}

void StreamOutbox::OnAnswer(const JobPtr& job, const Answer& answer, const std::string& response) {
  if (answer.status.ok()) {
    const auto outcomes = ReadCounterOutcomes(response);
    if (outcomes && outcomes->size() == 1) return OnOutcome(job, outcomes->front());
    return Retry(job, {Internal("one result is expected"), std::nullopt});
  }
  if (VerdictOf(answer.status.code(), 1) == Verdict::kRetry) return Retry(job, answer);
  services_.model->AskAgain();
  if (job->steps.size() == 1) return End(job, StreamEnd::kRefused);
  // The server may take fewer steps in a call.
  streams_[job->stream].alone = true;
  Finish(job->stream, /*more=*/true);
}

void StreamOutbox::OnOutcome(const JobPtr& job, const Outcome& outcome) {
  const std::uint64_t sent = job->steps.back().step;
  if (outcome.code != OutcomeCode::kApplied && outcome.code != OutcomeCode::kDuplicate) {
    // Most of these also mean that the model went into another epoch.
    services_.model->AskAgain();
    return End(job, EndOf(outcome.reason));
  }
  // The server has steps that this device never took: another copy of its store did.
  if (outcome.acknowledged_step > job->newest) return End(job, StreamEnd::kForked);
  if (outcome.acknowledged_step < sent) {
    return Retry(job, {Internal("the sent step is expected to be acknowledged"), std::nullopt});
  }
  Acknowledge(job, sent,
              outcome.code == OutcomeCode::kApplied ? Delivery::kApplied : Delivery::kDuplicate);
}

void StreamOutbox::Retry(const JobPtr& job, const Answer& answer) {
  if (options_.one_attempt) return GiveUp(job->stream);
  // Without entropy the pause is merely not jittered.
  const absl::Duration pause = BackoffWithPushback(
      options_.backoff, job->attempt++, SystemBits().NextWord().value_or(0), answer.pushback);
  services_.timers->RunAfter(pause, [this, job] {
    if (!closed_) Send(job);
  });
}

void StreamOutbox::Acknowledge(const JobPtr& job, std::uint64_t step, Delivery delivery) {
  streams_[job->stream].acknowledged = step;
  streams_[job->stream].owed -= static_cast<std::int64_t>(job->steps.size());
  // If a crash loses this, the steps are sent once more and answered DUPLICATE.
  services_.journal->EnqueueLazy([stream = job->stream, step](Transaction& transaction) {
    transaction.tables.streams().Acknowledge(stream, step);
    return absl::OkStatus();
  });
  for (const StepRow& settled : job->steps) {
    services_.counters->Count(delivery);
    services_.pending->Settled(settled.number, delivery);
  }
  Finish(job->stream, job->newest > step);
}

void StreamOutbox::End(const JobPtr& job, StreamEnd end) {
  auto numbers = std::make_shared<std::vector<DecisionNumber>>();
  services_.journal->Enqueue(
      [stream = job->stream, end, numbers](Transaction& transaction) {
        StreamRows& streams = transaction.tables.streams();
        const auto row = streams.Find(stream);
        if (!row) return absl::OkStatus();
        if (row->end == StreamEnd::kNone) streams.End(*row, end);
        *numbers = streams.DropSteps(stream);
        return absl::OkStatus();
      },
      [this, job, end, numbers](const absl::Status& status) {
        if (!status.ok()) {
          if (options_.one_attempt) return GiveUp(job->stream);
          services_.timers->RunAfter(options_.backoff.max, [this, job, end] {
            if (!closed_) End(job, end);
          });
          return;
        }
        ++services_.counters->streams_ended;
        streams_[job->stream].owed -= static_cast<std::int64_t>(numbers->size());
        for (const DecisionNumber number : *numbers) {
          services_.counters->Count(Delivery::kRejected);
          services_.pending->Settled(number, Delivery::kRejected);
        }
        Finish(job->stream, /*more=*/false);
      });
}

void StreamOutbox::Finish(StreamId stream, bool more) {
  --in_flight_;
  Stream& state = streams_[stream];
  std::int64_t owed = 0;
  if (gave_up_) {
    // Those whose reports are still under way settle by themselves.
    if (in_flight_ == 0) owed = TakeOwed();
  } else if (more || state.again) {
    queue_.push_back(stream);
  } else {
    state.busy = false;
  }
  for (; owed > 0; --owed) services_.pending->End();
  Pump();
}

}  // namespace bandana::device
