// A model's promise: the public part of its configuration, which a device agrees to by its hash.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/accounting/types.h"
#include "common/base/sha256.h"
#include "common/mechanisms/reward_range.h"
#include "common/promise/kinds.h"
#include "common/ranking/link.h"

namespace bandana {

class FeatureSchema;
namespace wire {
struct Model;
}  // namespace wire
class Mechanism;
// The mechanism of models without privacy.
std::shared_ptr<const Mechanism> NoMechanism();

struct RewardWindowSpec {
  absl::Duration duration;
  double default_reward = 0;
  // Central modes: an event is applied so long after its window's close; else zero.
  absl::Duration grace;
};

// A continual counter's public parameters (docs/design/counters.md#continual-counters).
struct CounterSpec {
  CounterKind kind = CounterKind::kBlt;
  std::uint64_t horizon = 0;    // steps that the factorization is tuned for
  std::uint64_t steps_max = 0;  // hard cap of a stream; privacy is calibrated for it
  friend bool operator==(const CounterSpec&, const CounterSpec&) = default;
};

// Facts of a mechanism for contexts that device and server must agree on, beside the fields below;
// each derives them from these.
struct ContextSpec {
  int grid_bits = 0;          // a step of phi is 2^-grid_bits
  Sha256Digest parameters{};  // of the mechanism's own text
  friend bool operator==(const ContextSpec&, const ContextSpec&) = default;
};

// All that bears on privacy and on the device's duties; equal on server and client, bound by its
// hash.
struct PublicSpec {
  std::string name;
  int dimension = 0;
  double feature_l2_max = 1;
  bool reject_features = false;  // out of range: reject instead of clip
  RewardRange reward_range;
  bool reward_binary = false;
  Mode mode = Mode::kNonPrivate;
  MechanismId mechanism =
      MechanismId::kUnspecified;  // the one in force; unspecified when non-private
  Epsilon epsilon;
  Delta delta;
  std::optional<CounterSpec> counter;  // exactly with mechanism COUNTER
  std::optional<ContextSpec> context;  // exactly with mode LOCAL_CONTEXT
  Link link = Link::kLinear;           // another one only with mode LOCAL_CONTEXT
  std::string unit_of_privacy;         // "event" or ""
  std::string guarantee;               // "proven", "published" or ""
  std::uint64_t events_per_user_max = 0;
  bool research = false;
  bool one_per_decision = false;
  std::optional<RewardWindowSpec> reward_window;
  absl::Duration token_lifetime;
  // The meaning of a vector's entries; nullptr: raw vectors alone.
  std::shared_ptr<const FeatureSchema> features;

  // The mechanism in force, made from the fields above; on the server also from the rest of the
  // configuration. Never null. Whoever changes a field makes it again (MakeMechanism).
  std::shared_ptr<const Mechanism> made = NoMechanism();

  // On a device whose server sent the policy's text: the hash of that text. Whoever changes a field
  // clears it.
  std::optional<Sha256Digest> agreed_hash;

  // agreed_hash, else the SHA-256 of PolicyText of every field above `made` (docs/formats.md).
  Sha256Digest PolicyHash() const;
  // The default that missing rewards map to: the window's, else reward_min.
  double default_reward() const {
    return reward_window ? reward_window->default_reward : reward_range.min;
  }
};

// A model's policy, from its text where the server sends it, else from the fields of a server of
// before. Here alone it is decided which. Ranges and consistency are checked again. Errors:
// INVALID_ARGUMENT a line or a value; FAILED_PRECONDITION a text that is not its hash, fields that
// are not the text, a hash that is not the fields', another table than this device draws by.
absl::StatusOr<PublicSpec> ParsePublicSpec(const wire::Model& model);
// The message's bytes (GetModelResponse). Errors: also INVALID_ARGUMENT when they are none.
absl::StatusOr<PublicSpec> ParsePublicSpec(std::string_view message);

}  // namespace bandana
