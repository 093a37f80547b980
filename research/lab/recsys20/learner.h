// The learner that chooses arms in an experiment: a model behind a privacy mechanism.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bandana/v1/config.pb.h"
#include "common/accounting/types.h"
#include "common/design/planner/planner.h"
#include "common/ranking/posterior.h"
#include "research/lab/recsys20/world.h"

namespace bandana::lab {

// One learner in one run. Not thread-safe.
class Learner {
 public:
  virtual ~Learner() = default;

  // The posterior by which the next arm of a node is chosen. Only released numbers are in it.
  virtual const NodePosterior& Posterior(int node) = 0;
  // The raw reward of showing the arm with features x; the mechanism is inside. Errors: UNAVAILABLE
  // no noise; FAILED_PRECONDITION the horizon of a counter is passed.
  virtual absl::Status Learn(int node, std::span<const double> x, double reward) = 0;
  // The mechanism in use, for the results: "hybrid randomizer", "blt counter".
  virtual std::string mechanism() const = 0;
};

// Who sees the rewards.
enum class Scope { kNonPrivate, kCentral, kLocal };

struct LearnerOptions;
inline std::optional<Epsilon> NoEpsilon(const LearnerOptions& options);
inline std::optional<Epsilon> OwnEpsilon(const LearnerOptions& options);

// Each scope's mode in a configuration and panel in pictures. One row each, in their order.
struct ScopeRow {
  v1::Mode mode = v1::NON_PRIVATE;
  // The epsilon of an event; nothing without privacy.
  std::optional<Epsilon> (*epsilon)(const LearnerOptions& options) = NoEpsilon;
  std::string_view panel;
};
inline constexpr ScopeRow kScopes[] = {
    {v1::NON_PRIVATE, NoEpsilon, ""},
    {v1::CENTRAL_REWARD, OwnEpsilon, "central privacy"},
    {v1::LOCAL_REWARD, OwnEpsilon, "local privacy"},
};
constexpr const ScopeRow& RowOf(Scope scope) { return kScopes[static_cast<int>(scope)]; }

struct LearnerOptions {
  Family family = Family::kColin;
  Scope scope = Scope::kNonPrivate;
  Epsilon epsilon;
  Delta delta;
  std::uint64_t horizon = 0;  // of the run, all users together
  std::uint64_t seed = 0;
  // Overrides of the world's tuning, factors; for tuning runs and ablations.
  double alpha_factor = 1;
  double prior_factor = 1;
  double clip_factor = 1;  // of the enforced reward range
};

inline std::optional<Epsilon> NoEpsilon(const LearnerOptions&) { return std::nullopt; }
inline std::optional<Epsilon> OwnEpsilon(const LearnerOptions& options) { return options.epsilon; }

}  // namespace bandana::lab
