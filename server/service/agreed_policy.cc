#include "server/service/agreed_policy.h"

#include "common/base/sha256.h"
#include "common/base/status.h"

namespace bandana::server {

absl::Status RequirePolicy(std::string_view policy_hash) {
  if (policy_hash.size() == sizeof(Sha256Digest)) return absl::OkStatus();
  return InvalidArgument("policy_hash: must have ", sizeof(Sha256Digest), " bytes, got ",
                         policy_hash.size());
}

absl::Status CheckPolicy(const ResolvedModel& to, std::string_view policy_hash) {
  if (policy_hash.empty()) return absl::OkStatus();
  BANDANA_RETURN_IF_ERROR(RequirePolicy(policy_hash));
  const Sha256Digest& policy = to.policy();
  if (policy_hash == AsChars(policy)) return absl::OkStatus();
  return FailedPrecondition(
      "policy_hash: the model's policy has changed; read it anew with GetModel");
}

}  // namespace bandana::server
