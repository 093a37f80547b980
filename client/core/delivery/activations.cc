#include "client/core/delivery/activations.h"

#include <utility>

#include "client/core/messages.h"
#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"

namespace bandana::device {
namespace {

constexpr std::string_view kKept = "activate ";  // then the decision's number

std::string NameOf(DecisionNumber number) {
  std::string name(kKept);
  name += std::to_string(number);
  return name;
}

std::string ContentOf(OwnerId owner, DecisionNumber number, std::string_view request) {
  std::string content;
  ByteWriter writer(content);
  writer.I64(owner);
  writer.I64(number);
  content += request;
  return content;
}

}  // namespace

Activations::Queue Activations::Adopt(Tables& tables, std::string_view model, OwnerId owner,
                                      const std::set<OwnerId>& live) {
  Queue adopted;
  for (const auto& [name, content] : tables.kept().Of(model)) {
    if (!name.starts_with(kKept)) continue;
    ByteReader reader(content);
    const OwnerId before = reader.I64();
    const DecisionNumber number = reader.I64();
    if (!reader.ok() || live.contains(before)) continue;
    Call& call = adopted.emplace_back();
    call.number = number;
    call.request = reader.Take(reader.remaining());
    tables.kept().Put(model, name, ContentOf(owner, number, call.request));
  }
  return adopted;
}

Activations::Call Activations::Keep(Tables& tables, DecisionNumber number,
                                    std::string_view token) const {
  Call call;
  call.number = number;
  call.request = ActivateRequestBytes(options_.model, token, options_.policy_hash);
  tables.kept().Put(options_.model, NameOf(number),
                    ContentOf(options_.owner, number, call.request));
  return call;
}

bool Activations::IsFull() const {
  return waiting_.size() + under_way_.size() >= static_cast<std::size_t>(options_.waiting_max);
}

Activations::Call* Activations::Find(DecisionNumber number) {
  for (Queue* const calls : {&under_way_, &waiting_}) {
    for (Call& call : *calls) {
      if (call.number == number) return &call;
    }
  }
  return nullptr;
}

void Activations::Send(Queue calls) {
  services_.pending->Begin(static_cast<std::int64_t>(calls.size()));
  waiting_.splice(waiting_.end(), calls);
  Pump();
}

void Activations::Pump() {
  while (!closed_ && !waiting_.empty() &&
         static_cast<int>(under_way_.size()) < options_.in_flight_max) {
    under_way_.splice(under_way_.end(), waiting_, waiting_.begin());
    Make(--under_way_.end());
  }
}

void Activations::Make(Place call) {
  services_.calls->Make(Method::kActivate, call->request, {.deadline = options_.deadline},
                        [this, call](const Answer& answer, const std::string& response) {
                          OnAnswer(call, answer, response);
                        });
}

void Activations::OnAnswer(Place call, const Answer& answer, const std::string& response) {
  if (answer.status.ok()) {
    const auto outcomes = ReadOutcomes(response);
    if (!outcomes || outcomes->size() != 1) return Retry(call, answer);
    return End(call);
  }
  if (VerdictOf(answer.status.code(), 1) == Verdict::kRetry) return Retry(call, answer);
  if (answer.status.code() != absl::StatusCode::kFailedPrecondition) return End(call);
  services_.model->AskAgain([this, call](bool) { End(call); });
}

void Activations::Retry(Place call, const Answer& answer) {
  // Without entropy the pause is merely not jittered.
  const absl::Duration pause = BackoffWithPushback(
      options_.backoff, call->attempt++, SystemBits().NextWord().value_or(0), answer.pushback);
  services_.timers->RunAfter(pause, [this, call] {
    if (closed_) return;
    services_.pending->model_changed() ? End(call) : Make(call);
  });
}

void Activations::End(Place call) {
  // If a crash loses this, the call is made once more and changes nothing.
  services_.journal->EnqueueLazy(
      [model = options_.model, number = call->number](Transaction& transaction) {
        transaction.tables.kept().Erase(model, NameOf(number));
        return absl::OkStatus();
      });
  std::vector<OutboundReport> report = std::move(call->report);
  under_way_.erase(call);
  if (!report.empty()) services_.outbox->Add(std::move(report));
  services_.pending->End();
  Pump();
}

void Activations::Deliver(std::vector<OutboundReport> reports) {
  std::vector<OutboundReport> leaving;
  for (OutboundReport& report : reports) {
    Call* const waits = Find(report.number);
    (waits == nullptr ? leaving : waits->report).push_back(std::move(report));
  }
  if (!leaving.empty()) services_.outbox->Add(std::move(leaving));
}

}  // namespace bandana::device
