// The bound on reports that wait: who may enter the queue, who waits, who is turned away.
#pragma once

#include <cstdint>
#include <list>

#include "absl/status/status.h"
#include "bandana/options.h"
#include "client/core/callback.h"

namespace bandana::device {

class QueueSlots {
 public:
  using Granted = Callback<void(absl::Status)>;

  explicit QueueSlots(int capacity) : capacity_(capacity) {}

  // Calls `granted` with OK now or when a slot is free (kBlock), or with RESOURCE_EXHAUSTED: full
  // under kDrop, or as many callers wait as there are slots. After Close: UNAVAILABLE. Callers
  // that wait are served in order.
  void Acquire(ClientOptions::WhenFull when_full, Granted granted);
  // So many slots now, or none and false.
  bool TryAcquire(std::int64_t count = 1);
  // For reports of an earlier run: takes `count` slots even beyond the capacity.
  void Force(std::int64_t count) { used_ += count; }
  void Release();
  void Release(std::int64_t count) {
    for (; count > 0; --count) Release();
  }
  // Turns away everyone who waits and everyone who comes.
  void Close();

  std::int64_t used() const { return used_; }

 private:
  const std::int64_t capacity_;
  std::int64_t used_ = 0;
  bool closed_ = false;
  std::list<Granted> waiting_;
};

}  // namespace bandana::device
