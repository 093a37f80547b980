#include "client/core/device.h"

#include <algorithm>

#include "client/core/callback.h"

namespace bandana::device {
namespace {

// A host that forgets a call must not hold up a queue for ever.
constexpr absl::Duration kAnswerGrace = absl::Seconds(5);
constexpr absl::Duration kDelayMax = absl::Hours(24);

}  // namespace

class Device::Wall final : public Clock {
 public:
  explicit Wall(const Device::Now& now) : now_(now) {}
  absl::Time Now() const override { return now_.wall; }

 private:
  const Device::Now& now_;
};

// One client's calls and timers.
class Device::Line final : public Calls, public Timers {
 public:
  Line(Device& device, const ClientOptions& options)
      : device_(device),
        target_(options.target),
        keeps_connections_(options.leave == ClientOptions::Leave::kWhenDue) {}

  void Make(Method method, std::string request, const CallOptions& options,
            OnAnswer done) override {
    if (closed_) return done({absl::CancelledError("the client is closing"), std::nullopt}, "");
    const std::uint64_t id = device_.next_++;
    const absl::Duration patience = std::max(options.deadline, absl::ZeroDuration());
    waiting_[id] = {std::move(done), Elapsed() + patience + kAnswerGrace};
    device_.result_.calls.push_back(
        {id, method, std::move(request), options, target_, keeps_connections_});
  }
  void Answered(std::uint64_t id, const Answer& answer, const std::string& response) {
    const auto found = waiting_.find(id);
    if (found == waiting_.end()) return;
    const OnAnswer done = std::move(found->second.done);
    waiting_.erase(found);
    done(answer, answer.status.ok() ? response : std::string());
  }

  absl::Duration Elapsed() const override { return device_.now_.elapsed; }
  bool RunAfter(absl::Duration delay, Task task) override {
    if (closed_) return false;
    timers_.emplace(Elapsed() + std::clamp(delay, absl::ZeroDuration(), kDelayMax),
                    std::move(task));
    return true;
  }
  // False: none is due.
  bool RunNext() {
    const auto lost = std::find_if(waiting_.begin(), waiting_.end(), [this](const auto& entry) {
      return entry.second.until <= Elapsed();
    });
    if (lost != waiting_.end()) {
      Answered(lost->first, {absl::DeadlineExceededError("no answer"), std::nullopt}, "");
      return true;
    }
    if (timers_.empty() || timers_.begin()->first > Elapsed()) return false;
    const Task task = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    task();
    return true;
  }
  std::optional<absl::Duration> NextAt() const {
    std::optional<absl::Duration> next;
    if (!timers_.empty()) next = timers_.begin()->first;
    for (const auto& [id, waiting] : waiting_) {
      if (!next || waiting.until < *next) next = waiting.until;
    }
    return next;
  }

  void Close() {
    closed_ = true;
    while (!waiting_.empty()) {
      Answered(waiting_.begin()->first,
               {absl::CancelledError("the client is closing"), std::nullopt}, "");
    }
    while (!timers_.empty()) {
      const Task task = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
      task();
    }
  }

 private:
  struct Waiting {
    OnAnswer done;
    absl::Duration until;  // by Elapsed
  };
  Device& device_;
  const std::string target_;
  const bool keeps_connections_;
  bool closed_ = false;
  std::map<std::uint64_t, Waiting> waiting_;
  std::multimap<absl::Duration, Task> timers_;
};

struct Device::Client {
  Client(Device& device, const ClientOptions& options) : line(device, options) {}

  Line line;
  std::unique_ptr<ClientCore> core;  // null while it connects
  bool closed = false;
};

Device::Device(std::unique_ptr<Tables> tables, BitSource* bits,
               Callback<void(const StoreMark&)> on_durable)
    : bits_(bits),
      wall_(std::make_unique<const Wall>(now_)),
      state_(std::move(tables), {.elapsed = [this] { return now_.elapsed; },
                                 .on_queued = nullptr,
                                 .on_durable = std::move(on_durable)}) {}

// All close before one goes: what waits for a start of another client may still run.
Device::~Device() {
  for (const auto& [id, client] : clients_) Close(id);
}

Device::Result Device::Step(const Now& now, const Callback<void()>& event) {
  now_ = {now.wall, std::max(now_.elapsed, now.elapsed)};
  event();
  while (state_.Write(DeviceState::Lazy::kLater)) {
  }
  return Finish();
}

Device::Result Device::Wake(const Now& now) {
  now_ = {now.wall, std::max(now_.elapsed, now.elapsed)};
  do {
    RunTimers();
  } while (state_.Write(DeviceState::Lazy::kWhenDue));
  return Finish();
}

Device::Result Device::Finish() {
  DropClosed();
  result_.wake_at = state_.WriteAt();
  for (const auto& [id, client] : clients_) {
    const auto at = client->line.NextAt();
    if (at && (!result_.wake_at || *at < *result_.wake_at)) result_.wake_at = at;
  }
  return std::exchange(result_, {});
}

void Device::RunTimers() {
  for (const auto& [id, client] : clients_) {
    while (client->line.RunNext()) {
    }
  }
}

void Device::Answered(std::uint64_t call, const Answer& answer, const std::string& response) {
  for (const auto& [id, client] : clients_) client->line.Answered(call, answer, response);
}

void Device::Connect(const ClientOptions& options, const RowsOrigin& rows, Connected connected) {
  const ClientId id = next_++;
  Client& client = *(clients_[id] = std::make_unique<Client>(*this, options));
  const ClientHost host = {
      .state = &state_,
      .calls = &client.line,
      .timers = &client.line,
      .wall = wall_.get(),
      .bits = bits_,
      .tell = [this](Callback<void()> task) { result_.told.push_back(std::move(task)); }};
  device::Connect(options, host, rows,
                  [this, id, &client, connected = std::move(connected)](
                      absl::StatusOr<std::unique_ptr<ClientCore>> core) {
                    absl::StatusOr<ClientId> made = id;
                    if (core.ok()) {
                      client.core = *std::move(core);
                    } else {
                      client.closed = true;
                      made = core.status();
                    }
                    result_.told.push_back([connected, made] { connected(made); });
                  });
}

ClientCore* Device::Find(ClientId client) {
  const auto found = clients_.find(client);
  return found == clients_.end() || found->second->closed ? nullptr : found->second->core.get();
}

void Device::Close(ClientId client) {
  const auto found = clients_.find(client);
  if (found == clients_.end() || std::exchange(found->second->closed, true)) return;
  if (found->second->core != nullptr) found->second->core->Close();
  found->second->line.Close();
}

// Once nothing waits for the rows, nothing calls a closed client any more.
void Device::DropClosed() {
  if (!state_.idle()) return;
  std::erase_if(clients_, [](const auto& entry) { return entry.second->closed; });
}

}  // namespace bandana::device
