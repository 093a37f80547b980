// A model's whole state at one log position, as one self-checking string. Layout: docs/formats.md.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/bandits/model.h"
#include "server/models/identity.h"
#include "server/models/model_state.h"

namespace bandana::server {

// Read access to a model's state while it is encoded.
struct CheckpointSource {
  InstanceId instance{};
  Sha256Digest fixed{};  // FixedDigest of the identity
  int dimension = 0;
  const ModelState* state = nullptr;
  int nodes = 0;
  std::function<const NodeStatistics&(int)> statistics;
  const UserIndex* users = nullptr;  // independent models: at least `nodes` names; else nullptr
  std::string counters;
};
std::string EncodeCheckpoint(const CheckpointSource& source);

struct Checkpoint {
  InstanceId instance{};
  Sha256Digest fixed{};
  int dimension = 0;
  ModelState state;
  std::vector<NodeStatistics> statistics;
  std::vector<std::string> users;  // by node; empty unless independent
  std::string counters;
};
// Errors: DATA_LOSS unknown version, truncated, or checksum mismatch.
absl::StatusOr<Checkpoint> DecodeCheckpoint(std::string_view bytes);

}  // namespace bandana::server
