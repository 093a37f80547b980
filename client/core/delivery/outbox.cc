#include "client/core/delivery/outbox.h"

#include <utility>

#include "client/core/report_bytes.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"

namespace bandana::device {
namespace {

// Bytes of a message: half of what a server takes (kHotMessageBytesMax).
constexpr std::size_t kBatchBytesMax = 128 * 1024;

Delivery ToDelivery(OutcomeCode code) {
  switch (code) {
    case OutcomeCode::kApplied:
      return Delivery::kApplied;
    case OutcomeCode::kDuplicate:
      return Delivery::kDuplicate;
    case OutcomeCode::kExpired:
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

// One delivery. The request is made once: every attempt sends the same bytes.
struct Outbox::Batch {
  std::vector<OutboundReport> reports;
  bool tokenless = false;
  int attempt = 0;
  std::string request;
};

Outbox::Outbox(Options options, Services services)
    : options_(std::move(options)), services_(services) {}

Outbox::~Outbox() = default;

void Outbox::Add(std::vector<OutboundReport> reports) {
  for (OutboundReport& report : reports) {
    (report.features.empty() ? ready_ : tokenless_).push_back(std::move(report));
  }
  if (gave_up_) return GiveUp(0);
  Pump();
}

void Outbox::GiveUp(std::size_t reports) {
  gave_up_ = true;
  reports += ready_.size() + tokenless_.size();
  ready_.clear();
  tokenless_.clear();
  for (; reports > 0; --reports) services_.pending->End();
}

void Outbox::Pump() {
  while (!closed_ && in_flight_ < options_.in_flight_max) {
    const BatchPtr batch = NextBatch();
    if (batch == nullptr) return;
    ++in_flight_;
    if (MayLeave(batch)) {
      Send(batch);
    } else {
      --in_flight_;
    }
  }
}

Outbox::BatchPtr Outbox::NextBatch() {
  std::list<OutboundReport>& queue = tokenless_.empty() ? ready_ : tokenless_;
  if (queue.empty()) return nullptr;
  auto batch = std::make_shared<Batch>();
  batch->tokenless = &queue == &tokenless_;
  std::size_t bytes = 0;
  while (!queue.empty() && static_cast<int>(batch->reports.size()) < options_.batch_max) {
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
  if (batch.tokenless) {
    std::vector<std::string> selects;
    for (const OutboundReport& report : batch.reports) {
      selects.push_back(
          TokenRequestBytes(options_.model, report.user, report.features, options_.policy_hash));
    }
    batch.request = BatchRequestBytes(selects);
    return;
  }
  std::vector<std::string_view> reports;
  for (const OutboundReport& report : batch.reports) reports.push_back(report.report);
  batch.request = ReportsRequestBytes(options_.form, options_.model, options_.policy_hash, reports);
}

bool Outbox::MayLeave(const BatchPtr& batch) {
  if (!options_.form.raw || !services_.pending->model_changed()) return DropExpired(batch);
  for (const OutboundReport& report : batch->reports) Settle(report, Delivery::kRejected);
  return false;
}

bool Outbox::DropExpired(const BatchPtr& batch) {
  if (!options_.attempts.lifetime) return true;
  const absl::Time oldest = services_.clock->Now() - *options_.attempts.lifetime;
  std::vector<OutboundReport> expired;
  for (OutboundReport& report : std::exchange(batch->reports, {})) {
    (report.due_at > oldest ? batch->reports : expired).push_back(std::move(report));
  }
  if (expired.empty()) return true;
  for (const OutboundReport& report : expired) Settle(report, Delivery::kExpired);
  Fill(*batch);
  return !batch->reports.empty();
}

void Outbox::Send(const BatchPtr& batch) {
  ++services_.counters->delivery_attempts;
  services_.calls->Make(batch->tokenless ? Method::kBatchSelect : options_.form.method,
                        batch->request, {.deadline = options_.attempts.deadline},
                        [this, batch](const Answer& answer, const std::string& response) {
                          if (!answer.status.ok()) return OnFailure(batch, answer);
                          batch->tokenless ? OnTokens(batch, response)
                                           : OnOutcomes(batch, response);
                        });
}

void Outbox::OnOutcomes(const BatchPtr& batch, const std::string& response) {
  const auto outcomes = ReadOutcomes(response);
  if (!outcomes || outcomes->size() != batch->reports.size()) {
    return Retry(batch, {Internal("as many results as reports are expected"), std::nullopt});
  }
  bool policy_mismatch = false;
  for (std::size_t i = 0; i < outcomes->size(); ++i) {
    const Outcome& outcome = (*outcomes)[i];
    // Without tokens only the epoch can be foreign: the next reports need the one in force.
    policy_mismatch = policy_mismatch || outcome.reason == RejectReason::kPolicyMismatch ||
                      (options_.form.by_id && outcome.reason == RejectReason::kTokenForeign);
    Settle(batch->reports[i], ToDelivery(outcome.code));
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
    GiveUp(batch->reports.size());
    return FinishBatch();
  }
  services_.timers->RunAfter(Pause(batch->attempt++, answer.pushback), [this, batch] {
    if (closed_) return;
    if (!MayLeave(batch)) return FinishBatch();
    Send(batch);
  });
}

absl::Duration Outbox::Pause(int attempt, const std::optional<absl::Duration>& pushback) const {
  // Without entropy the pause is merely not jittered.
  return BackoffWithPushback(options_.backoff, attempt, SystemBits().NextWord().value_or(0),
                             pushback);
}

void Outbox::OnTokens(const BatchPtr& batch, const std::string& response) {
  const auto results = ReadTokens(response);
  if (!results || results->size() != batch->reports.size()) {
    return Retry(batch, {Internal("as many selections as decisions are expected"), std::nullopt});
  }
  std::vector<OutboundReport> with_token;
  std::vector<OutboundReport> again;
  for (std::size_t i = 0; i < results->size(); ++i) {
    const auto& [code, token] = (*results)[i];
    OutboundReport& report = batch->reports[i];
    if (code == absl::StatusCode::kOk && !token.empty()) {
      report.report = ReplaceToken(report.report, token);
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
    services_.timers->RunAfter(
        Pause(batch->attempt, std::nullopt),
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
        if (options_.one_attempt) return GiveUp(shared->size());
        services_.timers->RunAfter(options_.backoff.max,
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
  --in_flight_;
  Pump();
}

}  // namespace bandana::device
