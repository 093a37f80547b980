// The families of models: what a decision of each chooses, and what an event of it is in the log.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "common/design/model_spec.h"

namespace bandana {

// One object per family. Immutable. Threads: safe.
class Family {
 public:
  // What Select does.
  enum class Choice {
    kRank,   // ranks arms by their scores
    kDraw,   // draws one of the arms on offer
    kPoint,  // plays a point of the domain
  };

  virtual ~Family() = default;
  virtual std::string_view name() const = 0;
  virtual Choice choice() const { return Choice::kRank; }

  // Whether this server can have sealed a token of so many arms, the first of which was chosen with
  // this probability and has these features.
  virtual bool FitsToken(std::size_t arms, double probability,
                         std::span<const double> features) const;
  // The reward as the event has it.
  virtual double EventReward(const ModelSpec& spec, double reward, double probability) const;

  // Arms without a file are the unit vectors.
  virtual bool has_unit_arms() const { return false; }
  // Errors: INVALID_ARGUMENT the features are none of an arm, FAILED_PRECONDITION there is no
  // catalogue.
  virtual absl::Status CheckArm(std::span<const double> features) const;
  virtual absl::Status CheckCatalogue(const ModelSpec& spec) const;
  // Errors: FAILED_PRECONDITION devices cannot rank arms by the posterior.
  virtual absl::Status CheckRankedByDevices(const ModelSpec& spec) const;
};

const Family& FamilyOf(const ModelSpec& spec);

}  // namespace bandana
