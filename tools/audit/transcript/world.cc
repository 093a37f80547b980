#include "tools/audit/transcript/world.h"

#include <bit>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/design/alias.h"
#include "common/design/privacy_rules.h"
#include "server/models/registry.h"
#include "tools/audit/alias_moves.h"
#include "tools/audit/replay_settings.h"
#include "tools/audit/transcript/full_disk.h"
#include "tools/audit/transcript/network.h"
#include "tools/audit/transcript/room.h"
#include "tools/audit/transcript/seeded_bits.h"
#include "tools/audit/transcript/stored_rows.h"
#include "tools/audit/transcript/timeline.h"

namespace bandana::audit {
namespace {

// Windows between a deferred decision and its activation.
constexpr double kShownAfter = 0.03;
// Beyond what a report that nobody answers is repeated for.
constexpr absl::Duration kQuietTime = absl::Seconds(150);

// A central server's draws: blind ones take the default for every reward, and noise that does not
// depend on the log, which holds the rewards.
class WatchedBinding final : public NoiseBinding {
 public:
  WatchedBinding(bool blind, double default_reward, Recorder& recorder)
      : blind_(blind), default_reward_(default_reward), recorder_(recorder) {}

  Sha256Digest HistoryOf(const Sha256Digest& history) const override {
    return blind_ ? Sha256Digest{} : history;
  }
  double RewardOf(double reward) const override {
    if (blind_) return default_reward_;
    std::string input(sizeof(reward), '\0');
    std::memcpy(input.data(), &reward, sizeof(reward));
    recorder_.Draw(std::move(input));
    return reward;
  }

 private:
  const bool blind_;
  const double default_reward_;
  Recorder& recorder_;
};

// The same model once more, under another name.
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
        central_(IsCentralMode(public_spec_.mode)),
        raw_(scenario_.combination->raw_caller),
        recorder_(std::make_unique<Recorder>()),
        timeline_(absl::FromUnixSeconds(1'700'000'000)),
        server_clock_(timeline_),
        binding_(options.draws == Draws::kBlind && (raw_ || options.blind_at_server),
                 public_spec_.default_reward(), *recorder_),
        network_({.seed = scenario_.seed,
                  .trouble = scenario_.trouble,
                  .rewards_are_the_servers = central_ && options.blind_at_server},
                 timeline_, *recorder_),
        phone_({.scenario = &scenario_,
                .folder = options.folder + "/phone",
                .draws = options.blind_at_server ? Draws::kReal : options.draws,
                .mutant = options.mutant},
               timeline_, network_, *recorder_),
        server_folder_(options.folder + "/server"),
        answers_(scenario_.choices.size()),
        tokens_(scenario_.choices.size()) {}

  absl::Status Run() {
    BANDANA_RETURN_IF_ERROR(OpenRoom());
    if (scenario_.aliased) MakeAlias();
    if (!raw_) BANDANA_RETURN_IF_ERROR(StartPhone(false));
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
    recorder_->Begin(static_cast<int>(scenario_.steps.size()));
    recorder_->Now(at);
    BANDANA_RETURN_IF_ERROR(Look());
    Read();
    return absl::OkStatus();
  }

  std::unique_ptr<Recorder> TakeRecorder() {
    phone_.Stop();
    CloseRoom();
    return std::move(recorder_);
  }

 private:
  absl::Status OpenRoom() {
    BANDANA_ASSIGN_OR_RETURN(room_,
                             Room::Open({.spec = &spec_,
                                         .other = scenario_.aliased ? &other_ : nullptr,
                                         .asked = asked_,
                                         .folder = server_folder_,
                                         .clock = &server_clock_,
                                         .catalogue_arms = scenario_.combination->catalogue_arms,
                                         .by_http = scenario_.combination->by_http,
                                         .by_follower = scenario_.combination->by_follower,
                                         .binding = &binding_,
                                         .mutant = options_.mutant},
                                        *recorder_));
    network_.Attach(room_.get());
    return absl::OkStatus();
  }
  void CloseRoom() {
    network_.Attach(nullptr);
    room_.reset();
  }

  // After every event both parties do what is due by now. A reaction's moment is an event of both
  // worlds, whether it comes there or not: otherwise it would be this harness that tells of it.
  void Settle() {
    recorder_->Now(timeline_.now());
    phone_.Step();
    if (room_ != nullptr) room_->Step();
  }

  // What waits for the disk's space, and what opens files, has space again.
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
        Read();
        return absl::OkStatus();
      case Act::kReadPages:
        room_->RecordPages();
        return absl::OkStatus();
      case Act::kLook:
        return Look();
      case Act::kSleep:
        timeline_.SleepUntil(timeline_.now() + scenario_.window * step.amount);
        return absl::OkStatus();
      case Act::kDeviceClock:
        phone_.clock().Step(scenario_.window * step.amount);
        return absl::OkStatus();
      case Act::kServerClock:
        server_clock_.Step(scenario_.window * step.amount);
        return absl::OkStatus();
      case Act::kRestartDevice:
        if (raw_) return absl::OkStatus();
        phone_.Stop();
        return StartPhone(step.amount >= 0.5);
      case Act::kKillDevice:
        if (raw_) return absl::OkStatus();
        BANDANA_RETURN_IF_ERROR(phone_.Kill());
        return StartPhone(false);
      case Act::kRestartServer:
        CloseRoom();
        return OpenRoom();
      case Act::kKillServer:
        return KillServer();
      case Act::kOpenEpoch:
        for (const auto& model : room_->models()) {
          recorder_->Text(Observer::kOthers, "OpenEpoch", model->OpenEpoch().status().ToString());
        }
        return absl::OkStatus();
      case Act::kPeerEpoch:
        network_.TickEpoch();
        return absl::OkStatus();
      case Act::kPeerPolicy:
        NameAnotherPolicy();
        return absl::OkStatus();
      case Act::kEntropy:
        phone_.FailDraws(step.amount < 0.5);
        return absl::OkStatus();
      case Act::kCheckpoint:
        return Checkpoint();
      case Act::kFullDisk:
        FullDisk::Set(step.amount < 0.5 ? FullDisk::Whose::kPhones : FullDisk::Whose::kServers);
        return absl::OkStatus();
      case Act::kRefresh:
        if (phone_.running()) phone_.Refresh(absl::StrCat(scenario_.seed % kUsers));
        return absl::OkStatus();
      case Act::kUpdate:
        return Update(step.amount);
      case Act::kDelete:
        Delete(absl::StrCat(static_cast<int>(step.amount * kUsers)));
        return absl::OkStatus();
      case Act::kAlias:
        MoveAlias(AliasMoves()[static_cast<std::size_t>(step.amount *
                                                        static_cast<double>(AliasMoves().size()))]);
        return StartLater();
    }
    return absl::OkStatus();
  }

  absl::Status StartPhone(bool as_the_peer_says) {
    if (!room_->EpochShown()) return absl::OkStatus();  // nobody has the name that it asks by
    const bool other = as_the_peer_says && network_.policy().has_value();
    if (!other) network_.NamePolicy(std::nullopt);
    BANDANA_RETURN_IF_ERROR(phone_.Start(
        other ? *network_.policy() : Under(spec_.public_spec, asked_), network_.EpochNow()));
    // Posteriors are in memory alone.
    for (int user = 0; scenario_.combination->on_device && user < kUsers; ++user) {
      phone_.Refresh(absl::StrCat(user));
    }
    return absl::OkStatus();
  }

  // It stands for both models, or for one where devices follow one.
  void MakeAlias() {
    for (const AliasMove& move : {kSplit, kUnsplit}) {
      MoveAlias(move);
      if (!room_->registry().ListAliases().empty()) return;
    }
  }

  void MoveAlias(const AliasMove& move) {
    recorder_->Text(Observer::kOthers, "PutAlias", Move(move, room_->registry()).ToString());
  }
  // An application that could not start tries again.
  absl::Status StartLater() {
    return raw_ || phone_.running() ? absl::OkStatus() : StartPhone(false);
  }

  // As SIGHUP does it. An application that starts later finds the new policy.
  absl::Status Update(double amount) {
    std::vector<const Setting*> rows;
    for (const Setting& setting : Settings()) {
      const bool changes = !setting.change.empty() && setting.path != "name";
      if (changes && Applies(setting, spec_.config)) rows.push_back(&setting);
    }
    const auto row = static_cast<std::size_t>(amount * static_cast<double>(rows.size()));
    const Setting& setting = *rows[std::min(row, rows.size() - 1)];
    std::vector<ConfigError> errors;
    auto next = ParseModelConfig(Change(setting, spec_.config), "", /*allow_files=*/false, errors);
    const absl::Status checked =
        next ? room_->model().CheckUpdate(*next) : InvalidArgument("no configuration");
    recorder_->Text(Observer::kOthers, "UpdateModel",
                    absl::StrCat(ToAbsl(setting.path), ": ", checked.ToString()));
    if (!checked.ok()) return absl::OkStatus();
    // Whoever reports without a window promises that the moment ignores the reaction, which callers
    // here do not.
    if (spec_.public_spec.reward_window && !next->public_spec.reward_window) {
      return absl::OkStatus();
    }
    std::vector<ModelSpec> specs = {*next};
    if (scenario_.aliased) specs.push_back(other_);
    const auto failed = room_->registry().Configure(std::move(specs));
    for (const server::AbsentModel& one : failed) {
      recorder_->Text(Observer::kOthers, "UpdateModel", one.why.ToString());
    }
    if (failed.empty()) spec_ = *std::move(next);
    return absl::OkStatus();
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

  absl::Status Checkpoint() {
    for (const auto& model : room_->models()) {
      const auto written = model->Checkpoint();
      recorder_->Text(Observer::kOthers, "Checkpoint status", written.status().ToString());
      if (written.ok()) recorder_->Message(Observer::kOthers, "Checkpoint", *written);
    }
    return absl::OkStatus();
  }

  // What it answers tells whom the model knows: everybody who was selected for, or whose report was
  // due, reacted to or not.
  void Delete(const std::string& user) {
    for (const auto& model : room_->models()) {
      const auto deleted = model->DeleteUsers({&user, 1});
      recorder_->Text(Observer::kOthers, "DeleteUsers status", deleted.status().ToString());
      if (deleted.ok()) recorder_->Message(Observer::kOthers, "DeleteUsers", *deleted);
    }
  }

  absl::Status Look() {
    if (phone_.running()) BANDANA_RETURN_IF_ERROR(phone_.RecordStore());
    return RecordFolder(server_folder_, central_, *recorder_);
  }

  // Another user's calls, and what operators read.
  void Read() {
    Ask(asked_);
    if (scenario_.aliased) {
      Ask(kAuditedModel);
      Ask(kOtherModel);
    }
    Choice other{.user = 1, .arms = 3, .features = {0.5, 0, 0, 0, 0.5, 0, 0, 0, 0.5}, .top_k = 3};
    Ask<v1::SelectResponse>("Select", RequestOf(other));
    for (const auto& model : room_->models()) {
      const auto users = model->ListUsers("", 0);
      recorder_->Text(Observer::kOthers, "ListUsers status", users.status().ToString());
      if (users.ok()) recorder_->Message(Observer::kOthers, "ListUsers", *users);
    }
    room_->RecordReadings();
  }

  void Ask(const std::string& name) {
    v1::GetModelRequest model;
    model.set_model(name);
    Ask<v1::GetModelResponse>("GetModel", model);
    v1::GetPosteriorRequest posterior;
    posterior.set_model(name);
    Ask<v1::GetPosteriorResponse>("GetPosterior", posterior);
    v1::GetArmEffectsRequest arms;
    arms.set_model(name);
    Ask<v1::GetArmEffectsResponse>("GetArmEffects", arms);
  }

  template <typename Response, typename Request>
  void Ask(const std::string& name, const Request& request) {
    room_->Call<Request, Response>(request, [&](const absl::Status& status, Response& response) {
      recorder_->Text(Observer::kOthers, name + " status", status.ToString());
      recorder_->Message(Observer::kOthers, name, response);
    });
  }

  v1::SelectRequest RequestOf(const Choice& choice) const {
    v1::SelectRequest request;
    request.set_model(asked_);
    request.set_user(absl::StrCat(choice.user));
    scenario_.combination->asking->Add(choice, request);
    return request;
  }

  void Select(int index) {
    const Choice& choice = scenario_.choices[index];
    if (raw_) {
      room_->Call<v1::SelectRequest, v1::SelectResponse>(
          RequestOf(choice), [&](const absl::Status& status, v1::SelectResponse& response) {
            recorder_->Text(Observer::kOthers, "Select status", status.ToString());
            recorder_->Message(Observer::kOthers, "Select", response);
            if (!status.ok()) return;
            tokens_[index] =
                response.slot_tokens_size() > 0 ? response.slot_tokens(0) : response.token();
            Schedule(index);
            if (!Asks().defers()) return;
            // The application's act: at a moment that was fixed before.
            timeline_.After(scenario_.window * kShownAfter, Party::kWorld,
                            [this, index] { Activate(index); });
          });
      return;
    }
    if (!phone_.running()) return;
    phone_.Select(choice, [this, index](absl::StatusOr<Selection> selection) {
      if (!selection.ok()) return;
      answers_[index] = *std::move(selection);
      Schedule(index);
    });
  }

  const Asking& Asks() const { return *scenario_.combination->asking; }

  void Activate(int index) {
    recorder_->Now(timeline_.now());
    v1::ActivateRequest request;
    request.set_model(asked_);
    request.add_decision_ids(Asks().NameOf(scenario_.choices[index]));
    request.add_tokens(tokens_[index]);
    Ask<v1::ActivateResponse>("Activate", request);
  }

  // When reactions come, in both worlds: in a world without the reaction its moment is an event in
  // which nothing is done.
  void Schedule(int index) {
    const Choice& choice = scenario_.choices[index];
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
  }

  void React(int index, const Reaction& reaction, bool is_reaction) {
    recorder_->Now(timeline_.now());
    if (raw_) return ReportRaw(index, reaction, is_reaction);
    // Without a window the application waits for the device: it owes a report.
    if (!phone_.running()) return;
    const bool target = is_reaction && index == scenario_.target;
    phone_.Report(answers_[index], reaction, [this, target] {
      if (target) recorder_->Reacted();
    });
  }

  // The call that is the reaction is its user's own; the answer to a repeat is not to tell of it.
  void ReportRaw(int index, const Reaction& reaction, bool is_reaction) {
    v1::ReportRequest request;
    request.set_model(asked_);
    v1::Outcome& outcome = *request.add_outcomes();
    outcome.set_decision_id(Asks().NameOf(scenario_.choices[index]));
    if (outcome.decision_id().empty()) {
      outcome.set_token(tokens_[index]);
      outcome.set_shown(static_cast<std::uint32_t>(scenario_.choices[index].shown));
    }
    if (reaction.value) outcome.set_reward(*reaction.value);
    const bool compared = !is_reaction || index != scenario_.target;
    room_->Call<v1::ReportRequest, v1::ReportResponse>(
        request, [this, compared](const absl::Status& status, v1::ReportResponse& response) {
          if (!compared) {
            if (status.ok() && response.results(0).code() == v1::APPLIED) recorder_->Reacted();
            return;
          }
          recorder_->Text(Observer::kOthers, "Report status", status.ToString());
          recorder_->Message(Observer::kOthers, "Report", response);
        });
  }

  const WorldOptions options_;
  const Scenario& scenario_;
  ModelSpec spec_;  // of the server now
  const ModelSpec other_;
  const std::string asked_;  // the model's name, or the alias
  const PublicSpec public_spec_;
  const bool central_;
  const bool raw_;
  std::unique_ptr<Recorder> recorder_;
  Timeline timeline_;
  SimulatedClock server_clock_;
  WatchedBinding binding_;
  Network network_;
  Phone phone_;
  std::string server_folder_;
  int server_lives_ = 0;
  std::unique_ptr<Room> room_;
  std::vector<Selection> answers_;   // by choice
  std::vector<std::string> tokens_;  // of raw callers, by choice
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
