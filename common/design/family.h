// The families of models: what a configuration of each may say, what a decision of it chooses, and
// what an event of it is in the log.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/base/limits.h"
#include "common/design/model_spec.h"
#include "common/promise/field_checks.h"
#include "common/promise/reward_reports.h"

namespace bandana {

// One object per family. Immutable. Threads: safe.
class Family {
 public:
  // The action that Select takes.
  enum class Choice {
    kRank,   // ranks arms by their scores
    kDraw,   // draws one of the arms on offer
    kPoint,  // plays a point of the domain
  };

  // The models that it may have; the modes are all of them where the list is empty.
  struct Scope {
    // "models of arms"; "" where mechanisms say for themselves which models they are not for.
    std::string_view plural;
    std::vector<Mode> modes;
    int dimension_max = kDimensionMax;
    // Why its models cannot forget (ModelConfig.half_life), said of `plural`; "": they can.
    std::string_view keeps;
    // Why its decisions are one arm or point by its own law, said of `plural`: no policy of the
    // configuration, no slots, no baseline. "": they are not.
    std::string_view own_choice;
  };

  // Values for a configuration that gives none.
  struct Defaults {
    double reward_stddev = 1;
    double alpha = 0.3;
  };

  virtual ~Family() = default;
  virtual std::string_view name() const = 0;
  virtual Choice choice() const { return Choice::kRank; }

  virtual Scope scope() const { return {}; }
  virtual Defaults defaults(const RewardRange&) const { return {}; }
  // Fills in what the configuration leaves open and the mechanism decides; again where that
  // changes.
  virtual void Complete(ModelSpec&) const {}
  // Fields of its models' identity beside those that all have: name and value.
  using IdentityFieldList = std::vector<std::pair<std::string, std::string>>;
  virtual IdentityFieldList IdentityFields(const ModelSpec&) const { return {}; }
  // Fills in what the configuration leaves open as the stored model, whose identity has these
  // fields, was made with it.
  virtual void KeepMade(const IdentityFieldList& /*stored*/, ModelSpec&) const {}
  // Whether its models may have a schema of named features.
  virtual bool has_named_features() const { return true; }
  // Reports what its configuration must not say beyond its scope; CheckMade once the mechanism is
  // made.
  virtual void Check(const ModelSpec&, const FieldChecks&) const {}
  virtual void CheckMade(const ModelSpec&, const FieldChecks&) const {}
  // A line for whoever configures such a model; "" for none.
  virtual std::string Note(const ModelSpec&) const { return ""; }
  // One line for people: what a decision has for features.
  virtual std::string Features(const ModelSpec& spec) const;

  // Whether this server can have sealed a token of so many arms, the first of which was chosen with
  // this probability and has these features.
  virtual bool FitsToken(std::size_t arms, double probability,
                         std::span<const double> features) const;
  // How an event is in the log of what a mechanism released.
  struct Weighed {
    double reward = 0;
    double scale = 1;     // of the features
    double variance = 0;  // of the reward's noise, where the log says it
  };
  virtual Weighed Weigh(const RewardEvent& event) const {
    return {.reward = event.scale * event.value, .scale = event.scale};
  }
  // How many key parts an event has.
  virtual std::size_t key_parts(const ModelSpec&) const { return 0; }
  // The reward as the event has it.
  virtual double EventReward(const ModelSpec& spec, double reward, double probability) const;

  // Whether EventReward is (reward - middle of the range) / probability; else it is the reward.
  virtual bool centres_shares(const ModelSpec&) const { return false; }

  // Arms without a file are the unit vectors.
  virtual bool has_unit_arms() const { return false; }
  // Errors: INVALID_ARGUMENT the features are none of an arm, FAILED_PRECONDITION there is no
  // catalogue.
  virtual absl::Status CheckArm(std::span<const double> features) const;
  virtual absl::Status CheckCatalogue(const ModelSpec& spec) const;
  // Errors: FAILED_PRECONDITION devices cannot rank arms by the posterior.
  virtual absl::Status CheckRankedByDevices(const ModelSpec& spec) const;
  // Errors: FAILED_PRECONDITION arms have nothing of their own that a device could be told.
  virtual absl::Status CheckArmEffects(const ModelSpec& spec) const;
};

// That of the configuration's coupling.
const Family& FamilyOf(const ModelSpec& spec);

}  // namespace bandana
