// A model's identity, which never changes: its instance, and the configuration that its stored
// state depends on.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/sha256.h"
#include "common/design/instance_id.h"
#include "common/design/model_spec.h"

namespace bandana {

struct Identity {
  InstanceId instance{};  // random; tokens of other instances are refused
  // Name and value, in a fixed order: dimension, coupling, nodes, mode, mechanism, epsilon, delta,
  // reward range, event rule, the schema of named features where there is one, what noise is
  // calibrated by; of a joint counter the feature bound, which its increments are in units of; of
  // central models `noise`, the version of its addresses.
  std::vector<std::pair<std::string, std::string>> fixed;
  // These may change. A new window closes those that are open, by a new epoch; a new graph replaces
  // the one in force.
  std::string reward_window;
  std::string graph;  // hexadecimal digest of the configuration's graph
  // Central models: hexadecimal digest of the noise key; "" for others.
  std::string noise_key;
};

Identity IdentityOf(const ModelSpec& spec, const InstanceId& instance);

// Errors: INVALID_ARGUMENT naming every field that differs, stored and configured value.
absl::Status CheckSameModel(const Identity& stored, const Identity& configured);

// Fills in what the configuration leaves open as the stored model was made with it: a default that
// is another one by now makes no other model of it.
void KeepMade(const Identity& stored, ModelSpec& spec);

// SHA-256 over the fixed fields.
Sha256Digest FixedDigest(const Identity& identity);

// Before identities named `noise`, addresses of noise did not name the data, and identities of
// joint counters not their feature bound. Such an identity is called former here.
//
// The stored identity is a former one of the mode of the configured one.
bool IsFormer(const Identity& stored, const Identity& configured);
// A former identity with the fields that it lacks. Errors: FAILED_PRECONDITION a joint counter: the
// bound that its sums are in units of is not known.
absl::StatusOr<Identity> Renew(const Identity& former, const Identity& configured);
// FixedDigest of the former identity of the same model; without `noise` FixedDigest.
Sha256Digest FormerFixedDigest(const Identity& identity);

// Text of the file `identity`: docs/formats/model_folder.md. Versions that do not know `noise`
// refuse one that names it.
std::string FormatIdentity(const Identity& identity);
// Errors: DATA_LOSS.
absl::StatusOr<Identity> ParseIdentity(std::string_view text);

}  // namespace bandana
