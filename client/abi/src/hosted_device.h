// A device whose host is written in another language: its hooks are called after the core has been
// left, in their order.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/abi/include/bandana.h"
#include "client/abi/src/mirrored_rows.h"
#include "client/abi/src/web_call.h"
#include "client/core/callback.h"
#include "client/core/device.h"

namespace bandana::abi {

// Threads: one at a time. A hook may call any method but those that run inside the core (random and
// the clocks): Enter refuses them. Whoever runs a method keeps the device alive until it returns.
class HostedDevice {
 public:
  explicit HostedDevice(const bandana_hooks& hooks);
  ~HostedDevice();

  absl::Status Load(device::Table table, device::Record row);
  absl::Status Start(const std::optional<device::StoreMark>& seen, const device::RowsOrigin& origin,
                     std::uint64_t tag);
  absl::Status Connect(const ClientOptions& options, std::uint64_t tag);
  absl::Status Close(bandana_client client);
  // Runs `event` of a client inside the core.
  absl::Status With(bandana_client client,
                    const device::Callback<void(device::ClientCore&)>& event);
  // Errors: INVALID_ARGUMENT no such client.
  absl::StatusOr<device::ClientCore*> Find(bandana_client client);
  absl::Status Wake();
  absl::Status Answer(std::uint64_t call, const WebAnswer& answer);
  absl::Status Committed(std::uint64_t commit, const absl::Status& status);
  // No hook is called from now on.
  void Free() { freed_ = true; }

  // A result, to be filled in.
  static bandana_result ResultOf(std::uint64_t tag, bandana_result_kind kind, bandana_client client,
                                 const absl::Status& status);
  // Inside Told of the core: the host hears of it.
  void Tell(const bandana_result& result) const;

 private:
  class HookBits;
  enum class Phase { kLoading, kStarting, kStarted, kFailed };

  // Errors: FAILED_PRECONDITION called by a hook that must not, or not started.
  absl::Status Enter(bool started) const;
  device::Device::Now Now();
  // All that the core draws there comes from the host.
  device::Device::Result InsideCore(const device::Callback<device::Device::Result()>& step);
  void Step(const device::Callback<void()>& event);
  // `alarm_used`: the host has no alarm any more.
  void Take(device::Device::Result result, bool alarm_used);
  // Calls the hooks that wait, unless a hook is running.
  void Pump();
  void DeliverCommit(std::uint64_t id, bool erased_private);
  void DeliverCall(const device::Device::Call& call);
  void DeliverMark(const device::StoreMark& mark);
  absl::Status MakeStore();

  const bandana_hooks hooks_;
  const std::unique_ptr<HookBits> bits_;
  Phase phase_ = Phase::kLoading;
  device::RowsOrigin origin_;
  std::unique_ptr<MirroredRows> loading_;  // until the start
  MirroredRows* rows_;
  std::unique_ptr<device::Device> device_;
  std::map<bandana_client, device::Device::ClientId> clients_;
  bandana_client next_client_ = 1;
  std::list<device::Callback<void()>> waiting_;  // hooks to call
  std::optional<absl::Duration> wake_at_;        // as the host knows it
  std::uint64_t delivered_commit_ = 0;
  bool pumping_ = false;
  bool inside_ = false;  // a hook runs that the core waits for
  bool freed_ = false;
};

}  // namespace bandana::abi
