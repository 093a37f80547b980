// The cases of the transcript audit: every mode and mechanism, with each way of reporting.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/design/model_spec.h"
#include "tools/audit/transcript/asking.h"
#include "tools/audit/transcript/caller_api.h"

namespace bandana::audit {

struct Combination {
  std::string name;         // `LOCAL_REWARD one-bit window sdk`
  std::string model;        // ModelConfig in text form, but for `reporting` and `token_lifetime`
  bool window = true;       // else one_per_decision
  bool raw_caller = false;  // central modes: reports at the click, without the SDK
  CallerApi api = CallerApi::kGrpc;  // how its callers come
  bool by_follower = false;          // a second server follows the first, and answers what reads
  bool on_device = false;            // SelectOnDevice instead of Select
  bool round_is_private = false;     // HidesContexts: rounds may differ as well
  int catalogue_arms = 0;            // the server's catalogue has arms 0 to one less
  const Asking* asking = &AsksInline();
};

// In an order that does not change within a version: seed s runs combination s mod size.
const std::vector<Combination>& Combinations();

// The model that a server would serve, with windows of `duration`. Errors: INVALID_ARGUMENT.
absl::StatusOr<ModelSpec> SpecOf(const Combination& combination, absl::Duration duration,
                                 absl::Duration token_lifetime);

}  // namespace bandana::audit
