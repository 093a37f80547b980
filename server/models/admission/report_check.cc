#include "server/models/admission/report_check.h"

namespace bandana::server {

Intake MakeIntake(const ModelSpec& spec, const RewardPath& path) {
  if (path.contexts() != nullptr) return MakeContextCheck(*path.contexts());
  if (path.counts_on_device()) return MakeCounterCheck(spec, *path.counter());
  return MakeOutcomeCheck(spec, path);
}

}  // namespace bandana::server
