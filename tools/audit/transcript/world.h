// One of two worlds: a scenario carried out, with the first or the second reaction.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/design/model_spec.h"
#include "tools/audit/transcript/mutants.h"
#include "tools/audit/transcript/recorder.h"
#include "tools/audit/transcript/scenario.h"
#include "tools/audit/transcript/world_device.h"

namespace bandana::audit {

struct WorldOptions {
  const Scenario* scenario = nullptr;
  const ModelSpec* spec = nullptr;
  int side = 0;  // whose reaction comes: 0 or 1
  Draws draws = Draws::kBlind;
  // Central modes with the SDK: true leaves the device as it is and makes the server's draws blind,
  // since such a server may see the rewards; else the device's draws are, and the server gets the
  // same. With raw callers always the server's.
  bool blind_at_server = false;
  const Mutant* mutant = nullptr;
  std::string folder;  // for both parties' files; made, and removed at the end
};

// Returns what the world's observers saw. Runs on a thread of its own, whose system bits are the
// scenario's. Errors: the world could not be set up.
absl::StatusOr<std::unique_ptr<Recorder>> RunWorld(const WorldOptions& options);

}  // namespace bandana::audit
