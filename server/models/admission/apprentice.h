// How a model would have done beside the caller's own choices.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "absl/time/time.h"
#include "bandana/v1/admin.pb.h"
#include "common/design/model_spec.h"

namespace bandana::server {

// Decisions with a baseline since the start: how often the model would have chosen the same arm,
// and in models without privacy what those brought. Nothing is counted where contexts are private:
// an agreement is a function of the decision set. Threads: safe.
class Apprentice {
 public:
  // Reports of decisions from before `start` are left out.
  Apprentice(const ModelSpec& spec, absl::Time start);

  void Decided(bool agreed);
  // A report of such a decision, the first, that is in the log. Used of models without privacy.
  void Reported(bool agreed, absl::Time decided, double reward);
  // Nothing before the first decision.
  std::optional<v1::ApprenticeStats> Stats() const;

 private:
  struct Tally {
    std::uint64_t decisions = 0;
    std::uint64_t reports = 0;
    double sum = 0;  // of rewards, less the default of each
    std::optional<double> Mean(std::optional<double> otherwise) const;
  };
  const bool counts_;
  const bool rewards_;
  // With a reward window here: what a decision without a report has.
  const std::optional<double> default_;
  const absl::Time start_;
  mutable std::mutex mutex_;
  Tally all_;
  Tally agreements_;
};

}  // namespace bandana::server
