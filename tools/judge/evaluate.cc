#include "tools/judge/evaluate.h"

#include <algorithm>
#include <utility>

#include "common/base/status.h"
#include "common/decisions/check_decision.h"
#include "common/judging/survey.h"
#include "tools/judge/log_files.h"
#include "tools/judge/policy_names.h"

namespace bandana {
namespace {

constexpr int kNotesMax = 10;

// Tells of the first lines that are left out, and of how many there are.
class Notes {
 public:
  explicit Notes(const EvaluateNote& note) : note_(note) {}
  void Add(const std::string& message) {
    if (++count_ <= kNotesMax) note_(absl::StrCat(message, " (left out)"));
    if (count_ == kNotesMax) note_("further lines that are left out are counted alone");
  }

 private:
  const EvaluateNote& note_;
  int count_ = 0;
};

// Hands each decision to `use`, and each fault to `skip`.
template <typename Use, typename Skip>
absl::Status ForEach(LogFiles& source, const Use& use, const Skip& skip) {
  BANDANA_RETURN_IF_ERROR(source.Start());
  LoggedDecision decision;
  DecisionFault fault;
  for (;;) {
    BANDANA_ASSIGN_OR_RETURN(const DecisionStream::Next next, source.Read(decision, fault));
    if (next == DecisionStream::Next::kEnd) return absl::OkStatus();
    if (next == DecisionStream::Next::kFault) {
      skip(fault);
    } else {
      use(decision);
    }
  }
}

struct Policies {
  std::vector<std::unique_ptr<JudgedPolicy>> made;
  std::vector<JudgedPair> pairs;
};

// In the order of the flags; a configuration first as it is, then with each epsilon.
absl::StatusOr<Policies> MakePolicies(const EvaluateOptions& options) {
  Policies policies;
  PolicyOptions made{.seed = options.seed, .unreported = options.unreported.value_or(0)};
  const auto add = [&](const std::string& name, std::optional<double> epsilon) -> absl::Status {
    made.epsilon = epsilon;
    BANDANA_ASSIGN_OR_RETURN(policies.made.emplace_back(), MakePolicy(name, made));
    return absl::OkStatus();
  };
  for (const std::string& name : options.policies) {
    policies.pairs.push_back({policies.made.size()});
    BANDANA_RETURN_IF_ERROR(add(name, std::nullopt));
    if (!IsConfigPolicy(name)) continue;
    for (const double epsilon : options.epsilons) {
      policies.pairs.push_back({policies.made.size()});
      BANDANA_RETURN_IF_ERROR(add(name, epsilon));
    }
  }
  if (options.against.empty()) return policies;
  for (JudgedPair& pair : policies.pairs) {
    pair.against = static_cast<std::int64_t>(policies.made.size());
  }
  BANDANA_RETURN_IF_ERROR(add(options.against, std::nullopt));
  return policies;
}

// The decisions that are used, and lines by what becomes of them.
struct Counts {
  std::uint64_t decisions = 0, lines = 0;
  std::map<std::string, std::uint64_t> skipped;
  void Add(const LoggedDecision& decision, std::string_view reason) {
    if (!reason.empty()) {
      skipped[std::string(reason)] += decision.slots.size();
      return;
    }
    ++decisions;
    lines += decision.slots.size();
  }
};

// Sees what the log is, and how many decisions count: one round, two where decisions are left out
// for others' sake.
absl::StatusOr<Counts> LookAtLog(const EvaluateOptions& options, LogFiles& source, Survey& survey,
                                 const EvaluateNote& note, Evaluation& out) {
  Notes notes(note);
  Counts counts;
  BANDANA_RETURN_IF_ERROR(ForEach(
      source,
      [&](const LoggedDecision& decision) {
        const std::string_view reason = survey.Look(decision, source.Where());
        if (reason == skip_reason::kPropensity || reason == skip_reason::kReward) {
          notes.Add(absl::StrCat(source.Where(), ": ", CheckDecision(decision)->message));
        }
        counts.Add(decision, reason);
        out.lines += decision.slots.size();
      },
      [&](const DecisionFault& fault) {
        out.lines += fault.lines;
        out.skipped[std::string(fault.reason)] += fault.lines;
        notes.Add(fault.message);
      }));
  out.from = survey.from();
  out.to = survey.to();
  out.error = std::string(survey.EndLook().message());
  if (!out.error.empty()) return counts;
  out.reward = survey.reward();
  if (!options.epsilons.empty() && out.reward != "raw") {
    out.error = "--epsilon: the rewards are released already, and are never randomized again";
    return counts;
  }
  out.epsilon = survey.epsilon();
  if (survey.must_count()) {
    counts = {};
    BANDANA_RETURN_IF_ERROR(ForEach(
        source,
        [&](const LoggedDecision& decision) { counts.Add(decision, survey.Reason(decision)); },
        [](const DecisionFault&) {}));
  }
  out.used = counts.lines;
  for (const auto& [reason, lines] : counts.skipped) out.skipped[reason] += lines;
  return counts;
}

void MakeRows(const EvaluateOptions& options, const Judge& judge, Evaluation& out) {
  RowOptions row;
  row.interval = options.interval;
  row.confidence = options.confidence;
  row.alpha = judge.options().alpha;
  std::vector<Estimator> estimators = options.estimators;
  if (estimators.empty()) estimators = {Estimator::kDr};
  for (std::size_t pair = 0; pair < judge.pairs().size(); ++pair) {
    for (const Estimator estimator : estimators) {
      row.estimator = estimator;
      out.rows.push_back(MakeRow(judge, pair, row));
    }
  }
}

}  // namespace

bool Evaluation::judged() const {
  return error.empty() &&
         std::all_of(rows.begin(), rows.end(), [](const JudgementRow& row) { return row.judged; });
}

absl::StatusOr<Evaluation> Evaluate(const EvaluateOptions& options, const EvaluateNote& note) {
  BANDANA_ASSIGN_OR_RETURN(Policies policies, MakePolicies(options));
  LogFiles source(options.logs);
  Survey survey({.unreported = options.unreported, .clipped = options.clipped});
  Evaluation out;
  BANDANA_ASSIGN_OR_RETURN(const Counts counts, LookAtLog(options, source, survey, note, out));
  if (!out.error.empty()) return out;
  if (counts.decisions == 0) {
    out.error = "the log has no decision that counts";
    return out;
  }
  JudgeOptions judging;
  judging.scale = survey.scale();
  judging.range = survey.range();
  judging.unreported = options.unreported.value_or(0);
  judging.used = counts.decisions;
  judging.lists = options.lists;
  judging.alpha =
      (1 - options.confidence) / (options.each ? 1 : static_cast<double>(policies.pairs.size()));
  Judge judge(judging, std::move(policies.made), policies.pairs);
  survey.StartAgain();
  BANDANA_RETURN_IF_ERROR(ForEach(
      source,
      [&](const LoggedDecision& decision) {
        if (survey.Reason(decision).empty()) judge.Add(decision);
      },
      [](const DecisionFault&) {}));
  judge.Finish();
  if (judge.propensities().verdict() == PropensityTest::Verdict::kWrong) {
    out.error = judge.propensities().Explain();
    return out;
  }
  const bool tested = judge.propensities().verdict() == PropensityTest::Verdict::kRight;
  out.propensities = tested ? "right" : "not tested";
  MakeRows(options, judge, out);
  return out;
}

}  // namespace bandana
