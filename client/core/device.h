// A device without threads: (state, event, now) -> rows to make durable, calls to make, a time to
// be woken. For hosts that have an event loop: a browser, Node, a test.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bandana/options.h"
#include "client/core/callback.h"
#include "client/core/calls.h"
#include "client/core/client_core.h"
#include "client/core/connect.h"
#include "client/core/device_state.h"
#include "client/core/timers.h"
#include "common/base/clock.h"
#include "common/random/bit_source.h"

namespace bandana::device {

// The host keeps the rows (Rows), makes the calls that a step returns, tells the application what
// it returns, and steps again when something has happened: a call is answered, a commit is
// answered, the application asks, or the time to be woken has come. It may be wrong about all of
// that: answers that come twice, in any order or never, early and late wakes, and any clock are
// borne. Not thread-safe.
class Device {
 public:
  struct Now {
    absl::Time wall;         // may jump
    absl::Duration elapsed;  // since some start; never goes back
  };
  struct Call {
    std::uint64_t id = 0;
    Method method = Method::kGetModel;
    std::string request;
    CallOptions options;
    std::string target;  // ClientOptions::target
    // Whether the connection may stay open for others: one that outlives the call tells when the
    // process ends.
    bool keep_connection = true;
  };
  struct Result {
    std::vector<Call> calls;
    std::vector<Callback<void()>> told;  // to be run by the host, in their order
    // By `elapsed`; nothing: only an event. A host sets its alarm where this differs from the last
    // one and leaves it alone otherwise, though it be late: an alarm set again because of a
    // reaction would tell of it.
    std::optional<absl::Duration> wake_at;
  };
  using ClientId = std::uint64_t;
  using Connected = Callback<void(absl::StatusOr<ClientId>)>;

  // `bits`: what is drawn with; outlives the device. `on_durable`: DeviceState::Hooks.
  Device(std::unique_ptr<Tables> tables, BitSource* bits,
         Callback<void(const StoreMark&)> on_durable);
  ~Device();

  // Runs the event, and what follows from it. Events call the methods below, or the host's own
  // answer to a commit; nothing else may. No timer runs, however late the host wakes the device: an
  // event may be a reaction, and what is due must not leave because of one.
  Result Step(const Now& now, const Callback<void()>& event);
  // The alarm: what is due runs.
  Result Wake(const Now& now);

  // As DeviceState::StartRun, before everything else.
  void Start(const std::optional<StoreMark>& seen, Callback<void(const absl::Status&)> started) {
    state_.StartRun(seen, std::move(started));
  }
  // Whether the rows were older than that mark.
  bool rolled_back() const { return state_.rolled_back(); }
  // A call's answer. One to a call that is unknown, or was answered before, is passed over.
  void Answered(std::uint64_t call, const Answer& answer, const std::string& response);
  // As device::Connect; `connected` is told.
  void Connect(const ClientOptions& options, const RowsOrigin& rows, Connected connected);
  // Null: there is none, or it was closed.
  ClientCore* Find(ClientId client);
  // Its calls are cancelled. Queued reports stay in the rows.
  void Close(ClientId client);

 private:
  class Line;
  struct Client;

  void RunTimers();
  // After an event or an alarm.
  Result Finish();
  void DropClosed();

  BitSource* const bits_;
  Now now_;
  Result result_;
  class Wall;
  const std::unique_ptr<const Wall> wall_;
  DeviceState state_;
  std::uint64_t next_ = 1;
  std::map<ClientId, std::unique_ptr<Client>> clients_;
};

}  // namespace bandana::device
