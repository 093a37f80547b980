#include "common/judging/lift_monitor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "common/base/status.h"
#include "common/decisions/check_decision.h"
#include "common/judging/lift_forecast.h"
#include "common/judging/row.h"
#include "common/judging/simple_policies.h"

namespace bandana {
namespace {

constexpr std::array<std::string_view, 3> kAgainst = {"", "uniform", "first"};
constexpr std::size_t kAgainstUniform = 1;  // of the pairs
constexpr std::size_t kWaitingCost = 256;   // bytes beside an encoded decision

RewardScale ScaleOf(const SegmentHeader& facts) {
  return facts.epsilon > 0 ? RewardScale{facts.low, facts.high}
                           : RewardScale{facts.range.min, facts.range.max};
}

// The policies are logging, uniform and first; all intervals share the error.
Judge MakeJudge(const SegmentHeader& facts, double unreported) {
  std::vector<std::unique_ptr<JudgedPolicy>> policies;
  policies.push_back(MakeLoggingPolicy());
  policies.push_back(MakeUniformPolicy());
  policies.push_back(MakeFirstPolicy());
  return {{.scale = ScaleOf(facts),
           .range = facts.range,
           .unreported = unreported,
           .used = LiftMonitor::kPlanned,
           .alpha = (1 - LiftMonitor::kConfidence) / kAgainst.size()},
          std::move(policies),
          {{0, -1}, {0, 1}, {0, 2}}};
}

// Keeps all that judging needs: no contexts, features or names. Arms without an id are their
// positions.
void Slim(const StoredDecision& decision, StoredDecision& out) {
  out.time = decision.time;
  out.epoch = decision.epoch;
  out.version = decision.version;
  out.offered = decision.offered;
  out.first_rank = decision.first_rank;
  out.shown = decision.shown;
  out.ids = decision.ids;
  if (out.ids.empty()) {
    out.ids.resize(decision.arms());
    std::iota(out.ids.begin(), out.ids.end(), 0U);
  }
  out.q = decision.q;
  out.slots = decision.slots;
  out.ranks = decision.ranks;
}

// Whether that is all it has.
bool IsSlim(const StoredDecision& decision) {
  return !decision.ids.empty() && decision.names.empty() && decision.features.empty() &&
         decision.context.empty();
}

bool HasChoice(const LoggedDecision& decision) {
  return std::ranges::any_of(decision.slots,
                             [](const LoggedSlot& slot) { return slot.offered > 1; });
}

}  // namespace

std::size_t LiftMonitor::HashOfId::operator()(const StoredId& id) const {
  std::size_t hash = 0;  // ids are random
  std::memcpy(&hash, id.data(), sizeof hash);
  return hash;
}

double LiftMonitor::LogThreshold() { return std::log(2 * kAgainst.size() / (1 - kConfidence)); }

LiftMonitor::LiftMonitor(const SegmentHeader& facts, double unreported)
    : facts_(facts), judge_(MakeJudge(facts, unreported)) {}

LiftMonitor::Waiting LiftMonitor::Prepare(const StoredDecision& decision,
                                          std::string_view encoded) {
  Waiting waiting{.time = decision.time};
  // Who activates a decision has seen its arm, so its law is not the log's.
  if (decision.baseline || decision.deferred) return waiting;
  if (!encoded.empty() && IsSlim(decision)) {
    waiting.decision = encoded;
  } else {
    thread_local StoredDecision slim;
    Slim(decision, slim);
    EncodeDecision(slim, waiting.decision);
  }
  for (const StoredSlot& slot : decision.slots) waiting.slots.push_back(slot.id);
  waiting.outcomes.resize(waiting.slots.size());
  return waiting;
}

void LiftMonitor::Add(Waiting waiting) {
  if (waiting.decision.empty() || bytes_ >= kWaitingBytesMax) {
    ++left_out_;
    return;
  }
  for (std::size_t slot = 0; slot < waiting.slots.size(); ++slot) {
    places_[waiting.slots[slot]] = {gone_ + waiting_.size(), slot};
  }
  bytes_ += waiting.decision.size() + kWaitingCost;
  waiting_.push_back(std::move(waiting));
}

void LiftMonitor::Rewarded(std::span<const RewardRow> rows) {
  for (const RewardRow& row : rows) {
    const auto found = places_.find(row.decision);
    if (found == places_.end()) continue;
    Waiting& waiting = waiting_[found->second.number - gone_];
    DecisionOutcome& outcome = waiting.outcomes[found->second.slot];
    const bool had = outcome.value.has_value();
    outcome.Add(row);
    if (!had && outcome.value) ++waiting.known;
  }
}

void LiftMonitor::Close(absl::Time now) {
  while (!waiting_.empty()) {
    const Waiting& first = waiting_.front();
    const bool over = now >= first.time + facts_.reported_within;
    if (first.known < first.slots.size() && !over) return;
    Take(first, now);
    TakeOut(first);
  }
}

void LiftMonitor::TakeOut(const Waiting& first) {
  for (const StoredId& id : first.slots) places_.erase(id);
  bytes_ -= first.decision.size() + kWaitingCost;
  waiting_.pop_front();
  ++gone_;
}

void LiftMonitor::Take(const Waiting& waiting, absl::Time now) {
  if (!problem_.empty()) return;
  const auto find = [&](const StoredId& id) -> const DecisionOutcome* {
    const auto slot = std::ranges::find(waiting.slots, id) - waiting.slots.begin();
    const DecisionOutcome& outcome = waiting.outcomes[static_cast<std::size_t>(slot)];
    return outcome.value || outcome.active ? &outcome : nullptr;
  };
  const bool read = DecodeDecision(waiting.decision, stored_).ok() &&
                    Join(facts_, stored_, find, now, logged_) && !CheckDecision(logged_);
  if (!read || !HasChoice(logged_)) {
    ++left_out_;
    return;
  }
  if (logged_.named_rank > 0) {
    problem_ =
        "a report named another rank than the first, whose law is not known: ask for slots where "
        "several arms are shown";
    return;
  }
  judge_.Add(logged_);
  ++taken_;
  if (judge_.propensities().verdict() == PropensityTest::Verdict::kWrong) {
    problem_ = absl::StrCat("arms were not drawn by their propensities: ",
                            judge_.propensities().Explain());
    return;
  }
  if (taken_ > kFirst && (taken_ - kFirst) % point_every_ == 0) AddPoint(logged_.time);
}

void LiftMonitor::AddPoint(absl::Time time) {
  if (points_.size() == kPointsMax) {
    // Every second one stays: those at multiples of twice the distance.
    std::size_t kept = 0;
    for (std::size_t i = 1; i < points_.size(); i += 2) points_[kept++] = std::move(points_[i]);
    points_.resize(kept);
    point_every_ *= 2;
  }
  const std::uint64_t judged = taken_ - kFirst;
  if (judged % point_every_ == 0) points_.push_back({judged, time, Values()});
}

std::vector<LiftValue> LiftMonitor::Values() const {
  std::vector<LiftValue> values;
  for (std::size_t pair = 0; pair < kAgainst.size(); ++pair) {
    const JudgementRow row = MakeRow(judge_, pair,
                                     {.estimator = Estimator::kDr,
                                      .interval = IntervalKind::kAnytime,
                                      .confidence = kConfidence,
                                      .alpha = judge_.options().alpha});
    values.push_back({kAgainst[pair], row.value, row.low, row.high});
  }
  return values;
}

// The decisions until the interval of the difference to uniform is as narrow as the lift sought on
// either side.
std::optional<std::uint64_t> LiftMonitor::Needed() const {
  const PairJudgement& lift = judge_.judgement(kAgainstUniform);
  const double policy = judge_.judgement(0).tail.dr().mean();
  const double uniform = policy - lift.tail.dr().mean();
  const double sought = kLiftSought * (uniform - facts_.range.min) / judge_.options().scale.width();
  if (lift.tail.decisions() == 0 || lift.tail.uncovered() > 0 || !(sought > 0)) {
    return std::nullopt;
  }
  const double threshold = judge_.log_threshold();
  const auto narrow = [&](double terms) {
    return std::max(lift.dr.lower.HalfWidth(terms, threshold),
                    lift.dr.upper.HalfWidth(terms, threshold)) <= sought;
  };
  const auto now = static_cast<double>(lift.dr.lower.terms());
  const std::optional<double> least = LeastDecisions(now, narrow);
  if (!least) return std::nullopt;
  return static_cast<std::uint64_t>(std::ceil(*least - now));
}

LiftReport LiftMonitor::Report() const {
  LiftReport report{.judged = taken_ > kFirst ? taken_ - kFirst : 0,
                    .first = std::min(taken_, kFirst),
                    .waiting = waiting_.size(),
                    .left_out = left_out_,
                    .problem = problem_};
  if (!problem_.empty()) return report;
  report.values = Values();
  report.needed = Needed();
  report.points = points_;
  return report;
}

}  // namespace bandana
