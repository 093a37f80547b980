#include "client/src/delivery/outbox.h"

#include <algorithm>
#include <utility>

#include "client/core/features.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"

namespace bandana::device {
namespace {

// Bytes of a message: half of what a server takes (kHotMessageBytesMax).
constexpr std::size_t kBatchBytesMax = 128 * 1024;

Delivery ToDelivery(v1::OutcomeCode code) {
  switch (code) {
    case v1::APPLIED:
      return Delivery::kApplied;
    case v1::DUPLICATE:
      return Delivery::kDuplicate;
    case v1::EXPIRED:
      return Delivery::kExpired;
    default:
      return Delivery::kRejected;
  }
}

}  // namespace

OutboundReport ToOutbound(ReportRow row) {
  return {.number = row.number,
          .user = std::move(row.user),
          .features = std::move(row.features),
          .report = std::move(row.report),
          .due_at = row.due_at};
}

// One delivery. The request is built once: every attempt sends the same bytes.
struct Outbox::Batch {
  std::vector<OutboundReport> reports;
  bool tokenless = false;
  int attempt = 0;
  v1::SubmitRequest submit;        // by Submit
  v1::ReportRequest report;        // by Report
  v1::BatchSelectRequest selects;  // tokenless
};

Outbox::Outbox(Options options, Services services)
    : options_(std::move(options)), services_(std::move(services)) {}

Outbox::~Outbox() = default;

void Outbox::Add(std::vector<OutboundReport> reports) {
  bool gave_up = false;
  {
    const std::lock_guard lock(mutex_);
    gave_up = gave_up_;
    for (OutboundReport& report : reports) {
      (report.features.empty() ? ready_ : tokenless_).push_back(std::move(report));
    }
  }
  if (gave_up) return GiveUp({});
  Pump();
}

void Outbox::NewStart() {
  const std::lock_guard lock(mutex_);
  gave_up_ = false;
}

void Outbox::GiveUp(std::vector<OutboundReport> reports) {
  std::size_t count = reports.size();
  {
    const std::lock_guard lock(mutex_);
    gave_up_ = true;
    count += ready_.size() + tokenless_.size();
    ready_.clear();
    tokenless_.clear();
  }
  for (; count > 0; --count) services_.pending->End();
}

void Outbox::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

void Outbox::Pump() {
  while (true) {
    BatchPtr batch;
    {
      const std::lock_guard lock(mutex_);
      if (closed_ || in_flight_ >= options_.in_flight_max) return;
      batch = NextBatch();
      if (batch == nullptr) return;
      ++in_flight_;
    }
    if (MayLeave(batch)) {
      Start(batch);
    } else {
      const std::lock_guard lock(mutex_);
      --in_flight_;
    }
  }
}

Outbox::BatchPtr Outbox::NextBatch() {
  std::deque<OutboundReport>& queue = tokenless_.empty() ? ready_ : tokenless_;
  if (queue.empty()) return nullptr;
  auto batch = std::make_shared<Batch>();
  batch->tokenless = &queue == &tokenless_;
  std::size_t bytes = 0;
  while (!queue.empty() && batch->reports.size() < options_.batch_max) {
    if (!batch->reports.empty() && (batch->reports.front().alone || queue.front().alone)) break;
    bytes += queue.front().report.size();
    if (!batch->reports.empty() && bytes > kBatchBytesMax) break;
    batch->reports.push_back(std::move(queue.front()));
    queue.pop_front();
  }
  Fill(*batch);
  return batch;
}

void Outbox::Fill(Batch& batch) const {
  for (const OutboundReport& report : batch.reports) {
    if (batch.tokenless) {
      v1::SelectRequest& select = *batch.selects.add_decisions();
      select.set_model(options_.model);
      select.set_user(report.user);
      select.set_top_k(1);
      select.set_policy_hash(options_.policy_hash);
      UnpackArm(report.features, *select.mutable_arms()->mutable_inline_arms());
    } else {
      options_.form->add(report.report, batch.submit, batch.report);
    }
  }
  batch.submit.set_model(options_.model);
  batch.submit.set_policy_hash(options_.policy_hash);
  batch.report.set_model(options_.model);
  batch.report.set_policy_hash(options_.policy_hash);
}

bool Outbox::MayLeave(const BatchPtr& batch) {
  if (!options_.form->raw || !services_.pending->model_changed()) return DropExpired(batch);
  for (const OutboundReport& report : batch->reports) Settle(report, Delivery::kRejected);
  return false;
}

bool Outbox::DropExpired(const BatchPtr& batch) {
  if (!options_.attempts.lifetime) return true;
  const absl::Time oldest = services_.clock->Now() - *options_.attempts.lifetime;
  const auto expired = std::stable_partition(
      batch->reports.begin(), batch->reports.end(),
      [oldest](const OutboundReport& report) { return report.due_at > oldest; });
  if (expired == batch->reports.end()) return true;
  for (auto report = expired; report != batch->reports.end(); ++report) {
    Settle(*report, Delivery::kExpired);
  }
  batch->reports.erase(expired, batch->reports.end());
  batch->submit.Clear();
  Fill(*batch);
  return !batch->reports.empty();
}

void Outbox::Start(const BatchPtr& batch) {
  ++services_.counters->delivery_attempts;
  if (batch->tokenless) {
    FetchTokens(batch);
  } else {
    Send(batch);
  }
}

void Outbox::Send(const BatchPtr& batch) {
  options_.form->send(*services_.transport, batch->submit, batch->report,
                      {.deadline = options_.attempts.deadline},
                      [this, batch](const Answer& answer, const auto& results) {
                        TakeResults(batch, answer, results);
                      });
}

void Outbox::TakeResults(const BatchPtr& batch, const Answer& answer,
                         const google::protobuf::RepeatedPtrField<v1::OutcomeResult>& results) {
  if (!answer.status.ok()) return OnFailure(batch, answer);
  if (results.size() != batch->reports.size()) {
    return Retry(batch, {Internal("as many results as reports are expected"), std::nullopt});
  }
  bool policy_mismatch = false;
  for (int i = 0; i < results.size(); ++i) {
    policy_mismatch = policy_mismatch || results[i].reason() == v1::POLICY_MISMATCH;
    // Without tokens only the epoch can be foreign: the next reports need the one in force.
    policy_mismatch =
        policy_mismatch || (options_.form->by_id && results[i].reason() == v1::TOKEN_FOREIGN);
    Settle(batch->reports[i], ToDelivery(results[i].code()));
  }
  if (policy_mismatch) services_.model->AskAgain();
  FinishBatch();
}

void Outbox::OnFailure(const BatchPtr& batch, const Answer& answer) {
  if (answer.status.code() != absl::StatusCode::kFailedPrecondition) return Decide(batch, answer);
  // Whether anything of it may be sent again, the model says.
  services_.model->AskAgain([this, batch, answer](bool) { Decide(batch, answer); });
}

void Outbox::Decide(const BatchPtr& batch, const Answer& answer) {
  switch (VerdictOf(answer.status.code(), static_cast<int>(batch->reports.size()))) {
    case Verdict::kRetry:
      return Retry(batch, answer);
    case Verdict::kSplit: {
      const std::lock_guard lock(mutex_);
      auto& queue = batch->tokenless ? tokenless_ : ready_;
      for (auto report = batch->reports.rbegin(); report != batch->reports.rend(); ++report) {
        report->alone = true;
        queue.push_front(std::move(*report));
      }
      break;
    }
    case Verdict::kReject:
      Settle(batch->reports.front(), Delivery::kRejected);
      break;
  }
  FinishBatch();
}

void Outbox::Retry(const BatchPtr& batch, const Answer& answer) {
  if (options_.one_attempt) {
    GiveUp(std::move(batch->reports));
    return FinishBatch();
  }
  services_.scheduler->RunAfter(Pause(batch->attempt++, answer), [this, batch] {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return;
    }
    if (!MayLeave(batch)) return FinishBatch();
    Start(batch);
  });
}

absl::Duration Outbox::Pause(int attempt, const Answer& answer) {
  // Without entropy the pause is merely not jittered.
  return BackoffWithPushback(options_.backoff, attempt, SystemBits().NextWord().value_or(0),
                             answer.pushback);
}

void Outbox::FetchTokens(const BatchPtr& batch) {
  services_.transport->BatchSelect(
      batch->selects, {.deadline = options_.attempts.deadline},
      [this, batch](const Answer& answer, v1::BatchSelectResponse& response) {
        OnTokens(batch, answer, response);
      });
}

void Outbox::OnTokens(const BatchPtr& batch, const Answer& answer,
                      v1::BatchSelectResponse& response) {
  if (!answer.status.ok()) return OnFailure(batch, answer);
  if (response.results_size() != batch->reports.size()) {
    return Retry(batch, {Internal("as many selections as decisions are expected"), std::nullopt});
  }
  std::vector<OutboundReport> with_token;
  std::vector<OutboundReport> again;
  for (int i = 0; i < response.results_size(); ++i) {
    const v1::SelectResult& result = response.results(i);
    OutboundReport& report = batch->reports[i];
    const auto code = static_cast<absl::StatusCode>(result.code());
    if (code == absl::StatusCode::kOk && !result.selection().token().empty()) {
      report.report = options_.form->with_token(report.report, result.selection().token());
      report.features.clear();
      with_token.push_back(std::move(report));
    } else if (code != absl::StatusCode::kOk && VerdictOf(code, 1) == Verdict::kReject) {
      if (code == absl::StatusCode::kFailedPrecondition) services_.model->AskAgain();
      Settle(report, Delivery::kRejected);
    } else {
      again.push_back(std::move(report));
    }
  }
  if (!again.empty() && options_.one_attempt) {
    for (std::size_t i = 0; i < again.size(); ++i) services_.pending->End();
  } else if (!again.empty()) {
    services_.scheduler->RunAfter(
        Pause(batch->attempt, answer),
        [this, reports = std::move(again)]() mutable { Add(std::move(reports)); });
  }
  if (!with_token.empty()) PersistTokens(std::move(with_token));
  FinishBatch();
}

// A token is durable before its report is sent, so that a restart repeats these very bytes instead
// of reporting the event a second time under another token.
void Outbox::PersistTokens(std::vector<OutboundReport> reports) {
  auto shared = std::make_shared<std::vector<OutboundReport>>(std::move(reports));
  services_.journal->Enqueue(
      [shared](Transaction& transaction) {
        for (const OutboundReport& report : *shared) {
          auto row = transaction.tables.reports().Find(report.number);
          if (!row) continue;
          row->features.clear();
          row->report = report.report;
          transaction.tables.reports().Put(*row);
        }
        return absl::OkStatus();
      },
      [this, shared](const absl::Status& status) {
        if (status.ok()) return Add(std::move(*shared));
        if (options_.one_attempt) return GiveUp(std::move(*shared));
        services_.scheduler->RunAfter(options_.backoff.max,
                                      [this, shared] { PersistTokens(std::move(*shared)); });
      });
}

void Outbox::Settle(const OutboundReport& report, Delivery delivery) {
  services_.counters->Count(delivery);
  // If a crash loses this, the report is sent once more and answered DUPLICATE.
  services_.journal->EnqueueLazy([number = report.number](Transaction& transaction) {
    transaction.tables.reports().Delete(number);
    return absl::OkStatus();
  });
  services_.pending->Settled(report.number, delivery);
}

void Outbox::FinishBatch() {
  {
    const std::lock_guard lock(mutex_);
    --in_flight_;
  }
  Pump();
}

}  // namespace bandana::device
