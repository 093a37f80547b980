#include "tools/audit/transcript/world.h"

#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/design/alias.h"
#include "common/design/model_spec.h"
#include "common/model/state/context_binding.h"
#include "common/promise/mode.h"
#include "common/promise/privacy_rules.h"
#include "server/models/registry.h"
#include "tools/audit/alias_moves.h"
#include "tools/audit/transcript/full_disk.h"
#include "tools/audit/transcript/network.h"
#include "tools/audit/transcript/operators.h"
#include "tools/audit/transcript/recorder.h"
#include "tools/audit/transcript/seeded_bits.h"
#include "tools/audit/transcript/stored_rows.h"
#include "tools/audit/transcript/timeline.h"
#include "tools/audit/transcript/visitors.h"
#include "tools/audit/transcript/world_server.h"

namespace bandana::audit {
namespace {

// Blind draws take the default for every reward, zeros for the features where these are private,
// and noise that does not depend on the log, which holds both. Real ones are noted.
class WatchedBinding final : public ContextBinding {
 public:
  // `recorder` must outlive it.
  WatchedBinding(bool blind, const PublicSpec& spec, Recorder& recorder)
      : blind_(blind),
        private_features_(HidesContexts(spec.mode)),
        default_reward_(spec.default_reward()),
        zeros_(static_cast<std::size_t>(spec.dimension)),
        recorder_(recorder) {}

  Sha256Digest HistoryOf(const Sha256Digest& history) const override {
    if (blind_) return {};
    // Contexts are in the log since the decision, so that all later noise depends on them.
    if (private_features_) recorder_.Draw(ToHex(history));
    return history;
  }
  double RewardOf(double reward) const override {
    if (blind_) return default_reward_;
    Note({&reward, 1});
    return reward;
  }
  std::span<const double> FeaturesOf(std::span<const double> features) const override {
    if (!private_features_) return features;
    if (blind_) return zeros_;
    Note(features);
    return features;
  }

 private:
  void Note(std::span<const double> input) const {
    std::string bytes(input.size_bytes(), '\0');
    std::memcpy(bytes.data(), input.data(), bytes.size());
    recorder_.Draw(std::move(bytes));
  }

  const bool blind_;
  const bool private_features_;
  const double default_reward_;
  const std::vector<double> zeros_;
  Recorder& recorder_;
};

// Beyond what a report that nobody answers is repeated for.
constexpr absl::Duration kQuietTime = absl::Seconds(150);

// That model once more, under another name.
ModelSpec OtherOf(const ModelSpec& spec) {
  ModelSpec other = spec;
  other.public_spec.name = kOtherModel;
  other.config.set_name(kOtherModel);
  return other;
}

class World {
 public:
  explicit World(const WorldOptions& options)
      : options_(options),
        scenario_(*options.scenario),
        spec_(*options.spec),
        other_(OtherOf(*options.spec)),
        asked_(scenario_.aliased ? kAuditedAlias : kAuditedModel),
        public_spec_(Under(options.spec->public_spec, asked_)),
        choices_(ChoicesIn(scenario_, options.side)),
        central_(IsCentralMode(public_spec_.mode)),
        raw_(scenario_.combination->raw_caller),
        recorder_(std::make_unique<Recorder>()),
        timeline_(absl::FromUnixSeconds(1'700'000'000)),
        server_clock_(timeline_),
        binding_(options.draws == Draws::kBlind && (raw_ || options.blind_at_server), public_spec_,
                 *recorder_),
        network_({.seed = scenario_.seed,
                  .trouble = scenario_.trouble,
                  .rewards_are_the_servers = central_ && options.blind_at_server,
                  .contexts_are_the_servers = central_ && scenario_.differs == Differs::kRound,
                  .prompt = scenario_.life != ProcessLife::kUntouched},
                 timeline_, *recorder_),
        device_({.scenario = &scenario_,
                 .folder = options.folder + "/phone",
                 .draws = options.blind_at_server ? Draws::kReal : options.draws,
                 .mutant = options.mutant},
                timeline_, network_, *recorder_),
        visitors_(scenario_, choices_, asked_, timeline_, *recorder_),
        operators_(spec_, scenario_.aliased ? &other_ : nullptr, *recorder_),
        server_folder_(options.folder + "/server"),
        answers_(scenario_.choices.size()) {}

  absl::Status Run() {
    BANDANA_RETURN_IF_ERROR(OpenRoom());
    if (scenario_.aliased) operators_.MakeAlias();
    if (!raw_) BANDANA_RETURN_IF_ERROR(ComeToFront());
    absl::Time at = timeline_.now();
    for (std::size_t i = 0; i < scenario_.steps.size(); ++i) {
      at += scenario_.steps[i].after;
      while (timeline_.RunNext(at)) Settle();
      recorder_->Begin(static_cast<int>(i));
      recorder_->Now(at);
      BANDANA_RETURN_IF_ERROR(Do(scenario_.steps[i]));
      Settle();
    }
    at += kQuietTime;
    while (timeline_.RunNext(at)) Settle();
    BANDANA_RETURN_IF_ERROR(lived_);
    recorder_->Begin(static_cast<int>(scenario_.steps.size()));
    recorder_->Now(at);
    BANDANA_RETURN_IF_ERROR(Look());
    visitors_.Read();
    return absl::OkStatus();
  }

  std::unique_ptr<Recorder> TakeRecorder() {
    device_.Stop();
    CloseRoom();
    return std::move(recorder_);
  }

 private:
  absl::Status OpenRoom() {
    BANDANA_ASSIGN_OR_RETURN(
        server_, WorldServer::Open({.spec = &spec_,
                                    .other = scenario_.aliased ? &other_ : nullptr,
                                    .asked = asked_,
                                    .folder = server_folder_,
                                    .clock = &server_clock_,
                                    .catalogue_arms = scenario_.combination->catalogue_arms,
                                    .api = scenario_.combination->api,
                                    .rate = scenario_.rate,
                                    .by_follower = scenario_.combination->by_follower,
                                    .binding = &binding_,
                                    .mutant = options_.mutant},
                                   *recorder_));
    Attach(server_.get());
    return absl::OkStatus();
  }
  void CloseRoom() {
    Attach(nullptr);
    server_.reset();
  }
  void Attach(WorldServer* server) {
    network_.Attach(server);
    visitors_.Attach(server);
    operators_.Attach(server);
  }

  // After every event both parties do what is due by now. A reaction's moment is an event of both
  // worlds, whether it comes there or not: otherwise it would be this harness that tells of it.
  void Settle() {
    recorder_->Now(timeline_.now());
    device_.Step();
    if (server_ != nullptr) server_->Step();
  }

  // Other steps wait for the disk's space, or open files: before them the disk has space again.
  static bool GoesOnWithoutSpace(Act act) {
    return act == Act::kSelect || act == Act::kRead || act == Act::kSleep ||
           act == Act::kDeviceClock || act == Act::kServerClock || act == Act::kEntropy ||
           act == Act::kPeerEpoch || act == Act::kPeerPolicy;
  }

  absl::Status Do(const Step& step) {
    if (!GoesOnWithoutSpace(step.act)) {
      FullDisk::Set(FullDisk::Whose::kNobodys);
      Settle();
    }
    switch (step.act) {
      case Act::kSelect:
        Select(step.choice);
        return absl::OkStatus();
      case Act::kRead:
        visitors_.Read();
        return absl::OkStatus();
      case Act::kReadPages:
        server_->RecordPages();
        return absl::OkStatus();
      case Act::kLook:
        return Look();
      case Act::kSleep:
        timeline_.SleepUntil(timeline_.now() + scenario_.window * step.amount);
        return absl::OkStatus();
      case Act::kDeviceClock:
        device_.clock().Step(scenario_.window * step.amount);
        return absl::OkStatus();
      case Act::kServerClock:
        server_clock_.Step(scenario_.window * step.amount);
        return absl::OkStatus();
      case Act::kRestartDevice:
        if (raw_) return absl::OkStatus();
        device_.Stop();
        return StartDevice(step.amount >= 0.5);
      case Act::kKillDevice:
        if (raw_) return absl::OkStatus();
        BANDANA_RETURN_IF_ERROR(device_.Kill());
        return StartDevice(false);
      case Act::kRestartServer:
        CloseRoom();
        return OpenRoom();
      case Act::kKillServer:
        return KillServer();
      case Act::kOpenEpoch:
        operators_.OpenEpoch();
        return absl::OkStatus();
      case Act::kPeerEpoch:
        network_.TickEpoch();
        return absl::OkStatus();
      case Act::kPeerPolicy:
        NameAnotherPolicy();
        return absl::OkStatus();
      case Act::kEntropy:
        device_.FailDraws(step.amount < 0.5);
        return absl::OkStatus();
      case Act::kCheckpoint:
        operators_.Checkpoint();
        return absl::OkStatus();
      case Act::kFullDisk:
        FullDisk::Set(step.amount < 0.5 ? FullDisk::Whose::kDevices : FullDisk::Whose::kServers);
        return absl::OkStatus();
      case Act::kRefresh:
        if (device_.running()) device_.Refresh(absl::StrCat(scenario_.seed % kUsers));
        return absl::OkStatus();
      case Act::kUpdate:
        operators_.Update(step.amount);
        return absl::OkStatus();
      case Act::kDelete:
        operators_.Delete(absl::StrCat(static_cast<int>(step.amount * kUsers)));
        return absl::OkStatus();
      case Act::kAlias:
        operators_.MoveAlias(AliasMoves()[static_cast<std::size_t>(
            step.amount * static_cast<double>(AliasMoves().size()))]);
        return StartLater();
      case Act::kGuess:
        visitors_.Guess(step.choice);
        return absl::OkStatus();
      case Act::kForeground:
        return ComeToFront();
    }
    return absl::OkStatus();
  }

  // Applies the reaction's effect to the process.
  absl::Status Live() {
    switch (scenario_.life) {
      case ProcessLife::kUntouched:
        return absl::OkStatus();
      case ProcessLife::kEnds:
        return device_.Kill();
      case ProcessLife::kRestarts:
        BANDANA_RETURN_IF_ERROR(device_.Kill());
        return StartDevice(false);
      case ProcessLife::kSleeps:
        timeline_.SleepUntil(timeline_.now() + scenario_.window / 2);
        return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  absl::Status StartDevice(bool as_the_peer_says) {
    if (!server_->EpochShown()) return absl::OkStatus();  // nobody has the name that it asks by
    const bool other = as_the_peer_says && network_.policy().has_value();
    if (!other) network_.NamePolicy(std::nullopt);
    const absl::Status started = device_.Start(
        other ? *network_.policy() : Under(spec_.public_spec, asked_), network_.EpochNow());
    // The first posterior is a call as well.
    if (scenario_.rate.calls_per_second > 0 && absl::IsResourceExhausted(started)) {
      return absl::OkStatus();
    }
    BANDANA_RETURN_IF_ERROR(started);
    // Posteriors are in memory alone.
    if (scenario_.life == ProcessLife::kUntouched) RefreshAll();
    return absl::OkStatus();
  }

  // A start in both worlds, of the process or of another one. An application whose process a
  // reaction may end fetches posteriors then, and not when its process begins: the store keeps
  // them.
  absl::Status ComeToFront() {
    if (device_.running()) {
      device_.Begin();
    } else {
      BANDANA_RETURN_IF_ERROR(StartDevice(false));
    }
    if (scenario_.life != ProcessLife::kUntouched && device_.running()) RefreshAll();
    return absl::OkStatus();
  }

  void RefreshAll() {
    for (int user = 0; scenario_.combination->on_device && user < kUsers; ++user) {
      device_.Refresh(absl::StrCat(user));
    }
  }

  // An application that could not start tries again.
  absl::Status StartLater() {
    return raw_ || device_.running() ? absl::OkStatus() : StartDevice(false);
  }

  void NameAnotherPolicy() {
    PublicSpec other = public_spec_;
    if (other.reward_window && scenario_.seed % 2 == 0) {
      other.reward_window->duration /= 2;
    } else {
      other.events_per_user_max = 1000;
    }
    network_.NamePolicy(std::move(other));
  }

  absl::Status KillServer() {
    const std::string next = absl::StrCat(options_.folder, "/server.", ++server_lives_);
    BANDANA_RETURN_IF_ERROR(CopyFolder(server_folder_, next));
    CloseRoom();
    std::error_code ignored;
    std::filesystem::remove_all(server_folder_, ignored);
    server_folder_ = next;
    return OpenRoom();
  }

  absl::Status Look() {
    // A thief of the store sees how often the process began.
    if (device_.running() && scenario_.life == ProcessLife::kUntouched) {
      BANDANA_RETURN_IF_ERROR(device_.RecordStore());
    }
    return RecordFolder(server_folder_, central_, *recorder_);
  }

  void Select(int index) {
    if (raw_) return visitors_.Select(index, [this, index] { Schedule(index); });
    if (!device_.running()) return;
    device_.Select(choices_[index], [this, index](absl::StatusOr<Selection> selection) {
      if (!selection.ok()) return;
      if (scenario_.differs == Differs::kRound && index == scenario_.target) {
        recorder_->Differed();
      }
      answers_[index] = *std::move(selection);
      Schedule(index);
    });
  }

  // When reactions come, in both worlds: in a world without the reaction its moment is an event in
  // which nothing is done.
  void Schedule(int index) {
    const Choice& choice = choices_[index];
    const auto& [one, other] = choice.reactions;
    const auto& mine = choice.reactions[options_.side];
    if (one) ScheduleReaction(index, one->at, mine && mine->at == one->at ? mine : std::nullopt);
    if (other && (!one || other->at != one->at)) {
      ScheduleReaction(index, other->at, mine && mine->at == other->at ? mine : std::nullopt);
    }
    if (choice.repeat) {
      timeline_.After(
          scenario_.window * choice.repeat->at, Party::kWorld,
          [this, index, repeat = *choice.repeat] { React(index, repeat, /*is_reaction=*/false); });
    }
  }

  void ScheduleReaction(int index, double at, const std::optional<Reaction>& reaction) {
    timeline_.After(scenario_.window * at, Party::kWorld, [this, index, reaction] {
      if (reaction) React(index, *reaction, /*is_reaction=*/true);
    });
    if (index != scenario_.target || scenario_.life == ProcessLife::kUntouched) return;
    timeline_.After(scenario_.window * at + absl::Milliseconds(1), Party::kWorld,
                    [this, comes = reaction.has_value()] {
                      if (comes) lived_.Update(Live());
                    });
  }

  void React(int index, const Reaction& reaction, bool is_reaction) {
    recorder_->Now(timeline_.now());
    if (raw_) return visitors_.Report(index, reaction, is_reaction);
    // Without a window the application waits for the device: it owes a report.
    if (!device_.running()) return;
    const bool differs =
        is_reaction && index == scenario_.target && scenario_.differs == Differs::kReaction;
    device_.Report(answers_[index], reaction, [this, differs] {
      if (differs) recorder_->Differed();
    });
  }

  const WorldOptions options_;
  const Scenario& scenario_;
  ModelSpec spec_;  // of the server now
  const ModelSpec other_;
  const std::string asked_;  // the model's name, or the alias
  const PublicSpec public_spec_;
  const std::vector<Choice> choices_;
  const bool central_;
  const bool raw_;
  std::unique_ptr<Recorder> recorder_;
  Timeline timeline_;
  SimulatedClock server_clock_;
  WatchedBinding binding_;
  Network network_;
  WorldDevice device_;
  Visitors visitors_;
  Operators operators_;
  std::string server_folder_;
  int server_lives_ = 0;
  std::unique_ptr<WorldServer> server_;
  absl::Status lived_;
  std::vector<Selection> answers_;  // by choice
};

absl::StatusOr<std::unique_ptr<Recorder>> RunHere(const WorldOptions& options) {
  SeededBits bits(options.scenario->seed ^ 0x73797374656d);
  const ThreadBits mine(&bits);
  absl::StatusOr<std::unique_ptr<Recorder>> result;
  {
    FullDisk::Set(FullDisk::Whose::kNobodys);
    World world(options);
    if (absl::Status status = world.Run(); status.ok()) {
      result = world.TakeRecorder();
    } else {
      result = std::move(status);
    }
  }
  std::error_code ignored;
  std::filesystem::remove_all(options.folder, ignored);
  return result;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Recorder>> RunWorld(const WorldOptions& options) {
  absl::StatusOr<std::unique_ptr<Recorder>> result;
  std::thread([&] { result = RunHere(options); }).join();
  return result;
}

}  // namespace bandana::audit
