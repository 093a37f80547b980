// Calls and timers of threads, as the core has them: whatever calls back enters the core first.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "client/core/calls.h"
#include "client/core/timers.h"
#include "client/src/base/entrance.h"

namespace bandana::device {

// Calls are made once the core is left: to make one takes longer than all that the core does about
// it. Both outlive the object, and the calls that are under way.
class EnteringCalls final : public Calls {
 public:
  EnteringCalls(Calls* calls, Entrance* entrance) : calls_(calls), entrance_(entrance) {}

  void Make(Method method, std::string request, const CallOptions& options,
            OnAnswer done) override {
    entrance_->Call([calls = calls_, entrance = entrance_, method, request = std::move(request),
                     options, done = std::move(done)]() mutable {
      calls->Make(
          method, std::move(request), options,
          [entrance, done = std::move(done)](const Answer& answer, const std::string& response) {
            entrance->Enter([&] { done(answer, response); });
          });
    });
  }

 private:
  Calls* const calls_;
  Entrance* const entrance_;
};

class EnteringTimers final : public Timers {
 public:
  EnteringTimers(Timers* timers, Entrance* entrance) : timers_(timers), entrance_(entrance) {}

  absl::Duration Elapsed() const override { return timers_->Elapsed(); }
  bool RunAfter(absl::Duration delay, Task task) override {
    return timers_->RunAfter(
        delay, [entrance = entrance_, task = std::move(task)] { entrance->Enter(task); });
  }

 private:
  Timers* const timers_;
  Entrance* const entrance_;
};

}  // namespace bandana::device
