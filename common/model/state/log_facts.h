// Facts of a log, whatever its model learns: epoch, time, who was deleted. Admission keeps these
// facts as of the entries that it has let in, the state as of those that it has applied; both take
// each entry by the methods here.
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/model/entries/records.h"
#include "common/model/state/deleted_users.h"
#include "common/model/state/epoch_events.h"
#include "common/model/state/fading.h"

namespace bandana {

// Not thread-safe; copies are independent.
struct LogFacts {
  std::uint64_t epoch = 1;
  absl::Time time = absl::UnixEpoch();  // of the last entry that told it
  absl::Duration ahead;                 // of the wall clock, as the last entry of it says
  Fading fading;
  DeletedUsers deleted;

  // The newest time that an entry told; UnixEpoch: none did.
  absl::Time newest_time() const { return std::max(time, fading.time()); }

  // A TimeRecord, or a CloseRecord, says that it is `now`.
  void Pass(absl::Time now) {
    time = now;
    deleted.DropDue(now);
  }
  void Take(const EpochRecord& record) {
    epoch = record.epoch;
    deleted.Clear();
  }
  void Take(const ClockRecord& record) { ahead = record.ahead; }
  void Take(const FadeRecord& record) { fading.Apply(record.now, record.half_life); }
  // `events`: as they are before the entry. Errors: those of DeletedUsers::Add.
  absl::Status Take(const DeleteRecord& record, const EpochEvents& events);
};

}  // namespace bandana
