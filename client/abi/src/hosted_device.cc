#include "client/abi/src/hosted_device.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "client/abi/src/host_bits.h"
#include "client/abi/src/to_c.h"
#include "client/core/callback.h"
#include "client/core/policy.h"
#include "client/core/stand_in/entropy_bits.h"
#include "client/core/store_row.h"
#include "common/base/sha256.h"
#include "common/base/status.h"

namespace bandana::abi {
namespace {

using device::Device;

// Cells pass as they are: the host seals them in its commit.
class HostSealer final : public device::Sealer {
 public:
  absl::StatusOr<std::string> Seal(std::string_view, std::string_view plain) override {
    return std::string(plain);
  }
  absl::StatusOr<std::string> Open(std::string_view row, std::string_view stored) override {
    if (row == device::kKeyCheck && stored != device::kKeyCheck) {
      return DataLoss("device store: key_check was not opened");
    }
    return std::string(stored);
  }
};

bandana_cell ToCell(const device::Cell& cell) {
  bandana_cell to = {};
  if (const auto* const integer = std::get_if<std::int64_t>(&cell)) {
    to.kind = BANDANA_INTEGER;
    to.integer = *integer;
  } else if (const auto* const real = std::get_if<double>(&cell)) {
    to.kind = BANDANA_REAL;
    to.real = *real;
  } else {
    to.kind = BANDANA_BYTES;
    to.bytes = ToBytes(*std::get_if<std::string>(&cell));
  }
  return to;
}

std::int64_t NanosOf(absl::Duration d) { return absl::ToInt64Nanoseconds(d); }

}  // namespace

class HostedDevice::HookBits final : public BitSource {
 public:
  HookBits(const bandana_hooks& hooks, bool& inside) : hooks_(hooks), inside_(inside) {}

  void Close() { closed_ = true; }

  absl::Status Fill(std::span<std::byte> out) override {
    if (closed_) return Unavailable("entropy: the device was freed");
    if (hooks_.random == nullptr) return EntropyBits().Fill(out);
    inside_ = true;
    const std::int32_t failed = hooks_.random(hooks_.context, out.data(), out.size());
    inside_ = false;
    if (failed == 0) return absl::OkStatus();
    std::fill(out.begin(), out.end(), std::byte{0});
    return Unavailable("entropy: the host's generator failed");
  }

 private:
  const bandana_hooks& hooks_;
  bool& inside_;
  bool closed_ = false;
};

HostedDevice::HostedDevice(const bandana_hooks& hooks)
    : hooks_(hooks),
      bits_(std::make_unique<HookBits>(hooks_, inside_)),
      loading_(std::make_unique<MirroredRows>([this](std::uint64_t id, bool erased_private) {
        waiting_.push_back([this, id, erased_private] { DeliverCommit(id, erased_private); });
      })),
      rows_(loading_.get()) {}

// Calls that end with it ask the host for nothing.
HostedDevice::~HostedDevice() {
  bits_->Close();
  const EntropyScope entropy(bits_.get());
  device_.reset();
}

absl::Status HostedDevice::Enter(bool started) const {
  if (inside_) {
    return FailedPrecondition("the hooks random, wall_ns and elapsed_ns must not call the library");
  }
  if (started && phase_ != Phase::kStarted) {
    return FailedPrecondition("device: bandana_start has not succeeded");
  }
  return absl::OkStatus();
}

Device::Now HostedDevice::Now() {
  inside_ = true;
  const Device::Now now = {.wall = absl::FromUnixNanos(hooks_.wall_ns(hooks_.context)),
                           .elapsed = absl::Nanoseconds(hooks_.elapsed_ns(hooks_.context))};
  inside_ = false;
  return now;
}

Device::Result HostedDevice::InsideCore(const device::Callback<Device::Result()>& step) {
  const EntropyScope entropy(bits_.get());
  return step();
}

void HostedDevice::Step(const device::Callback<void()>& event) {
  const Device::Now now = Now();
  Take(InsideCore([&] { return device_->Step(now, event); }), false);
}

void HostedDevice::Take(Device::Result result, bool alarm_used) {
  for (Device::Call& call : result.calls) {
    waiting_.push_back([this, call = std::move(call)] { DeliverCall(call); });
  }
  for (auto& told : result.told) waiting_.push_back(std::move(told));
  if (alarm_used || result.wake_at != wake_at_) {
    wake_at_ = result.wake_at;
    waiting_.push_back([this, at = wake_at_] {
      hooks_.wake(hooks_.context, at ? std::max<std::int64_t>(0, NanosOf(*at)) : -1);
    });
  }
  Pump();
}

void HostedDevice::Pump() {
  if (std::exchange(pumping_, true)) return;
  while (!freed_ && !waiting_.empty()) {
    const device::Callback<void()> hook = std::move(waiting_.front());
    waiting_.pop_front();
    hook();
  }
  if (freed_) waiting_.clear();
  pumping_ = false;
}

absl::Status HostedDevice::Load(device::Table table, device::Record row) {
  BANDANA_RETURN_IF_ERROR(Enter(false));
  if (phase_ != Phase::kLoading) return FailedPrecondition("device: it has started already");
  return loading_->Load(table, std::move(row));
}

// The identity and the hash before the first ledger entry are random.
absl::Status HostedDevice::MakeStore() {
  std::array<std::byte, 48> random;
  BANDANA_RETURN_IF_ERROR(SystemBits().Fill(random));
  const std::string bytes(AsChars(random));
  device::SealedRows rows(rows_, nullptr);
  device::StoreRow{.identity = bytes.substr(0, 16), .ledger_base_hash = bytes.substr(16)}.Write(
      rows);
  return rows.failure();
}

absl::Status HostedDevice::Start(const std::optional<device::StoreMark>& seen,
                                 const device::RowsOrigin& origin, std::uint64_t tag) {
  BANDANA_RETURN_IF_ERROR(Enter(false));
  if (phase_ != Phase::kLoading) return FailedPrecondition("device: it has started already");
  phase_ = Phase::kFailed;
  origin_ = origin;
  const EntropyScope entropy(bits_.get());
  if (loading_->empty()) BANDANA_RETURN_IF_ERROR(MakeStore());
  auto tables = device::Tables::Create(std::move(loading_), [](std::string_view) {
    return absl::StatusOr<std::unique_ptr<device::Sealer>>(std::make_unique<HostSealer>());
  });
  if (!tables.ok()) return tables.status();
  device_ = std::make_unique<Device>(*std::move(tables), bits_.get(),
                                     [this](const device::StoreMark& mark) {
                                       if (hooks_.mark != nullptr)
                                         waiting_.push_back([this, mark] { DeliverMark(mark); });
                                     });
  phase_ = Phase::kStarting;
  Step([&] {
    device_->Start(seen, [this, tag](const absl::Status& status) {
      phase_ = status.ok() ? Phase::kStarted : Phase::kFailed;
      waiting_.push_back([this, tag, status] {
        bandana_result result = ResultOf(tag, BANDANA_STARTED, 0, status);
        result.value = device_->rolled_back() ? 1 : 0;
        Tell(result);
      });
    });
  });
  return absl::OkStatus();
}

absl::Status HostedDevice::Connect(const ClientOptions& options, std::uint64_t tag) {
  BANDANA_RETURN_IF_ERROR(Enter(true));
  BANDANA_RETURN_IF_ERROR(device::CheckOptions(options));
  Step([&] {
    device_->Connect(options, origin_, [this, tag](absl::StatusOr<Device::ClientId> client) {
      bandana_client made = 0;
      if (client.ok()) clients_[made = next_client_++] = *client;
      Tell(ResultOf(tag, BANDANA_CONNECTED, made, client.status()));
    });
  });
  return absl::OkStatus();
}

absl::StatusOr<device::ClientCore*> HostedDevice::Find(bandana_client client) {
  BANDANA_RETURN_IF_ERROR(Enter(true));
  const auto found = clients_.find(client);
  device::ClientCore* const core = found == clients_.end() ? nullptr : device_->Find(found->second);
  if (core == nullptr) return InvalidArgument("client ", client, " is not connected");
  return core;
}

absl::Status HostedDevice::Close(bandana_client client) {
  BANDANA_RETURN_IF_ERROR(Find(client).status());
  const auto found = clients_.find(client);
  const Device::ClientId id = found->second;
  clients_.erase(found);
  Step([&] { device_->Close(id); });
  return absl::OkStatus();
}

absl::Status HostedDevice::With(bandana_client client,
                                const device::Callback<void(device::ClientCore&)>& event) {
  BANDANA_ASSIGN_OR_RETURN(device::ClientCore* const core, Find(client));
  Step([&] { event(*core); });
  return absl::OkStatus();
}

// The alarm is used up: the host hears of the next one even if it is for the same time.
absl::Status HostedDevice::Wake() {
  BANDANA_RETURN_IF_ERROR(Enter(true));
  const Device::Now now = Now();
  Take(InsideCore([&] { return device_->Wake(now); }), true);
  return absl::OkStatus();
}

absl::Status HostedDevice::Answer(std::uint64_t call, const WebAnswer& answer) {
  BANDANA_RETURN_IF_ERROR(Enter(true));
  Step([&] { device_->Answered(call, answer.answer, answer.message); });
  return absl::OkStatus();
}

absl::Status HostedDevice::Committed(std::uint64_t commit, const absl::Status& status) {
  BANDANA_RETURN_IF_ERROR(Enter(false));
  if (device_ == nullptr || commit == 0 || commit > delivered_commit_) {
    return InvalidArgument("commit ", commit, " was not made");
  }
  Step([&] { rows_->Answer(commit, status); });
  return absl::OkStatus();
}

void HostedDevice::DeliverCommit(std::uint64_t id, bool erased_private) {
  std::vector<bandana_cell> cells;
  std::vector<bandana_change> changes;
  std::vector<std::size_t> begins;
  rows_->VisitChanges(id, [&](device::Table table, const device::Record& key,
                              const device::Record* row) {
    const device::Record& record = row == nullptr ? key : *row;
    const std::size_t count =
        row == nullptr ? key.size() : device::FormOf(table).columns.size();  // without the digest
    begins.push_back(cells.size());
    for (std::size_t i = 0; i < count; ++i) cells.push_back(ToCell(record[i]));
    changes.push_back({static_cast<std::int32_t>(table), row == nullptr ? 1 : 0, nullptr, count});
  });
  for (std::size_t i = 0; i < changes.size(); ++i) changes[i].cells = cells.data() + begins[i];
  delivered_commit_ = id;
  const bandana_commit commit = {sizeof commit, id, changes.data(), changes.size(),
                                 erased_private ? 1 : 0};
  hooks_.commit(hooks_.context, &commit);
}

void HostedDevice::DeliverCall(const Device::Call& call) {
  const std::string body = WebRequest(call.request);
  const std::int64_t deadline =
      std::max<std::int64_t>(1, absl::ToInt64Milliseconds(call.options.deadline));
  const std::string timeout = std::to_string(std::min<std::int64_t>(deadline, 99'999'999)) + "m";
  const bandana_header headers[] = {{"content-type", "application/grpc-web+proto"},
                                    {"x-grpc-web", "1"},
                                    {"grpc-timeout", timeout.c_str()}};
  const bandana_call given = {sizeof given,
                              call.id,
                              PathOf(call.method),
                              headers,
                              std::size(headers),
                              ToBytes(body),
                              deadline,
                              call.options.wait_for_ready ? 1 : 0,
                              call.keep_connection ? 1 : 0,
                              ToBytes(call.target)};
  hooks_.call(hooks_.context, &given);
}

void HostedDevice::DeliverMark(const device::StoreMark& mark) {
  bandana_mark given = {};
  given.size = sizeof given;
  std::memcpy(given.identity, mark.identity.data(),
              std::min(mark.identity.size(), sizeof given.identity));
  std::memcpy(given.ledger_hash, mark.ledger_hash.data(),
              std::min(mark.ledger_hash.size(), sizeof given.ledger_hash));
  given.position = mark.position;
  given.run = mark.run;
  given.events = mark.events;
  given.streams = mark.streams;
  hooks_.mark(hooks_.context, &given);
}

bandana_result HostedDevice::ResultOf(std::uint64_t tag, bandana_result_kind kind,
                                      bandana_client client, const absl::Status& status) {
  bandana_result result = {};
  result.size = sizeof result;
  result.tag = tag;
  result.kind = kind;
  result.code = static_cast<std::int32_t>(status.code());
  result.message = ToBytes(ToStd(status.message()));
  result.client = client;
  return result;
}

void HostedDevice::Tell(const bandana_result& result) const {
  hooks_.tell(hooks_.context, &result);
}

}  // namespace bandana::abi
