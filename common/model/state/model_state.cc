#include "common/model/state/model_state.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace bandana {

void OpenWindows::Empty(absl::FunctionRef<bool(const OpenWindow&)> goes) {
  ForEach([&](const Key&, OpenWindow& window) {
    if (window.node < 0 || !goes(window)) return;
    window.node = -1;
    window.features.assign(window.features.size(), '\0');
    window.keys.clear();
  });
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
