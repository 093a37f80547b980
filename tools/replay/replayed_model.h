// A model of a configuration that learns from the decisions of a log, by the state machine that
// serves.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/decisions/logged_decision.h"
#include "common/design/model_spec.h"
#include "common/model/core.h"
#include "common/model/paths/outcome_reader.h"
#include "common/random/keyed_stream.h"
#include "common/ranking/scoring.h"
#include "tools/replay/offered_arms.h"
#include "tools/replay/posterior_law.h"

namespace bandana {

struct ReplayOptions {
  std::string file;               // textproto of ModelConfig; files that it names are read
  std::optional<double> epsilon;  // its rewards are randomized with this epsilon before it learns
  std::uint64_t seed = 1;         // of that noise, and of draws of the posterior
  double unreported = 0;          // the reward of decisions that no report came for
};

// Linear models for all users or per user, and models of effects, in the modes NON_PRIVATE and
// LOCAL_REWARD with the reward randomizer. A decision is learnt from at once; reward windows, and
// users' groups, which a log does not have, are left out. Arms have the features of the line, else
// those of the configuration's arms_file. Repeatable, so its noise keeps nothing secret: for logs
// whose rewards whoever runs it has. Not thread-safe.
class ReplayedModel {
 public:
  // Errors: INVALID_ARGUMENT the configuration's mistakes, or one that is none of the above;
  // NOT_FOUND, UNAVAILABLE its files.
  static absl::StatusOr<std::unique_ptr<ReplayedModel>> Create(const ReplayOptions& options);

  // The law of the slot's arms among those that are not `taken` (by position; empty: none is).
  // Errors: FAILED_PRECONDITION the line has not what the model needs; UNAVAILABLE no noise.
  absl::Status Law(const LoggedDecision& decision, const LoggedSlot& slot,
                   const std::vector<std::uint8_t>& taken, std::vector<double>& law);
  // The expected reward of each of the slot's arms. Errors: as Law.
  absl::Status Means(const LoggedDecision& decision, const LoggedSlot& slot,
                     std::vector<double>& means);
  // Learns from the chosen arms' rewards. Errors: FAILED_PRECONDITION released rewards that the
  // configuration's mechanism does not give; as Law.
  absl::Status Learn(const LoggedDecision& decision);

  // As Learn, and the sum over slots of log N(y; m, v): the log density of the rewards, as the
  // model learns them, under what it predicted of each before. docs/design/judging.md#tuning.
  absl::StatusOr<double> LearnWithEvidence(const LoggedDecision& decision);

  const ModelSpec& spec() const { return core_->spec(); }

 private:
  ReplayedModel(std::unique_ptr<ModelCore> core, const ReplayOptions& options, KeyedStream noise);
  absl::Status ReadCatalogue(const std::string& path);
  // -1: a user never seen.
  absl::StatusOr<int> NodeOf(const std::string& user) const;
  absl::Status LearnSlot(const LoggedDecision& decision, const LoggedSlot& slot,
                         double* log_density);
  // Scores `arms` for the decision's user into scores_.
  absl::Status Score(const LoggedDecision& decision, const ArmsOnOffer& arms);
  // log N(y; m, v) of the chosen arm's reward as it is read, times its scale.
  absl::StatusOr<double> LogDensity(const LoggedDecision& decision, const LoggedSlot& slot,
                                    const Family::Weighed& event);
  std::vector<EffectKey> KeysOfUser(const std::string& user) const;
  absl::StatusOr<ReportedReward> ReportOf(const LoggedSlot& slot);
  // The randomizer's output whose value is `released`.
  absl::StatusOr<std::uint32_t> OutputOf(double released);

  const std::unique_ptr<ModelCore> core_;
  const ReplayOptions options_;
  KeyedStream noise_;
  const std::unique_ptr<const OutcomeReader> reader_;
  OfferedArms arms_;
  PosteriorLaw law_;
  std::vector<double> output_values_;  // by output; empty: not asked for yet
  std::uint64_t number_ = 0;           // of events
  // Buffers.
  NodePosterior scratch_;
  ArmScores scores_;
};

}  // namespace bandana
