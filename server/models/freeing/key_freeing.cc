#include "server/models/freeing/key_freeing.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr absl::Duration kRetry = absl::Minutes(1);

}  // namespace

bool KeyFreeing::due(absl::Time now) const {
  if (absl::ToUnixNanos(now) < not_before_.load(std::memory_order_relaxed)) return false;
  return std::any_of(sources_.begin(), sources_.end(),
                     [now](const LeavingKeys* source) { return source->due() <= now; });
}

absl::Status KeyFreeing::RunOne(LeavingKeys& source, absl::Time now, Count& count) {
  while (source.due() <= now) {
    BANDANA_ASSIGN_OR_RETURN(const std::vector<EffectKey> keys, source.DueAt(now, keys_max_));
    if (keys.empty()) return absl::OkStatus();
    BANDANA_RETURN_IF_ERROR(append_(keys));
    BANDANA_RETURN_IF_ERROR(source.Freed(keys, now));
    for (const EffectKey key : keys) ++(ArmIdOf(key) ? count.arms : count.groups);
  }
  return absl::OkStatus();
}

void KeyFreeing::Run(absl::Time now) {
  Count count;
  absl::Status done;
  for (LeavingKeys* const source : sources_) {
    if (done.ok()) done = RunOne(*source, now, count);
  }
  if (count.arms + count.groups > 0) {
    tell_(absl::StrCat("freed effects of ", count.arms, " arms, ", count.groups, " groups"));
  }
  if (done.ok()) return;
  not_before_ = absl::ToUnixNanos(now + kRetry);
  tell_(
      absl::StrCat("effects of arms and groups that are gone are not freed yet: ", done.message()));
}

}  // namespace bandana::server
