#include "client/src/delivery/stream_outbox.h"

#include <algorithm>
#include <utility>

#include "common/base/status.h"
#include "common/random/bit_source.h"

namespace bandana::device {
namespace {

StreamEnd EndOf(v1::RejectReason reason) {
  switch (reason) {
    case v1::STREAM_FORKED:
      return StreamEnd::kForked;
    case v1::STREAM_GAP:
      return StreamEnd::kGap;
    case v1::STREAM_EXHAUSTED:
    case v1::USER_LIMIT:
      return StreamEnd::kExhausted;
    case v1::TOKEN_INVALID:
    case v1::TOKEN_FOREIGN:
    case v1::SHOWN_OUT_OF_RANGE:
      return StreamEnd::kToken;
    default:
      return StreamEnd::kRefused;
  }
}

}  // namespace

// One report. The request is built once: every attempt sends the same bytes.
struct StreamOutbox::Job {
  StreamId stream = 0;
  std::vector<StepRow> steps;
  std::uint64_t newest = 0;  // step of the stream when the report was made
  int attempt = 0;
  v1::SubmitRequest request;
};

void StreamOutbox::Wake(StreamId stream, std::int64_t steps) {
  {
    const std::lock_guard lock(mutex_);
    Stream& state = streams_[stream];
    state.owed += steps;
    if (std::exchange(state.busy, true)) {
      state.again = true;
      return;
    }
    queue_.push_back(stream);
  }
  Pump();
}

void StreamOutbox::NewStart() {
  const std::lock_guard lock(mutex_);
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
  {
    const std::lock_guard lock(mutex_);
    gave_up_ = true;
  }
  Finish(stream, /*more=*/false);
}

void StreamOutbox::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

bool StreamOutbox::closed() {
  const std::lock_guard lock(mutex_);
  return closed_;
}

void StreamOutbox::Pump() {
  while (true) {
    StreamId stream = 0;
    {
      const std::lock_guard lock(mutex_);
      if (closed_ || gave_up_ || in_flight_ >= options_.in_flight_max || queue_.empty()) return;
      stream = queue_.front();
      queue_.pop_front();
      ++in_flight_;
    }
    Load(stream);
  }
}

// Through the writer, so that nothing is read, and sent, that is not durable yet.
void StreamOutbox::Load(StreamId stream) {
  auto job = std::make_shared<Job>();
  job->stream = stream;
  std::uint64_t acknowledged = 0;
  int steps_max = options_.steps_max;
  {
    const std::lock_guard lock(mutex_);
    Stream& state = streams_[stream];
    state.again = false;
    acknowledged = state.acknowledged;
    if (state.alone) steps_max = 1;
  }
  services_.journal->Enqueue(
      [job, acknowledged, steps_max](Transaction& transaction) -> absl::Status {
        StreamRows& streams = transaction.tables.streams();
        const auto row = streams.Find(job->stream);
        if (!row) return absl::OkStatus();
        BANDANA_ASSIGN_OR_RETURN(
            job->steps,
            streams.Steps(job->stream, std::max(acknowledged, row->acknowledged), steps_max));
        job->newest = row->step;
        job->request.add_counter_reports()->set_stream(row->stream);
        return absl::OkStatus();
      },
      [this, job](const absl::Status& status) { OnLoaded(job, status); });
}

void StreamOutbox::OnLoaded(const JobPtr& job, const absl::Status& status) {
  if (!status.ok()) {
    if (options_.one_attempt) return GiveUp(job->stream);
    services_.scheduler->RunAfter(options_.backoff.max, [this, stream = job->stream] {
      if (!closed()) Load(stream);
    });
    return;
  }
  if (job->steps.empty()) return Finish(job->stream, /*more=*/false);
  job->request.set_model(options_.model);
  job->request.set_policy_hash(options_.policy_hash);
  v1::CounterReport& report = *job->request.mutable_counter_reports(0);
  report.set_step(job->steps.back().step);
  for (const StepRow& step : job->steps) {
    // Our own bytes, verified by the row's digest. Steps append; the newest moment stands.
    report.clear_moment();
    report.MergeFromString(step.content);
  }
  Send(job);
}

void StreamOutbox::Send(const JobPtr& job) {
  ++services_.counters->delivery_attempts;
  services_.transport->Submit(job->request, {.deadline = options_.deadline},
                              [this, job](const Answer& answer, v1::SubmitResponse& response) {
                                OnAnswer(job, answer, response);
                              });
}

void StreamOutbox::OnAnswer(const JobPtr& job, const Answer& answer,
                            const v1::SubmitResponse& response) {
  if (answer.status.ok()) {
    if (response.counter_results_size() == 1) return OnResult(job, response.counter_results(0));
    return Retry(job, {Internal("one result is expected"), std::nullopt});
  }
  if (VerdictOf(answer.status.code(), 1) == Verdict::kRetry) return Retry(job, answer);
  services_.model->AskAgain();
  if (job->steps.size() == 1) return End(job, StreamEnd::kRefused);
  // The server may take fewer steps in a call.
  {
    const std::lock_guard lock(mutex_);
    streams_[job->stream].alone = true;
  }
  Finish(job->stream, /*more=*/true);
}

void StreamOutbox::OnResult(const JobPtr& job, const v1::CounterResult& result) {
  const std::uint64_t sent = job->steps.back().step;
  const bool taken = result.code() == v1::APPLIED || result.code() == v1::DUPLICATE;
  if (!taken) {
    // Most of these also mean that the model went into another epoch.
    services_.model->AskAgain();
    return End(job, EndOf(result.reason()));
  }
  // The server has steps that this device never took: another copy of its store did.
  if (result.acknowledged_step() > job->newest) return End(job, StreamEnd::kForked);
  if (result.acknowledged_step() < sent) {
    return Retry(job, {Internal("the sent step is expected to be acknowledged"), std::nullopt});
  }
  Acknowledge(job, sent, result.code() == v1::APPLIED ? Delivery::kApplied : Delivery::kDuplicate);
}

void StreamOutbox::Retry(const JobPtr& job, const Answer& answer) {
  if (options_.one_attempt) return GiveUp(job->stream);
  // Without entropy the pause is merely not jittered.
  const absl::Duration pause = BackoffWithPushback(
      options_.backoff, job->attempt++, SystemBits().NextWord().value_or(0), answer.pushback);
  services_.scheduler->RunAfter(pause, [this, job] {
    if (!closed()) Send(job);
  });
}

void StreamOutbox::Acknowledge(const JobPtr& job, std::uint64_t step, Delivery delivery) {
  {
    const std::lock_guard lock(mutex_);
    streams_[job->stream].acknowledged = step;
    streams_[job->stream].owed -= static_cast<std::int64_t>(job->steps.size());
  }
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
          services_.scheduler->RunAfter(options_.backoff.max, [this, job, end] {
            if (!closed()) End(job, end);
          });
          return;
        }
        ++services_.counters->streams_ended;
        {
          const std::lock_guard lock(mutex_);
          streams_[job->stream].owed -= static_cast<std::int64_t>(numbers->size());
        }
        for (const DecisionNumber number : *numbers) {
          services_.counters->Count(Delivery::kRejected);
          services_.pending->Settled(number, Delivery::kRejected);
        }
        Finish(job->stream, /*more=*/false);
      });
}

void StreamOutbox::Finish(StreamId stream, bool more) {
  std::int64_t owed = 0;
  {
    const std::lock_guard lock(mutex_);
    --in_flight_;
    Stream& state = streams_[stream];
    if (gave_up_) {
      // Those whose reports are still under way settle by themselves.
      if (in_flight_ == 0) owed = TakeOwed();
    } else if (more || state.again) {
      queue_.push_back(stream);
    } else {
      state.busy = false;
    }
  }
  for (; owed > 0; --owed) services_.pending->End();
  Pump();
}

}  // namespace bandana::device
