#include "client/core/delivery/starts.h"

#include <utility>

#include "absl/status/status.h"
#include "client/core/callback.h"

namespace bandana::device {

void Starts::Begin(bool has_model) {
  if (std::exchange(running_, true)) return;
  services_.gate->Begin();
  struct Look {
    absl::Time now;
    std::vector<DecisionNumber> overtaken;
    bool may_send = false;
  };
  auto look = std::make_shared<Look>();
  services_.journal->Push(
      {.before = [this, look] { look->now = services_.clock->Now(); },
       .operation =
           [this, look](Transaction& transaction) {
             look->overtaken = DropOvertaken(transaction.tables, look->now);
             look->may_send = !transaction.tables.reports().IsAnyOpen(look->now);
             if (look->may_send) transaction.tables.reports().ReadyAgain(options_.owner);
             return absl::OkStatus();
           },
       .committed =
           [this, look, has_model](const absl::Status& status) {
             if (!status.ok()) return End();
             Settle(look->overtaken);
             if (!look->may_send) return End();
             if (has_model) return Deliver();
             services_.model->AskAgain([this](bool answered) { answered ? Deliver() : End(); });
           }});
}

// One transaction can drop them all: there are no more than places in the queue.
std::vector<DecisionNumber> Starts::DropOvertaken(Tables& tables, absl::Time now) const {
  auto overtaken = tables.reports().OpenSince(options_.owner, now - options_.token_lifetime);
  for (const DecisionNumber number : overtaken) tables.reports().Delete(number);
  if (!overtaken.empty()) tables.rows().NoteErasure();
  return overtaken;
}

void Starts::Settle(const std::vector<DecisionNumber>& overtaken) {
  services_.counters->reports_overtaken += overtaken.size();
  for (const DecisionNumber number : overtaken) {
    services_.pending->Ended(number, Delivery::kExpired);
  }
}

void Starts::Deliver() {
  services_.outbox->NewStart();
  services_.stream_outbox->NewStart();
  services_.pending->Begin();
  services_.fetch([this] { services_.pending->End(); });
  services_.timer->Tick();
  services_.pending->WhenIdle([this] { MakeDurable(); });
}

// Answers are noted lazily: this goes after all of them.
void Starts::MakeDurable() {
  services_.journal->Enqueue([](Transaction&) { return absl::OkStatus(); },
                             [this](const absl::Status&) { End(); });
}

void Starts::End() {
  if (!std::exchange(running_, false)) return;
  services_.gate->End();
  for (const auto& then : std::exchange(when_ended_, {})) then();
}

void Starts::BeforeSelection(Callback<void()> select) {
  services_.gate->Pass(options_.owner, [this, select = std::move(select)] {
    auto now = std::make_shared<absl::Time>();
    auto overtaken = std::make_shared<std::vector<DecisionNumber>>();
    services_.journal->Push({.before = [this, now] { *now = services_.clock->Now(); },
                             .operation =
                                 [this, now, overtaken](Transaction& transaction) {
                                   *overtaken = DropOvertaken(transaction.tables, *now);
                                   return absl::OkStatus();
                                 },
                             .committed =
                                 [this, overtaken, select](const absl::Status& status) {
                                   if (status.ok()) Settle(*overtaken);
                                   select();
                                 }});
  });
}

void Starts::WhenEnded(Callback<void()> then) {
  if (!running_) return then();
  when_ended_.push_back(std::move(then));
}

}  // namespace bandana::device
