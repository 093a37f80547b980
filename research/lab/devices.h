// The devices of an experiment handle a reaction by the model's own mechanism and the lab's noise.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "common/design/model_spec.h"
#include "common/ranking/posterior.h"

namespace bandana::lab {

// How the log names a node of an experiment: by its number, or by its user where users come as they
// go.
struct NodeName {
  int node = 0;
  std::string user;
};
NodeName NameOf(const ModelSpec& spec, int node);

// "blt counter", "centred randomizer", "none".
std::string MechanismWords(const ModelSpec& spec);

// All devices of a run, one per node. Not thread-safe.
class Devices {
 public:
  virtual ~Devices() = default;

  // The log entry that a server makes of the device's report of one event, encoded; empty where the
  // device sends nothing any more. `posterior` is what its arm was chosen by. Errors: UNAVAILABLE
  // no noise.
  virtual absl::StatusOr<std::string> Report(int node, std::span<const double> x, double reward,
                                             const NodePosterior& posterior) = 0;
};

// Devices of a model of features without reward windows. `spec` must outlive them. `seed`:
// LabNoise's. Errors: UNAVAILABLE no noise.
absl::StatusOr<std::unique_ptr<Devices>> MakeDevices(const ModelSpec& spec, std::uint64_t seed);

}  // namespace bandana::lab
