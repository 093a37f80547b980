// SIGTERM, SIGINT and SIGHUP, taken one after another by the thread that asks for them.
#pragma once

#include <csignal>

#include "absl/time/time.h"

namespace bandana::server {

// A handler writes each signal into a pipe. Threads that libraries start before main, as OpenBLAS
// does, cannot be made to block signals: the kernel may give them one, and without a handler it
// would end the process. Our own threads block them, so that no call of theirs is interrupted.
// One per process, made in main before it starts threads, and never destroyed.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // The next signal, or 0 when none comes within `timeout`. By the thread that made the object.
  int Wait(absl::Duration timeout);
  // Until SIGTERM or SIGINT comes; others are dropped.
  void WaitForStop(absl::Duration timeout);

 private:
  sigset_t mask_before_;
};

}  // namespace bandana::server
