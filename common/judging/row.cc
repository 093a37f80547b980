#include "common/judging/row.h"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>

#include "absl/strings/str_format.h"
#include "common/base/status.h"

namespace bandana {
namespace {

// Large-sample intervals cover where so many terms carry the variance:
// docs/design/judging.md#large-sample-intervals.
constexpr double kTermsMin = 20;
constexpr double kTermsSeenMin = 100;
constexpr double kHeavyShare = 0.5;

double NormalQuantile(double alpha) {
  using boost::math::policies::domain_error;
  using boost::math::policies::ignore_error;
  using boost::math::policies::overflow_error;
  return std::sqrt(2) * boost::math::erfc_inv(
                            alpha, boost::math::policies::policy<domain_error<ignore_error>,
                                                                 overflow_error<ignore_error>>());
}

void AddNote(std::string_view text, JudgementRow& row) {
  absl::StrAppend(&row.note, row.note.empty() ? "" : "; ", ToAbsl(text));
}

double ValueOf(Estimator estimator, const PairSums& sums) {
  switch (estimator) {
    case Estimator::kIps:
      return sums.ips().mean();
    case Estimator::kSnips:
      return sums.snips();
    case Estimator::kDm:
      return sums.dm();
    case Estimator::kDr:
      return sums.dr().mean();
  }
  return 0;
}

double DeviationOf(Estimator estimator, const PairSums& sums) {
  switch (estimator) {
    case Estimator::kIps:
      return sums.ips().deviation();
    case Estimator::kSnips:
      return sums.snips_deviation();
    case Estimator::kDm:
      return std::nan("");
    case Estimator::kDr:
      return sums.dr().deviation();
  }
  return 0;
}

std::optional<double> Finite(double value) {
  return std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
}

// The anytime ends in reward units, with what arms of propensity 0 may add, cut to the rewards that
// there can be.
void SetEnds(const Judge& judge, const PairJudgement& judgement, bool predictions, bool difference,
             JudgementRow& row) {
  const PairSums& sums = judgement.tail;
  const RewardScale& scale = judge.options().scale;
  const RewardRange& range = judge.options().range;
  const PairJudgement::Sides& sides = predictions ? judgement.dr : judgement.ips;
  const auto value = [&](double mean01) {
    return scale.width() * mean01 + scale.low * sums.covered();
  };
  double low = value(sides.lower.Lower(judge.log_threshold())) + sums.gained() * range.min -
               sums.lost() * range.max;
  double high = value(-sides.upper.Lower(judge.log_threshold())) + sums.gained() * range.max -
                sums.lost() * range.min;
  const double least = difference ? -range.width() * sums.slots() : range.min * sums.slots();
  const double most = difference ? range.width() * sums.slots() : range.max * sums.slots();
  // The weights of later slots make the uncovered mass of a list unknown.
  if (sums.lists() && sums.uncovered() > 0) low = least, high = most;
  row.low = std::clamp(low, least, most);
  row.high = std::clamp(high, least, most);
}

void SetLargeSample(const PairSums& sums, const RowOptions& options, JudgementRow& row) {
  const double terms_min = sums.seen() ? kTermsSeenMin : kTermsMin;
  if (!(sums.careful_terms() >= terms_min)) {
    AddNote(absl::StrFormat("no large-sample interval: %.3g terms carry the variance, %.0f needed",
                            sums.careful_terms(), terms_min),
            row);
    return;
  }
  const double deviation = DeviationOf(options.estimator, sums);
  if (!row.value || !std::isfinite(deviation)) return;
  const double half =
      NormalQuantile(options.alpha) * deviation / std::sqrt(static_cast<double>(sums.decisions()));
  row.low = *row.value - half;
  row.high = *row.value + half;
}

void AddNotes(const Judge& judge, const PairJudgement& judgement, const PairSums& sums,
              const RowOptions& options, JudgementRow& row) {
  const bool predicts = options.estimator == Estimator::kDr || options.estimator == Estimator::kDm;
  if (judgement.undefined > 0) {
    AddNote(absl::StrFormat("%d decisions are left out, in which the policy chooses nothing or "
                            "more arms were on offer than the log keeps",
                            judgement.undefined),
            row);
  }
  if (predicts && sums.seen()) {
    AddNote("lines with the chosen arm's propensity alone, or whole lists, use no predictions",
            row);
  } else if (predicts && judge.own_predictions()) {
    AddNote("the log has no predictions: each arm's mean over earlier decisions", row);
  }
  if (options.estimator == Estimator::kDm) {
    AddNote("as biased as the predictions: no interval", row);
  } else if (options.estimator == Estimator::kSnips && options.interval == IntervalKind::kAnytime) {
    AddNote("no interval of snips holds at every length: ask for dr or ips", row);
  }
  if (sums.heaviest_share() > kHeavyShare) {
    AddNote(absl::StrFormat("decision %s is %.0f %% of the estimate", sums.heaviest(),
                            100 * sums.heaviest_share()),
            row);
  }
}

}  // namespace

std::string_view EstimatorName(Estimator estimator) {
  constexpr std::string_view kNames[] = {"ips", "snips", "dm", "dr"};
  return kNames[static_cast<std::size_t>(estimator)];
}

JudgementRow MakeRow(const Judge& judge, std::size_t pair, const RowOptions& options) {
  const JudgedPair& judged = judge.pairs()[pair];
  const PairJudgement& judgement = judge.judgement(pair);
  const bool anytime = options.interval == IntervalKind::kAnytime;
  const bool difference = judged.against >= 0;
  JudgementRow row;
  row.policy = judge.policy(judged.policy).name();
  if (difference) row.against = judge.policy(static_cast<std::size_t>(judged.against)).name();
  row.estimator = options.estimator;
  row.confidence = options.confidence;
  row.interval = anytime ? "anytime" : "large_sample";
  for (const std::int64_t at : {static_cast<std::int64_t>(judged.policy), judged.against}) {
    if (at < 0 || judge.failure(static_cast<std::size_t>(at)).ok()) continue;
    AddNote(ToStd(judge.failure(static_cast<std::size_t>(at)).message()), row);
    return row;
  }
  const bool bounds = judgement.all.decisions() > 0 && judgement.all.uncovered() > 0;
  if (bounds) row.interval = "bounds";
  // The bounds are anytime ones, so they leave out what chose k and r.
  const PairSums& sums = anytime || bounds ? judgement.tail : judgement.all;
  row.decisions = sums.decisions();
  AddNotes(judge, judgement, sums, options, row);
  for (const std::int64_t at : {static_cast<std::int64_t>(judged.policy), judged.against}) {
    const std::string note = at < 0 ? "" : judge.policy(static_cast<std::size_t>(at)).Note();
    if (!note.empty()) AddNote(note, row);
  }
  if (row.decisions == 0) {
    AddNote(absl::StrFormat("too few decisions: the first %d choose the interval's form and are "
                            "left out",
                            DesignDecisions(judge.options().used)),
            row);
    return row;
  }
  row.effective_decisions = sums.effective_decisions();
  row.terms = sums.terms();
  row.weight_mean = sums.weight_mean();
  row.weight_max = sums.weight_max();
  row.uncovered = sums.uncovered();
  const bool interval = options.estimator == Estimator::kIps || options.estimator == Estimator::kDr;
  const bool predictions = options.estimator != Estimator::kIps;
  if (bounds) {
    AddNote("the policy chooses arms that could not be drawn: bounds, no estimate", row);
    SetEnds(judge, judgement, predictions, difference, row);
    return row;
  }
  row.value = Finite(ValueOf(options.estimator, sums));
  if (anytime && interval) SetEnds(judge, judgement, predictions, difference, row);
  if (!anytime && options.estimator != Estimator::kDm) SetLargeSample(sums, options, row);
  const bool asked = anytime ? interval : options.estimator != Estimator::kDm;
  row.judged = row.value.has_value() && (row.low.has_value() || !asked);
  return row;
}

}  // namespace bandana
