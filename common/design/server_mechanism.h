// The server's side of a model's mechanism: what its configuration says beyond the policy, what
// stored state depends on, and words for people. Made once, beside PublicSpec::made.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/bandits/sparse/fliphat.h"
#include "common/design/model_spec.h"
#include "common/mechanisms/counters/counter_design.h"
#include "common/mechanisms/joint/joint_counter.h"
#include "common/promise/field_checks.h"
#include "common/promise/mechanism.h"

namespace bandana {

// One counter over all users: an event of user u enters it as (Q^1/2)_(:,u) (x) x (r - centre),
// docs/design/mechanisms.md#noise-shaped-across-users.
struct ShapedCounter {
  CounterDesign design;  // of nodes x d coordinates
  double centre = 0;     // RewardRange::middle
  // Q^1/2 of a component, n x n row-major, symmetric, columns of norm <= 1. Errors:
  // INVALID_ARGUMENT as ShapeNoise.
  absl::StatusOr<std::vector<double>> (*root)(const CouplingComponent& component) = nullptr;
};

// Immutable. Threads: const methods are safe.
class ServerMechanism {
 public:
  // Name and value of each field.
  using Fields = std::vector<std::pair<std::string, std::string>>;

  virtual ~ServerMechanism() = default;

  // The part of a mechanism that only the server has; the others are null, and all of them where
  // Mechanism has the part.
  virtual const ShapedCounter* shaped() const { return nullptr; }
  virtual const JointCounter* joint() const { return nullptr; }
  virtual const Fliphat* sparse() const { return nullptr; }

  // Each method below requires the spec that this was made from.
  //
  // Reports what a server's configuration must not say, once the mechanism is made from it.
  virtual void Check(const ModelSpec&, const FieldChecks&) const {}
  // Fields that stored state depends on beyond the policy, for the model's identity.
  virtual Fields IdentityFields(const ModelSpec&) const { return {}; }
  // One line for people: what it does and how much noise that is.
  virtual std::string Describe(const ModelSpec& spec) const = 0;
  // Lines that a server says of it at its start.
  virtual Fields Summary(const ModelSpec& spec) const;
  // Why the promise is not for real users, or "".
  virtual std::string Warning(const PublicSpec& spec) const;
};
using MadeServerMechanism = absl::StatusOr<std::shared_ptr<const ServerMechanism>>;

// Makes both sides of the mechanism of a policy, from the configuration: fills public_spec.made and
// mechanism. Errors: INVALID_ARGUMENT; nothing changed.
absl::Status MakeMechanisms(ModelSpec& spec);

}  // namespace bandana
