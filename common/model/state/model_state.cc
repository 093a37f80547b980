#include "common/model/state/model_state.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace bandana {

void OpenWindows::Open(Key key, OpenWindow window) {
  keys_[window.id] = key;
  windows_.emplace(key, std::move(window));
}

OpenWindow* OpenWindows::Find(const DecisionId& id) {
  const auto key = keys_.find(id);
  return key == keys_.end() ? nullptr : &windows_.at(key->second);
}

bool OpenWindows::TakeDue(absl::Time now, OpenWindow& window) {
  const auto first = windows_.begin();
  if (first == windows_.end() || first->first.first > now) return false;
  window = std::move(first->second);
  keys_.erase(window.id);
  windows_.erase(first);
  return true;
}

void OpenWindows::Empty(absl::FunctionRef<bool(const OpenWindow&)> goes) {
  for (auto& [key, window] : windows_) {
    if (window.node < 0 || !goes(window)) continue;
    window.node = -1;
    window.features.assign(window.features.size(), '\0');
    window.keys.clear();
  }
}

absl::Time OpenWindows::next_close() const {
  return windows_.empty() ? absl::InfiniteFuture() : windows_.begin()->first.first;
}

absl::Status ModelState::Apply(const LogEntry& entry, const EventPath& path, UserIndex& users,
                               EventSink& sink) {
  const absl::StatusOr<Record> record = Decode(entry.record, path.dimension());
  absl::Status applied = record.status();
  if (record.ok()) applied = path.Apply(*record, {*this, entry.position, users, sink});
  if (!applied.ok()) {
    return Annotate(applied, absl::StrCat("log entry ", entry.position.sequence));
  }
  position = entry.position;
  return absl::OkStatus();
}

}  // namespace bandana
