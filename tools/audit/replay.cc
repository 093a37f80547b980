#include "tools/audit/replay.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "server/models/folder/checkpoint_store.h"
#include "server/models/folder/export.h"
#include "server/models/folder/folder_restore.h"
#include "server/models/folder/recovery.h"
#include "server/models/folder/stored_config.h"
#include "server/models/registry.h"
#include "tools/audit/alias_moves.h"
#include "tools/audit/replay_faults.h"
#include "tools/audit/replay_model.h"
#include "tools/audit/replay_settings.h"
#include "tools/base/json.h"

namespace bandana::audit {
namespace {

namespace fs = std::filesystem;

constexpr int kKeys = 2;
// A share of the largest release. Releases are sums of some dozen doubles; the least change of an
// increment that the audit makes is 1e-6 of it and more.
constexpr double kSame = 1e-9;
// Sparse estimates: what the audit changes moves one by a thousandth of it; noise by a tenth.
constexpr double kNear = 0.02;
// The randomizer at epsilon 1: independent outputs are equal with probability 0.6 at most, so nine
// tenths of 64 are by chance with probability below 1e-6, and under two keys below 1e-12.
constexpr double kMostlyEqual = 0.9;

enum class Reopening { kRestart, kRestore, kImport, kUpdate, kDelete, kAlias };
// Those that another configuration may come in.
constexpr Reopening kReopenings[] = {Reopening::kRestart, Reopening::kRestore, Reopening::kImport,
                                     Reopening::kUpdate};

std::string_view NameOf(Reopening reopening) {
  switch (reopening) {
    case Reopening::kRestart:
      return "restart";
    case Reopening::kRestore:
      return "restore";
    case Reopening::kImport:
      return "import";
    case Reopening::kUpdate:
      return "update";
    case Reopening::kDelete:
      return "deletion";
    case Reopening::kAlias:
      return "alias";
  }
  return "";
}

std::string_view NameOf(std::optional<Replayed> outcome) {
  if (!outcome) return "the same noise on other data";
  switch (*outcome) {
    case Replayed::kEqual:
      return "equal releases";
    case Replayed::kRefused:
      return "a refusal";
    case Replayed::kIndependent:
      return "independent noise";
  }
  return "";
}

class TempFolder {
 public:
  static absl::StatusOr<std::unique_ptr<TempFolder>> Make() {
    std::string path = absl::StrCat(Parent(), "/bandana-replay-XXXXXX");
    if (mkdtemp(path.data()) == nullptr) return Unavailable("cannot make a folder ", path);
    return std::unique_ptr<TempFolder>(new TempFolder(std::move(path)));
  }
  ~TempFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  // Thousands of folders that nobody needs afterwards are best never on a disk.
  static std::string Parent() {
    constexpr char kMemory[] = "/dev/shm";
    if (const char* const chosen = getenv("TMPDIR"); chosen != nullptr) return chosen;
    return access(kMemory, W_OK) == 0 ? kMemory : "/tmp";
  }
  explicit TempFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

std::string FolderIn(const std::string& data_dir) { return data_dir + "/models/m"; }

// A model of one key that was killed: its releases until then, and its folder.
struct Killed {
  std::string data_dir;
  std::vector<double> releases;
  std::string exported;
};

double LargestOf(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i] - (b.empty() ? 0 : b[i])));
  }
  return largest;
}

struct Pair {
  std::vector<double> before;
  std::vector<double> after;
  bool equal() const { return before == after; }
};

// nullopt: the same noise on other data. Independent is what is neither.
std::optional<Replayed> Judge(const ReplayModel& model, const Pair (&pairs)[kKeys]) {
  if (pairs[0].equal() && pairs[1].equal()) return Replayed::kEqual;
  const std::size_t size = pairs[0].before.size();
  int equal = 0;
  bool same_shift = false;
  double moved = 0;
  for (const Pair& pair : pairs) moved = std::max(moved, LargestOf(pair.before, pair.after));
  const double scale = LargestOf(pairs[0].before, {});
  for (std::size_t i = 0; i < size; ++i) {
    const double one = pairs[0].before[i] - pairs[0].after[i];
    const double two = pairs[1].before[i] - pairs[1].after[i];
    equal += (one == 0) + (two == 0);
    same_shift =
        same_shift || (std::abs(one - two) <= kSame * scale && std::abs(one) > kSame * scale);
  }
  bool violation = false;
  switch (model.form) {
    case ReleaseForm::kLinear:
      violation = same_shift;
      break;
    case ReleaseForm::kValues:
      violation = moved < kNear * LargestOf(pairs[0].before, pairs[1].before);
      break;
    case ReleaseForm::kDraws:
      violation = equal >= kMostlyEqual * kKeys * static_cast<double>(size);
      break;
  }
  return violation ? std::nullopt : std::optional(Replayed::kIndependent);
}

// The clear errors of a refusal.
bool IsRefusal(const absl::Status& status, Reopening reopening) {
  if (status.message().empty()) return false;
  if (absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status)) return true;
  return reopening == Reopening::kImport && absl::IsDataLoss(status);
}

class Audit {
 public:
  Audit(const ReplayFault& fault, std::string folder)
      : fault_(fault), folder_(std::move(folder)), sound_(fault.make(false, false)) {}

  absl::Status RunModel(const ReplayModel& model) {
    model_ = &model;
    for (int key = 0; key < kKeys; ++key) {
      BANDANA_ASSIGN_OR_RETURN(killed_[key], Kill(model, key));
    }
    // The audit sees nothing where nothing is noised.
    if (LargestOf(killed_[0].releases, killed_[1].releases) == 0) {
      return Internal("replay: ", model.name, " has released nothing");
    }
    for (const Reopening reopening : kReopenings) {
      if (!Takes(reopening)) continue;
      BANDANA_RETURN_IF_ERROR(
          Check("nothing", "", model.config, reopening, Replayed::kEqual, sound_.get()));
    }
    if (Takes(Reopening::kDelete)) {
      const bool refused = model.deletion == Deletion::kRefused;
      BANDANA_RETURN_IF_ERROR(Check("nothing", kDeletedUser, model.config, Reopening::kDelete,
                                    refused ? Replayed::kRefused : Replayed::kEqual, sound_.get()));
    }
    for (const AliasMove& move : AliasMoves()) {
      if (!Takes(Reopening::kAlias)) continue;
      move_ = &move;
      BANDANA_RETURN_IF_ERROR(Check(move.path, move.alias, model.config, Reopening::kAlias,
                                    Replayed::kEqual, sound_.get()));
    }
    for (const Setting& setting : Settings()) {
      if (!Applies(setting, model.config)) continue;
      const v1::ModelConfig config = Change(setting, model.config);
      for (const Reopening reopening : kReopenings) {
        // The two others are told the name apart from the configuration.
        if (setting.path == "name" && reopening != Reopening::kRestart) continue;
        if (!Takes(reopening)) continue;
        BANDANA_RETURN_IF_ERROR(Check(setting.path, setting.change, config, reopening,
                                      Expected(setting, model.name), sound_.get()));
      }
    }
    return CheckOtherBuilds();
  }

  ReplayCounts Take() { return std::move(counts_); }

 private:
  // Restore and import are the shipped ones: they take no binding that is broken.
  bool Takes(Reopening reopening) const {
    return fault_.name.empty() || reopening == Reopening::kRestart;
  }

  // Another build of the server that computes increments differently: of all replayed events, or of
  // one that lies in the same sum as others.
  absl::Status CheckOtherBuilds() {
    const auto all = fault_.make(true, false);
    BANDANA_RETURN_IF_ERROR(Check("another build", "every reward", model_->config,
                                  Reopening::kRestart, Replayed::kIndependent, all.get()));
    // Draws are of one event each; a sparse estimate may clip the one reward's change away.
    if (model_->form != ReleaseForm::kLinear) return absl::OkStatus();
    const auto one = fault_.make(true, true);
    return Check("another build", "one reward", model_->config, Reopening::kRestart,
                 Replayed::kIndependent, one.get());
  }

  absl::StatusOr<Killed> Kill(const ReplayModel& model, int key) const {
    Killed killed{.data_dir = absl::StrCat(folder_, "/killed-", key)};
    const std::string running = absl::StrCat(folder_, "/running");
    BANDANA_RETURN_IF_ERROR(Remove(killed.data_dir));
    BANDANA_RETURN_IF_ERROR(Remove(running));
    BANDANA_RETURN_IF_ERROR(MakeFolders(running + "/models"));
    ReplayClock clock;
    BANDANA_ASSIGN_OR_RETURN(
        const auto hosted, OpenReplayed(model.config, FolderIn(running), clock, key, sound_.get()));
    BANDANA_RETURN_IF_ERROR(RunEvents(model, *hosted, clock));
    BANDANA_RETURN_IF_ERROR(Copy(running, killed.data_dir));
    BANDANA_ASSIGN_OR_RETURN(killed.exported, hosted->Export());
    BANDANA_ASSIGN_OR_RETURN(killed.releases, ReleasesOf(model, killed.exported));
    return killed;
  }

  // One case: the setting and one way of reopening, for both keys where it matters.
  absl::Status Check(std::string_view setting, std::string_view change,
                     const v1::ModelConfig& config, Reopening reopening, Replayed expected,
                     const NoiseBinding* binding) {
    ++counts_.cases;
    Pair pairs[kKeys];
    std::optional<Replayed> outcome;
    // Where all releases are expected to be equal, one key whose releases are equal suffices. Draws
    // may be equal by chance.
    bool same = false;
    for (int key = 0; key < kKeys && !same; ++key) {
      const absl::StatusOr<std::vector<double>> after = After(config, reopening, key, binding);
      if (!after.ok()) {
        if (!IsRefusal(after.status(), reopening)) {
          Violation(setting, change, reopening, after.status().ToString());
          return absl::OkStatus();
        }
        outcome = Replayed::kRefused;
        break;
      }
      pairs[key] = {Before(reopening, key), *after};
      if (pairs[key].before.size() != pairs[key].after.size()) {
        Violation(setting, change, reopening, "releases of another length");
        return absl::OkStatus();
      }
      same = expected == Replayed::kEqual && pairs[key].equal() &&
             (model_->form != ReleaseForm::kDraws || key + 1 == kKeys);
    }
    if (!outcome) outcome = same ? std::optional(Replayed::kEqual) : Judge(*model_, pairs);
    Count(outcome);
    if (outcome != expected) {
      Violation(setting, change, reopening,
                absl::StrCat(ToAbsl(NameOf(outcome)), ", not ", ToAbsl(NameOf(expected))));
    }
    return absl::OkStatus();
  }

  // The earlier releases, to be found again with the noise that they had. Those of a deleted user's
  // own node are gone.
  std::vector<double> Before(Reopening reopening, int key) const {
    std::vector<double> releases = killed_[key].releases;
    if (reopening == Reopening::kDelete && model_->deletion == Deletion::kOwnNode) {
      std::fill_n(releases.begin(), releases.size() / kUsers, 0);
    }
    return releases;
  }

  void Count(std::optional<Replayed> outcome) {
    counts_.equal += outcome == Replayed::kEqual;
    counts_.independent += outcome == Replayed::kIndependent;
    counts_.refused += outcome == Replayed::kRefused;
  }

  void Violation(std::string_view setting, std::string_view change, Reopening reopening,
                 std::string_view what) {
    counts_.violations.push_back(absl::StrCat(model_->name, ", ", ToAbsl(NameOf(reopening)), ", ",
                                              ToAbsl(setting), " (", ToAbsl(change),
                                              "): ", ToAbsl(what)));
  }

  absl::StatusOr<std::vector<double>> After(const v1::ModelConfig& config, Reopening reopening,
                                            int key, const NoiseBinding* binding) const {
    const std::string data_dir = folder_ + "/case";
    BANDANA_RETURN_IF_ERROR(Remove(data_dir));
    ReplayClock clock;
    if (reopening == Reopening::kImport) return AfterImport(config, data_dir, key, clock);
    BANDANA_RETURN_IF_ERROR(Copy(killed_[key].data_dir, data_dir));
    if (fault_.bound_is_forgotten) BANDANA_RETURN_IF_ERROR(ForgetBound(config, data_dir));
    if (reopening == Reopening::kRestore) {
      BANDANA_ASSIGN_OR_RETURN(const ModelSpec spec, server::ParseStoredConfig(config));
      BANDANA_RETURN_IF_ERROR(
          server::RestoreModelFolder(spec, {.data_dir = data_dir, .noise_key = ReplayKey(key)})
              .status());
    }
    if (reopening == Reopening::kUpdate) {
      // It runs on as before, and then takes the change, as ModelRegistry::Update does it.
      BANDANA_ASSIGN_OR_RETURN(const ModelSpec spec, server::ParseStoredConfig(config));
      BANDANA_ASSIGN_OR_RETURN(const auto running, OpenReplayed(model_->config, FolderIn(data_dir),
                                                                clock, key, binding));
      running->Step();
      BANDANA_RETURN_IF_ERROR(running->CheckUpdate(spec));
      running->Retire();
    }
    if (reopening == Reopening::kDelete) {
      BANDANA_ASSIGN_OR_RETURN(const auto running,
                               OpenReplayed(config, FolderIn(data_dir), clock, key, binding));
      const std::string user = kDeletedUser;
      BANDANA_RETURN_IF_ERROR(running->DeleteUsers({&user, 1}).status());
    }
    if (reopening == Reopening::kAlias)
      BANDANA_RETURN_IF_ERROR(MoveAlias(config, data_dir, key, clock));
    BANDANA_ASSIGN_OR_RETURN(const auto hosted,
                             OpenReplayed(config, FolderIn(data_dir), clock, key, binding));
    hosted->Step();
    BANDANA_ASSIGN_OR_RETURN(const std::string exported, hosted->Export());
    return ReleasesOf(*model_, exported);
  }

  // A server has the model and another one of the same promise, under an alias of both. It starts
  // again, and the alias is moved.
  absl::Status MoveAlias(const v1::ModelConfig& config, const std::string& data_dir, int key,
                         const Clock& clock) const {
    v1::ModelConfig other = config;
    other.set_name(kOtherModel);
    server::ModelRegistry::Options options{.data_dir = data_dir, .models_max = 2, .stepped = true};
    options.open = [key](ModelSpec spec, const std::string& folder, const Clock& of_models,
                         server::HostedModelOptions model) {
      model.noise_key = ReplayKey(key);
      return server::HostedModel::Open(std::move(spec), folder, of_models, model);
    };
    for (const AliasMove& move : {kSplit, *move_}) {
      BANDANA_ASSIGN_OR_RETURN(const auto models, server::ModelRegistry::Open(options, clock));
      for (const v1::ModelConfig& one : {config, other}) {
        BANDANA_ASSIGN_OR_RETURN(ModelSpec spec, server::ParseStoredConfig(one));
        BANDANA_RETURN_IF_ERROR(models->AddConfigured(std::move(spec)));
      }
      absl::Status moved = Move(move, *models);
      if (!moved.ok() && !absl::IsNotFound(moved)) return moved;
      for (const auto& model : models->List()) model->Step();
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<double>> AfterImport(const v1::ModelConfig& config,
                                                  const std::string& data_dir, int key,
                                                  const Clock& clock) const {
    BANDANA_ASSIGN_OR_RETURN(const server::ExportedModel original,
                             server::DecodeExport(killed_[key].exported));
    const auto catalogue = server::Catalogue::Make(static_cast<int>(config.dimension()), {});
    const std::string changed =
        server::EncodeExport(config, server::EncodeAgain(original.checkpoint), *catalogue);
    BANDANA_RETURN_IF_ERROR(MakeFolders(data_dir));
    BANDANA_ASSIGN_OR_RETURN(
        const auto registry,
        server::ModelRegistry::Open(
            {.data_dir = data_dir, .models_max = 1, .warn = nullptr, .stepped = true}, clock));
    BANDANA_ASSIGN_OR_RETURN(const auto copy, registry->Import("m", changed));
    BANDANA_ASSIGN_OR_RETURN(const std::string exported, copy->Export());
    return ReleasesOf(*model_, exported);
  }

  // The mutant's folder: what names the feature bound names that of `config`.
  static absl::Status ForgetBound(const v1::ModelConfig& config, const std::string& data_dir) {
    const absl::StatusOr<ModelSpec> spec = server::ParseStoredConfig(config);
    if (!spec.ok()) return absl::OkStatus();
    const std::string folder = FolderIn(data_dir);
    BANDANA_ASSIGN_OR_RETURN(const std::string text,
                             server::ReadIdentityFile(*server::StateInFolder(folder)));
    BANDANA_ASSIGN_OR_RETURN(Identity identity, ParseIdentity(text));
    for (auto& [name, value] : identity.fixed) {
      if (name != "feature_l2_max") continue;
      for (const auto& [other, of_config] : IdentityOf(*spec, {}).fixed) {
        if (other == name) value = of_config;
      }
    }
    BANDANA_RETURN_IF_ERROR(server::WriteIdentity(*server::StateInFolder(folder), identity));
    const server::CheckpointStore store({.folder = folder}, [](const std::string&) {});
    BANDANA_ASSIGN_OR_RETURN(const std::vector<server::CheckpointFile> files, store.Files());
    for (const server::CheckpointFile& file : files) {
      BANDANA_ASSIGN_OR_RETURN(server::Checkpoint checkpoint, store.Load(file));
      checkpoint.fixed = FixedDigest(identity);
      BANDANA_RETURN_IF_ERROR(
          WriteFileDurably(store.Path(file), server::EncodeAgain(checkpoint), 0600));
    }
    return absl::OkStatus();
  }

  static absl::Status Remove(const std::string& path) {
    std::error_code error;
    fs::remove_all(path, error);
    return error ? Unavailable("cannot remove ", path) : absl::OkStatus();
  }
  static absl::Status Copy(const std::string& from, const std::string& to) {
    std::error_code error;
    fs::copy(from, to, fs::copy_options::recursive, error);
    return error ? Unavailable("cannot copy ", from) : absl::OkStatus();
  }

  const ReplayFault& fault_;
  const std::string folder_;
  const std::unique_ptr<NoiseBinding> sound_;  // of the same build, with the fault
  const ReplayModel* model_ = nullptr;
  const AliasMove* move_ = nullptr;  // of Reopening::kAlias
  Killed killed_[kKeys];
  ReplayCounts counts_;
};

}  // namespace

absl::StatusOr<ReplayCounts> RunReplay(std::string_view mutant,
                                       const std::function<void(std::string_view)>& progress) {
  BANDANA_RETURN_IF_ERROR(CheckSettings());
  BANDANA_RETURN_IF_ERROR(CheckAliasMoves());
  const std::span<const ReplayFault> faults = ReplayFaults();
  const auto fault = std::find_if(faults.begin(), faults.end(),
                                  [&](const ReplayFault& one) { return one.name == mutant; });
  if (fault == faults.end()) return NotFound("no mutant ", ToAbsl(mutant), " (--list_mutants)");
  BANDANA_ASSIGN_OR_RETURN(const std::unique_ptr<TempFolder> folder, TempFolder::Make());
  Audit audit(*fault, folder->path());
  for (const ReplayModel& model : ReplayModels()) {
    progress(model.name);
    BANDANA_RETURN_IF_ERROR(audit.RunModel(model));
  }
  ReplayCounts counts = audit.Take();
  counts.settings = FieldsOfModelConfig().size();
  return counts;
}

std::string ToJson(const ReplayCounts& counts) {
  JsonWriter json;
  json.BeginObject();
  json.Key("settings").Integer(counts.settings);
  json.Key("models").Integer(ReplayModels().size());
  json.Key("cases").Integer(counts.cases);
  json.Key("equal").Integer(counts.equal);
  json.Key("independent").Integer(counts.independent);
  json.Key("refused").Integer(counts.refused);
  json.Key("violations").Integer(counts.violations.size());
  json.Key("found").BeginArray();
  for (const std::string& violation : counts.violations) json.Text(violation);
  json.EndArray();
  json.EndObject();
  return json.Take();
}

}  // namespace bandana::audit
