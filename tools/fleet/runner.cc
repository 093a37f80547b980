#include "tools/fleet/runner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "tools/environments/random.h"
#include "tools/fleet/mailbox.h"

namespace bandana {
namespace {

using SteadyClock = std::chrono::steady_clock;
using TimePoint = SteadyClock::time_point;

// Decisions under way at once in the open loop; beyond it arrivals wait, and count as late.
constexpr std::size_t kOpenMax = 10'000;
constexpr auto kRetryPause = std::chrono::milliseconds(100);
constexpr auto kTick = std::chrono::milliseconds(250);
constexpr auto kLate = std::chrono::milliseconds(1);
constexpr auto kDrain = std::chrono::seconds(2);

bool IsPassing(absl::StatusCode code) {
  return code == absl::StatusCode::kUnavailable || code == absl::StatusCode::kDeadlineExceeded ||
         code == absl::StatusCode::kResourceExhausted;
}

struct Message {
  enum class Kind { kSelected, kReportRefused, kDelivered };
  Kind kind;
  std::uint64_t index;
  TimePoint at;
  absl::StatusOr<Selection> selection = absl::UnknownError("");
  absl::Status refusal;
  Delivery delivery = Delivery::kApplied;
};

// One decision under way.
struct Open {
  Choice decision;
  TimePoint start;  // planned, in the open loop
  TimePoint report_start;
};

class Driver {
 public:
  Driver(FleetDevice& device, const Environment& environment, const RunOptions& options,
         const std::atomic<bool>& stop, const ProgressFunction& progress,
         const ShownFunction& shown)
      : device_(device),
        environment_(environment),
        options_(options),
        stop_(stop),
        progress_(progress),
        shown_(shown),
        mailbox_(std::make_shared<Mailbox<Message>>()),
        result_{.tally = Tally(options.rounds)} {}

  RunResult Run() {
    started_ = last_answer_ = next_arrival_ = last_tick_ = SteadyClock::now();
    while (next_ < options_.rounds || !open_.empty()) {
      const TimePoint now = SteadyClock::now();
      if (stop_.load(std::memory_order_relaxed)) {
        result_.end = RunEnd::kInterrupted;
        break;
      }
      // A pause without work is not an absence of the server.
      if (open_.empty()) last_answer_ = now;
      StartDue(now);
      RetryDue(now);
      if (now - last_answer_ > absl::ToChronoNanoseconds(options_.reconnect_timeout)) {
        result_.end = RunEnd::kServerAway;
        break;
      }
      Tick(now);
      for (Message& message : mailbox_->Receive(NextWake(now))) Handle(message);
      if (!result_.misfit.ok()) {
        result_.end = RunEnd::kMisfit;
        break;
      }
    }
    if (result_.end == RunEnd::kInterrupted) Drain();
    result_.elapsed = absl::FromChrono(SteadyClock::now() - started_);
    result_.tally.CloseCurve();
    progress_(result_.tally, result_.elapsed);
    return std::move(result_);
  }

 private:
  bool open_loop() const { return options_.rate > 0; }

  void StartDue(TimePoint now) {
    if (!open_loop()) {
      while (next_ < options_.rounds && open_.size() < static_cast<std::size_t>(options_.in_flight))
        Start(now);
      return;
    }
    while (next_ < options_.rounds && next_arrival_ <= now && open_.size() < kOpenMax) {
      const TimePoint planned = next_arrival_;
      next_arrival_ += Gap(next_);
      const auto lateness = SteadyClock::now() - planned;
      result_.tally.send_lateness.Record(absl::FromChrono(lateness));
      if (lateness > kLate) ++result_.late_sends;
      Start(planned);
    }
  }

  SteadyClock::duration Gap(std::uint64_t index) const {
    double seconds = 1 / options_.rate;
    if (options_.poisson) {
      seconds *=
          -std::log1p(-SeededStream(options_.seed, StreamPurpose::kArrival, index).Uniform());
    }
    return std::chrono::duration_cast<SteadyClock::duration>(
        std::chrono::duration<double>(seconds));
  }

  void Start(TimePoint start) {
    const std::uint64_t index = next_++;
    Open& open = open_[index];
    open.start = start;
    environment_.DecisionAt(index, open.decision);
    result_.users.insert(open.decision.user);
    Select(index, open);
  }

  void Select(std::uint64_t index, const Open& open) {
    auto done = [index, mailbox = mailbox_](absl::StatusOr<Selection> selection) {
      mailbox->Send({.kind = Message::Kind::kSelected,
                     .index = index,
                     .at = SteadyClock::now(),
                     .selection = std::move(selection)});
    };
    if (environment_.points() != nullptr) {
      return device_.SelectPoint(open.decision.user, std::move(done));
    }
    const Arms arms = environment_.info().form == ArmForm::kInline
                          ? Arms::Inline(open.decision.features, open.decision.arm_ids)
                          : Arms::Catalogue(open.decision.arm_ids);
    device_.Select(open.decision.user, arms, std::move(done));
  }

  void RetryDue(TimePoint now) {
    while (!retries_.empty() && retries_.top().first <= now) {
      const std::uint64_t index = retries_.top().second;
      retries_.pop();
      Select(index, open_.at(index));
    }
  }

  TimePoint NextWake(TimePoint now) const {
    TimePoint wake = now + kTick;
    if (!retries_.empty()) wake = std::min(wake, retries_.top().first);
    if (open_loop() && next_ < options_.rounds && open_.size() < kOpenMax)
      wake = std::min(wake, next_arrival_);
    return wake;
  }

  void Handle(Message& message) {
    const auto found = open_.find(message.index);
    if (found == open_.end()) return;
    switch (message.kind) {
      case Message::Kind::kSelected:
        if (message.selection.ok()) {
          last_answer_ = message.at;
          Show(message.index, found->second, *message.selection, message.at);
        } else {
          Fail(message.index, found->second, message.selection.status(), message.at);
        }
        break;
      case Message::Kind::kReportRefused:
        result_.tally.CountError(message.refusal.code());
        open_.erase(found);
        break;
      case Message::Kind::kDelivered:
        last_answer_ = message.at;
        result_.tally.report_latency.Record(
            absl::FromChrono(message.at - found->second.report_start));
        result_.tally.CountDelivery(message.delivery);
        open_.erase(found);
        break;
    }
  }

  void Fail(std::uint64_t index, const Open& open, const absl::Status& status, TimePoint at) {
    result_.tally.CountError(status.code());
    if (!IsPassing(status.code())) last_answer_ = at;
    const bool in_time = at - open.start < absl::ToChronoNanoseconds(options_.reconnect_timeout);
    if (IsPassing(status.code()) && in_time) {
      retries_.emplace(at + kRetryPause, index);
      return;
    }
    if (absl::IsInvalidArgument(status) && result_.tally.sums().decisions == 0) {
      result_.misfit = status;
    }
    Abandon(index);
  }

  // A decision that never got a legal answer.
  void Abandon(std::uint64_t index) {
    result_.tally.CountAbandoned();
    open_.erase(index);
  }

  bool IsLegal(const Selection& selection, const Choice& decision) const {
    if (const PointRewards* points = environment_.points(); points != nullptr) {
      return selection.arms.empty() && points->domain().Contains(selection.point);
    }
    if (selection.arms.size() != 1) return false;
    const RankedArm& first = selection.arms.front();
    if (first.position < 0 || first.position >= static_cast<int>(decision.expected.size()))
      return false;
    if (!(first.propensity > 0 && first.propensity <= 1)) return false;
    return environment_.info().form == ArmForm::kInline ||
           first.arm_id == decision.arm_ids[first.position];
  }

  // Counts what a legal selection was worth, and returns its reward.
  double Count(std::uint64_t index, const Choice& decision, const Selection& selection) {
    if (const PointRewards* points = environment_.points(); points != nullptr) {
      const double reward = points->RewardAt(index, selection.point);
      result_.tally.CountDecision(points->BestExpected(), points->MeanExpected(),
                                  points->Expected(selection.point), reward);
      return reward;
    }
    const int position = selection.arms.front().position;
    const double reward = environment_.RewardAt(index, decision, position);
    result_.tally.CountDecision(decision.BestExpected(), decision.MeanExpected(),
                                decision.expected[position], reward);
    return reward;
  }

  void Show(std::uint64_t index, Open& open, const Selection& selection, TimePoint at) {
    if (!IsLegal(selection, open.decision)) {
      result_.tally.CountInvalidAnswer();
      Abandon(index);
      return;
    }
    result_.tally.select_latency.Record(absl::FromChrono(at - open.start));
    const double reward = Count(index, open.decision, selection);
    if (shown_) shown_(index, open.decision, selection);
    open.report_start = SteadyClock::now();
    device_.Report(
        selection, reward,
        [index, mailbox = mailbox_](absl::Status queued) {
          if (queued.ok()) return;
          mailbox->Send({.kind = Message::Kind::kReportRefused,
                         .index = index,
                         .at = SteadyClock::now(),
                         .refusal = std::move(queued)});
        },
        [index, mailbox = mailbox_](Delivery delivery) {
          mailbox->Send({.kind = Message::Kind::kDelivered,
                         .index = index,
                         .at = SteadyClock::now(),
                         .delivery = delivery});
        });
  }

  void Tick(TimePoint now) {
    if (now - last_tick_ < kTick) return;
    last_tick_ = now;
    progress_(result_.tally, absl::FromChrono(now - started_));
  }

  // Waits for what is under way, without starting or retrying anything.
  void Drain() {
    const TimePoint deadline = SteadyClock::now() + kDrain;
    while (open_.size() > retries_.size() && SteadyClock::now() < deadline) {
      for (Message& message : mailbox_->Receive(deadline)) Handle(message);
    }
  }

  FleetDevice& device_;
  const Environment& environment_;
  const RunOptions& options_;
  const std::atomic<bool>& stop_;
  const ProgressFunction& progress_;
  const ShownFunction& shown_;
  const std::shared_ptr<Mailbox<Message>>
      mailbox_;  // outlives this object in the device's callbacks
  RunResult result_;
  std::uint64_t next_ = 0;  // first decision not started
  std::unordered_map<std::uint64_t, Open> open_;
  using Retry = std::pair<TimePoint, std::uint64_t>;
  std::priority_queue<Retry, std::vector<Retry>, std::greater<>> retries_;
  TimePoint started_;
  TimePoint last_answer_;
  TimePoint last_tick_;
  TimePoint next_arrival_;
};

}  // namespace

RunResult Run(FleetDevice& device, const Environment& environment, const RunOptions& options,
              const std::atomic<bool>& stop, const ProgressFunction& progress,
              const ShownFunction& shown) {
  BANDANA_CHECK(options.rounds >= 1);
  BANDANA_CHECK(options.in_flight >= 1);
  return Driver(device, environment, options, stop, progress, shown).Run();
}

}  // namespace bandana
