#include "tools/audit/transcript/world_device.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/core/handle.h"
#include "client/core/messages.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "tools/audit/transcript/stored_rows.h"

namespace bandana::audit {
namespace {

using device::Draw;
using device::EventMechanism;
using device::ReportRow;
using device::SecretBytes;
using device::Store;

// Draws from the default whatever is held, or notes what it draws from.
class WatchedMechanism final : public EventMechanism {
 public:
  WatchedMechanism(std::unique_ptr<EventMechanism> own, Draws draws, const Mutant* mutant,
                   Recorder& recorder)
      : own_(std::move(own)),
        draws_(draws),
        mutant_(mutant != nullptr && mutant->on_draw && hides_contexts() ? mutant : nullptr),
        recorder_(recorder) {}

  const device::EventTraits& traits() const override { return own_->traits(); }
  SecretBytes Hold(std::optional<double> reward,
                   const std::optional<RewardRange>& window) const override {
    return own_->Hold(reward, window);
  }
  absl::Status Debit(Store::Transaction& transaction, const std::string& user,
                     int events) const override {
    return own_->Debit(transaction, user, events);
  }
  absl::Status MayDebit(Store::Transaction& transaction, const std::string& user,
                        int events) const override {
    return own_->MayDebit(transaction, user, events);
  }
  absl::StatusOr<device::Release> Release(Store::Transaction& transaction, ReportRow& row,
                                          const SecretBytes& held,
                                          const Draw& draw) const override {
    const std::string features = row.features;
    BANDANA_ASSIGN_OR_RETURN(const device::Release release, DrawOf(transaction, row, held, draw));
    if (mutant_ == nullptr || release != device::Release::kDone) return release;
    mutant_->on_draw(features, row);
    transaction.tables.reports().Put(row);
    return release;
  }

 private:
  // A device that ranks arms itself hides their features as well.
  bool hides_contexts() const { return own_->traits().ranked_by == device::RankedBy::kDevice; }

  absl::StatusOr<device::Release> DrawOf(Store::Transaction& transaction, ReportRow& row,
                                         const SecretBytes& held, const Draw& draw) const {
    if (draws_ == Draws::kReal) {
      recorder_.Draw(hides_contexts() ? absl::StrCat(held.get(), row.features) : held.get());
      return own_->Release(transaction, row, held, draw);
    }
    if (hides_contexts()) row.features.assign(row.features.size(), '\0');
    const auto window = device::WindowOf(row.opening.window, 0);
    return own_->Release(transaction, row, own_->Hold(std::nullopt, window), draw);
  }

  const std::unique_ptr<EventMechanism> own_;
  const Draws draws_;
  const Mutant* const mutant_;  // null: it writes nothing beside
  Recorder& recorder_;
};

// Sealed, or digests of what is sealed: of these only the size is public.
const SealedColumns& SealedOfStore() {
  static const auto& columns =
      *new SealedColumns{"kept.content", "reports.content", "reports.digest", "steps.content",
                         "steps.digest", "streams.state",   "streams.digest"};
  return columns;
}

}  // namespace

WorldDevice::WorldDevice(const WorldDeviceOptions& options, Timeline& timeline, Network& network,
                         Recorder& recorder)
    : options_(options),
      timeline_(timeline),
      network_(network),
      recorder_(recorder),
      folder_(options.folder),
      clock_(timeline),
      bits_(options.scenario->seed ^ 0x6472617773) {}

WorldDevice::~WorldDevice() { Stop(); }

device::Seams WorldDevice::MakeSeams() {
  device::Seams seams;
  seams.clock = &clock_;
  seams.bits = &bits_;
  seams.make_scheduler = [this] { return std::make_unique<SimulatedScheduler>(timeline_); };
  seams.wrap_mechanism = [this](std::unique_ptr<EventMechanism> own) {
    return std::make_unique<WatchedMechanism>(std::move(own), options_.draws, options_.mutant,
                                              recorder_);
  };
  if (options_.mutant != nullptr && options_.mutant->on_reaction) {
    seams.on_reaction = [this](Store::Transaction& transaction, ReportRow& row,
                               const EventMechanism& mechanism) {
      options_.mutant->on_reaction(transaction, row, mechanism, network_.heard_epoch());
    };
  }
  return seams;
}

absl::Status WorldDevice::Start(const PublicSpec& spec, std::uint64_t epoch) {
  BANDANA_RETURN_IF_ERROR(MakeFolders(folder_));
  BANDANA_ASSIGN_OR_RETURN(store_, Store::OpenFile(path(), {}, /*stepped=*/true));
  const Scenario& scenario = *options_.scenario;
  ClientOptions options;
  options.target = "unix:/audit";
  options.model = spec.name;
  options.policy = PrivacyPolicy::AcceptAnything();
  options.when_full =
      scenario.drops_when_full ? ClientOptions::WhenFull::kDrop : ClientOptions::WhenFull::kBlock;
  options.queue_reports_max = scenario.queue_reports_max;
  // Measured by the machine's clock: must not come in a world's few milliseconds.
  options.select_deadline = absl::Seconds(60);
  options.report_deadline = absl::Seconds(60);
  options.posterior_interval = scenario.posterior_interval;
  if (scenario.seed % 2 == 1) options.arm_effects_tag = "odd";
  options.deliveries_in_flight_max = scenario.deliveries_in_flight_max;
  options.reports_per_delivery_max = scenario.reports_per_delivery_max;
  auto transport = network_.MakeTransport();
  bool is_start = true;
  if (scenario.life != ProcessLife::kUntouched) {
    const bool due = options_.mutant != nullptr && options_.mutant->leaves_when_due;
    options.leave = due ? ClientOptions::Leave::kWhenDue : ClientOptions::Leave::kAtStart;
    BANDANA_ASSIGN_OR_RETURN(is_start, AsksForModel(*transport, spec.name));
  }
  network_.set_at_once(options.leave == ClientOptions::Leave::kWhenDue);  // the first posterior
  auto client = device::ClientImpl::Create(options, store_, MakeSeams(), {spec, epoch},
                                           std::move(transport), is_start);
  network_.set_at_once(false);
  if (!client.ok()) {
    store_.reset();
    return client.status();
  }
  client_ = *std::move(client);
  return absl::OkStatus();
}

absl::StatusOr<bool> WorldDevice::AsksForModel(device::Transport& transport,
                                               const std::string& model) {
  bool open = false;
  const device::MonotoneClock& clock = store_->state().ClockOver(clock_);
  BANDANA_RETURN_IF_ERROR(store_->Run([&](Store::Transaction& transaction) {
    open = transaction.tables.reports().IsAnyOpen(clock.Now());
    return absl::OkStatus();
  }));
  if (open) return false;
  transport.Make(device::Method::kGetModel, device::ModelRequestBytes(model), {},
                 [](const device::Answer&, const std::string&) {});
  return true;
}

void WorldDevice::Stop() {
  client_.reset();
  store_.reset();
}

absl::Status WorldDevice::Kill() {
  const std::string next = absl::StrCat(options_.folder, ".", ++lives_);
  absl::Status copied = CopyFolder(folder_, next);
  network_.Cut();
  Stop();  // in the folder that nobody reads any more
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
  folder_ = next;
  return copied;
}

void WorldDevice::Select(const Choice& choice,
                         std::function<void(absl::StatusOr<Selection>)> done) {
  const Combination& combination = *options_.scenario->combination;
  if (IsShownLater(choice)) return SelectDeferred(choice, done);
  if (!combination.on_device) return combination.asking->Select(*client_, choice, std::move(done));
  AfterStart([this, choice, done = std::move(done)] { SelectHere(choice, done); });
}

// Every other decision of arms that the SDK asks for in clear, where the server closes the windows.
bool WorldDevice::IsShownLater(const Choice& choice) const {
  const Combination& combination = *options_.scenario->combination;
  const bool can = combination.window && combination.asking == &AsksInline() &&
                   !combination.on_device && !client_->model().local;
  return can && choice.number % 2 == 1;
}

// One in seven is late: it is never shown, and nobody reacts to it.
void WorldDevice::SelectDeferred(const Choice& choice,
                                 const std::function<void(absl::StatusOr<Selection>)>& done) {
  const bool late = choice.number % 7 == 5 && choice.number != options_.scenario->target;
  client_->Inside([&](device::ClientCore& core) {
    core.SelectDeferred(absl::StrCat(choice.user), Arms::Inline(choice.features),
                        Ranks(choice.top_k, choice.shown),
                        [this, late, done](absl::StatusOr<Selection> selection) {
                          if (late) return;
                          if (!selection.ok() || ActivatesAtReaction()) return done(selection);
                          Activate(*selection, [done, selection](const absl::Status& activated) {
                            activated.ok() ? done(selection) : done(activated);
                          });
                        });
  });
}

void WorldDevice::Activate(const Selection& selection,
                           std::function<void(absl::Status)> activated) {
  client_->Inside(
      [&](device::ClientCore& core) { core.Activate(selection, std::move(activated)); });
}

void WorldDevice::AfterStart(Timeline::Task task) {
  if (options_.scenario->life == ProcessLife::kUntouched) return task();
  store_->state().gate().Pass(0, [this, task = std::move(task), store = std::weak_ptr(store_)] {
    timeline_.After(absl::ZeroDuration(), Party::kDevice, [task, store] {
      if (!store.expired()) task();
    });
  });
}

void WorldDevice::SelectHere(const Choice& choice,
                             const std::function<void(absl::StatusOr<Selection>)>& done) {
  const Combination& combination = *options_.scenario->combination;
  const std::string user = absl::StrCat(choice.user);
  std::vector<std::uint32_t> ids;
  for (int arm = 0; combination.catalogue_arms > 0 && arm < choice.arms; ++arm) ids.push_back(arm);
  client_->Inside([&](device::ClientCore& core) {
    core.SelectOnDevice(user, Arms::Inline(choice.features, ids), Ranks(choice.top_k, choice.shown),
                        done);
  });
}

void WorldDevice::Report(const Selection& selection, const Reaction& reaction,
                         std::function<void()> taken) {
  // An ignored reaction is answered before it is accepted.
  auto ignored = std::make_shared<bool>(false);
  if (ActivatesAtReaction()) Activate(selection, [](const absl::Status&) {});
  client_->ReportAsync(
      selection, reaction.value, std::nullopt,
      [ignored, taken = std::move(taken)](const absl::Status& status) {
        if (status.ok() && !*ignored) taken();
      },
      [ignored](Delivery) { *ignored = true; });
}

void WorldDevice::Refresh(const std::string& user) {
  AfterStart([this, user] {
    network_.set_at_once(true);
    client_->Inside([&](device::ClientCore& core) {
      core.RefreshPosterior(user, [](const absl::StatusOr<bool>&) {});
    });
    network_.set_at_once(false);
  });
}

void WorldDevice::Step() {
  if (store_ != nullptr) store_->Step();
}

absl::Status WorldDevice::RecordStore() {
  absl::Status recorded;
  BANDANA_RETURN_IF_ERROR(store_->Run([&](Store::Transaction&) {
    device::Database& database = store_->database();
    recorded = RecordRows(database, SealedOfStore(), "store", recorder_);
    database.ScrubLog();
    return absl::OkStatus();
  }));
  BANDANA_RETURN_IF_ERROR(recorded);
  for (const char* file : {"", "-wal", ".anchor", ".key"}) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path() + file, error);
    recorder_.Number(Observer::kThief, absl::StrCat("store", file, " bytes"),
                     error ? -1 : static_cast<std::int64_t>(bytes));
  }
  return absl::OkStatus();
}

}  // namespace bandana::audit
