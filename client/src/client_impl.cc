#include "client/src/client_impl.h"

#include <algorithm>
#include <string>
#include <utility>

#include "client/src/base/once.h"
#include "common/base/status.h"

namespace bandana::device {

ClientImpl::ClientImpl(std::shared_ptr<Store> store, const Seams& seams,
                       std::unique_ptr<Transport> transport)
    : store_(std::move(store)),
      transport_(std::move(transport)),
      scheduler_(seams.make_scheduler()),
      calls_(transport_.get(), &store_->entrance()),
      timers_(scheduler_.get(), &store_->entrance()) {}

absl::StatusOr<std::unique_ptr<ClientImpl>> ClientImpl::Make(
    std::shared_ptr<Store> store, const Seams& seams, std::unique_ptr<Transport> transport,
    const std::function<void(const ClientHost&, Made)>& make) {
  std::unique_ptr<ClientImpl> client(new ClientImpl(std::move(store), seams, std::move(transport)));
  Entrance& entrance = client->store_->entrance();
  const ClientHost host = {
      .state = &client->store_->state(),
      .calls = &client->calls_,
      .timers = &client->timers_,
      .wall = seams.clock,
      .bits = seams.bits,
      .tell = [&entrance](std::function<void()> task) { entrance.Tell(std::move(task)); },
      .recheck = seams.recheck,
      .wrap_mechanism = seams.wrap_mechanism,
      .on_reaction = seams.on_reaction};
  Once<absl::Status> made;
  client->Enter([&] {
    make(host, [&](absl::StatusOr<std::unique_ptr<ClientCore>> core) {
      entrance.Tell([&made, status = core.status()] { made.Set(status); });
      if (core.ok()) client->core_ = *std::move(core);
    });
  });
  client->store_->StepIfStepped();
  BANDANA_RETURN_IF_ERROR(made.Get());
  return client;
}

absl::StatusOr<std::unique_ptr<ClientImpl>> ClientImpl::Connect(
    const ClientOptions& options, std::shared_ptr<Store> store, const Seams& seams,
    std::unique_ptr<Transport> transport) {
  const RowsOrigin rows = {.durable = store->durable(), .taken_over = store->taken_over()};
  return Make(std::move(store), seams, std::move(transport),
              [&](const ClientHost& host, Made made) {
                device::Connect(options, host, rows, std::move(made));
              });
}

absl::StatusOr<std::unique_ptr<ClientImpl>> ClientImpl::Create(
    const ClientOptions& options, std::shared_ptr<Store> store, const Seams& seams,
    const ModelAnswer& model, std::unique_ptr<Transport> transport, bool is_start) {
  return Make(std::move(store), seams, std::move(transport),
              [&](const ClientHost& host, Made made) {
                ClientCore::Create(options, host, model, is_start, std::move(made));
              });
}

ClientImpl::~ClientImpl() {
  Enter([this] {
    if (core_ != nullptr) core_->Close();
  });
  transport_->Shutdown();
  scheduler_->Stop();
  // The store works in order: after the first wait everything enqueued so far has called back, and
  // after the second what those callbacks enqueued. A start has three such turns.
  for (int i = 0; i < 4; ++i) {
    store_->Run([](Transaction&) { return absl::OkStatus(); }).IgnoreError();
  }
  Enter([this] { core_.reset(); });
}

template <typename Result>
Result ClientImpl::Ask(const std::function<void(std::function<void(Result)>)>& ask) const {
  Once<Result> result;
  Enter([&] { ask([&result](Result answer) { result.Set(std::move(answer)); }); });
  store_->StepIfStepped();
  return result.Get();
}

absl::StatusOr<Selection> ClientImpl::Select(std::string_view user, const Arms& arms, Ranks ranks) {
  return Ask<absl::StatusOr<Selection>>(
      [&](auto done) { core_->Select(user, arms, ranks, std::move(done)); });
}

void ClientImpl::SelectAsync(std::string_view user, const Arms& arms, Ranks ranks,
                             std::function<void(absl::StatusOr<Selection>)> done) {
  Enter([&] { core_->Select(user, arms, ranks, std::move(done)); });
}

absl::StatusOr<std::vector<Selection>> ClientImpl::SelectSlots(std::string_view user,
                                                               const Arms& arms, int slots) {
  return Ask<absl::StatusOr<std::vector<Selection>>>(
      [&](auto done) { core_->SelectSlots(user, arms, slots, std::move(done)); });
}

void ClientImpl::SelectSlotsAsync(
    std::string_view user, const Arms& arms, int slots,
    std::function<void(absl::StatusOr<std::vector<Selection>>)> done) {
  Enter([&] { core_->SelectSlots(user, arms, slots, std::move(done)); });
}

absl::StatusOr<Selection> ClientImpl::SelectDeferred(std::string_view user, const Arms& arms,
                                                     Ranks ranks) {
  return Ask<absl::StatusOr<Selection>>(
      [&](auto done) { core_->SelectDeferred(user, arms, ranks, std::move(done)); });
}

absl::Status ClientImpl::Activate(const Selection& selection) {
  return Ask<absl::Status>([&](auto done) { core_->Activate(selection, std::move(done)); });
}

absl::StatusOr<Selection> ClientImpl::Adopt(std::string_view user, BackendAnswer answer) {
  return Ask<absl::StatusOr<Selection>>(
      [&](auto done) { core_->Adopt(user, std::move(answer), std::move(done)); });
}

absl::StatusOr<Selection> ClientImpl::SelectPoint(std::string_view user) {
  return Ask<absl::StatusOr<Selection>>(
      [&](auto done) { core_->SelectPoint(user, std::move(done)); });
}

void ClientImpl::SelectPointAsync(std::string_view user,
                                  std::function<void(absl::StatusOr<Selection>)> done) {
  Enter([&] { core_->SelectPoint(user, std::move(done)); });
}

absl::StatusOr<Selection> ClientImpl::SelectOnDevice(std::string_view user, const Arms& arms,
                                                     Ranks ranks) {
  return Ask<absl::StatusOr<Selection>>(
      [&](auto done) { core_->SelectOnDevice(user, arms, ranks, std::move(done)); });
}

absl::StatusOr<bool> ClientImpl::RefreshPosterior(std::string_view user) {
  return Ask<absl::StatusOr<bool>>(
      [&](auto done) { core_->RefreshPosterior(user, std::move(done)); });
}

absl::Status ClientImpl::Report(const Selection& selection, std::optional<double> reward,
                                std::optional<int> shown, std::function<void(Delivery)> done) {
  return Ask<absl::Status>([&](auto queued) {
    core_->Report(selection, reward, shown, std::move(queued), std::move(done));
  });
}

void ClientImpl::ReportAsync(const Selection& selection, std::optional<double> reward,
                             std::optional<int> shown, std::function<void(absl::Status)> queued,
                             std::function<void(Delivery)> done) {
  Enter([&] { core_->Report(selection, reward, shown, std::move(queued), std::move(done)); });
}

void ClientImpl::Begin() {
  Enter([this] { core_->Begin(); });
}

bool ClientImpl::Flush(absl::Duration timeout) {
  // Outlives a wait that was given up.
  const auto flushed = std::make_shared<Once<bool>>();
  Enter([&] { core_->Flush([flushed] { flushed->Set(true); }); });
  const auto patience = absl::ToChronoNanoseconds(std::min(timeout, absl::Hours(24)));
  if (!flushed->WaitFor(patience)) return false;
  // The application has heard of the reports before it hears of this.
  store_->entrance().WaitUntilTold(patience);
  return true;
}

ClientStats ClientImpl::Stats() const {
  ClientStats stats;
  Enter([&] { stats = core_->Stats(); });
  return stats;
}

absl::StatusOr<PrivacySpent> ClientImpl::Spent(std::string_view user) const {
  return Ask<absl::StatusOr<PrivacySpent>>([&](auto done) { core_->Spent(user, std::move(done)); });
}

absl::StatusOr<LedgerReadings> ClientImpl::Readings(std::string_view user, double delta) const {
  return Ask<absl::StatusOr<LedgerReadings>>(
      [&](auto done) { core_->Readings(user, delta, std::move(done)); });
}

absl::StatusOr<std::vector<StreamInfo>> ClientImpl::Streams(std::string_view user) const {
  return Ask<absl::StatusOr<std::vector<StreamInfo>>>(
      [&](auto done) { core_->Streams(user, std::move(done)); });
}

}  // namespace bandana::device
