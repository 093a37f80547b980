#include "tests/simulation/history.h"

#include <variant>

#include "common/base/status.h"
#include "common/promise/event_rule.h"

namespace bandana::testing {
namespace {

// A node's events so far, for what pays for the next.
class Drawn final : public EpochCounts {
 public:
  explicit Drawn(std::uint64_t events) : events_(events) {}
  std::uint64_t OfNode(int) const override { return events_; }
  std::uint64_t OfAll() const override { return events_; }
  std::uint64_t OfLongestStream() const override { return 0; }

 private:
  const std::uint64_t events_;
};

}  // namespace

absl::Status History::Observe(const SimServer& server) {
  if (server.log().last().sequence < seen_.sequence) {
    return Internal("the log ends at entry ", server.log().last().sequence, ", entry ",
                    seen_.sequence, " was durable");
  }
  std::vector<LogEntry> entries;
  BANDANA_RETURN_IF_ERROR(server.log().Read(seen_, 1 << 20, entries));
  for (const LogEntry& entry : entries) {
    BANDANA_ASSIGN_OR_RETURN(const Record record, Decode(entry.record, path_.dimension()));
    BANDANA_RETURN_IF_ERROR(std::visit([this](const auto& r) { return See(r); }, record));
    seen_ = entry.position;
  }
  return absl::OkStatus();
}

std::uint64_t History::NewestStep(const StreamId& stream) const {
  const auto it = newest_.find(stream);
  return it == newest_.end() ? 0 : it->second;
}

int History::NodeOf(std::int32_t node, std::string_view user) {
  if (user.empty()) return node;
  return users_.emplace(user, static_cast<int>(users_.size())).first->second;
}

absl::Status History::Once(const DecisionId& id) {
  return outcomes_.insert(id).second ? absl::OkStatus() : Internal("a decision was applied twice");
}

absl::Status History::Central(const EventRecord& event) {
  const int node = NodeOf(event.node, event.user);
  const Drawn before(drawn_of_[{node, epoch_}]);
  const auto due = path_.debits()->BeforeEvent(before, node);
  if (!due) return absl::OkStatus();
  ++drawn_of_[{node, epoch_}];
  if (paid_[{due->node, epoch_}] >= due->releases) return absl::OkStatus();
  return Internal("an event of node ", node, " stands before the debit that pays for it");
}

absl::Status History::See(const DecisionRecord& record) {
  if (!open_.insert(record.event.id).second || closed_.contains(record.event.id)) {
    return Internal("a decision is opened twice");
  }
  return Central(record.event);
}

absl::Status History::See(const CloseRecord& record) {
  const double by_default = spec_.public_spec.default_reward();
  for (const ClosedWindow& window : record.windows) {
    if (open_.erase(window.id) == 0) return Internal("a window closes that is not open");
    closed_[window.id] = window.reward;
    const auto report = acknowledged_.find(window.id);
    if (report != acknowledged_.end() && report->second != window.reward) {
      return Internal("an acknowledged report is not in the entry that closes its window");
    }
    const bool counts = path_.draws_noise() || window.reward != by_default;
    if (counts) BANDANA_RETURN_IF_ERROR(Once(window.id));
  }
  return absl::OkStatus();
}

absl::Status History::Acknowledge(const DecisionId& id, double reward) {
  const auto closed = closed_.find(id);
  if (closed == closed_.end() && !open_.contains(id)) {
    return Internal("a report was taken of a decision that is not in the log");
  }
  if (closed != closed_.end() && closed->second != reward) {
    return Internal("an acknowledged report is not in the entry that closed its window");
  }
  acknowledged_[id] = reward;
  return absl::OkStatus();
}

absl::Status History::See(const OutcomeRecord& record) {
  if (ClosesWindows(spec_.public_spec)) return Internal("a report of an open decision is an entry");
  BANDANA_RETURN_IF_ERROR(Once(record.event.id));
  return Central(record.event);
}

absl::Status History::See(const CounterRecord& record) {
  const int node = NodeOf(record.node, record.user);
  std::uint64_t& newest = newest_[record.stream];
  if (newest == 0) {
    const std::pair key(node, epoch_);
    if (++drawn_of_[key] > paid_[key]) return Internal("a stream stands before its debit");
  }
  if (record.step <= newest) return Internal("a stream went back to step ", record.step);
  newest = record.step;
  const auto drawn = drawn_.find({record.stream, record.step});
  if (drawn == drawn_.end() || drawn->second != record.moment.bytes()) {
    return Internal("step ", record.step, " is not what the device drew");
  }
  for (const CounterStep& step : record.steps) BANDANA_RETURN_IF_ERROR(Once(step.id));
  return absl::OkStatus();
}

absl::Status History::See(const EpochRecord& record) {
  if (record.epoch != epoch_ + 1) return Internal("epoch ", record.epoch, " after ", epoch_);
  epoch_ = record.epoch;
  return absl::OkStatus();
}

absl::Status History::See(const DebitRecord& record) {
  paid_[{record.node, record.epoch}] += record.releases;
  return absl::OkStatus();
}

}  // namespace bandana::testing
