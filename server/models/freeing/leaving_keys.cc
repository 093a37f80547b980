#include "server/models/freeing/leaving_keys.h"

#include <algorithm>
#include <optional>

#include "common/base/status.h"

namespace bandana::server {

absl::Status CopyLeftKeys(RowTable& from, RowTable& to) {
  BANDANA_ASSIGN_OR_RETURN(const std::vector<LeftKey> keys, from.LeftKeys());
  // In the order of their times: those of one time in one change.
  for (auto first = keys.begin(); first != keys.end();) {
    KeyChange change{.now = first->since};
    for (; first != keys.end() && first->since == change.now; ++first) {
      change.left.push_back(first->key);
    }
    BANDANA_RETURN_IF_ERROR(to.Change({.keys = change}).status());
  }
  return absl::OkStatus();
}

absl::Status LeavingKeys::Load(const std::function<bool(EffectKey)>& in_use) {
  BANDANA_ASSIGN_OR_RETURN(const std::vector<LeftKey> keys, table_.LeftKeys());
  std::vector<EffectKey> wrong;
  for (const LeftKey& left : keys) {
    if (in_use(left.key)) wrong.push_back(left.key);
  }
  if (!wrong.empty()) {
    const absl::Status removed = table_.RemoveLeft(wrong, absl::FromUnixNanos(INT64_MAX));
    // Who follows another server's table frees nothing.
    if (!absl::IsAborted(removed)) BANDANA_RETURN_IF_ERROR(removed);
  }
  return Update();
}

absl::Status LeavingKeys::Update() {
  BANDANA_ASSIGN_OR_RETURN(const std::optional<absl::Time> first, table_.FirstLeft());
  due_ = first ? absl::ToUnixNanos(*first + free_after_) : INT64_MAX;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<EffectKey>> LeavingKeys::DueAt(absl::Time now, std::size_t max) {
  const std::lock_guard lock(mutex_);
  std::vector<EffectKey> keys;
  if (due() > now) return keys;
  BANDANA_ASSIGN_OR_RETURN(const std::vector<LeftKey> left,
                           table_.LeftKeys(now - free_after_, max));
  for (const LeftKey& one : left) keys.push_back(one.key);
  return keys;
}

absl::Status LeavingKeys::Freed(std::span<const EffectKey> keys, absl::Time now) {
  const std::lock_guard lock(mutex_);
  BANDANA_RETURN_IF_ERROR(table_.RemoveLeft(keys, now - free_after_));
  return Update();
}

}  // namespace bandana::server
