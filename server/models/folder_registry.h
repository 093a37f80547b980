// The registry of the models in a data folder: who holds what. Internal to registry.cc.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/shared_cell.h"
#include "common/base/status.h"
#include "common/design/event_rule.h"
#include "server/models/aliases/alias_file.h"
#include "server/models/folder/export.h"
#include "server/models/registry.h"

namespace bandana::server {

class Registry final : public ModelRegistry {
 public:
  Registry(const Options& options, std::shared_ptr<SharedFiles> shared, const Clock& clock)
      : folder_(options.data_dir + "/models"),
        data_dir_(options.data_dir),
        models_max_(options.models_max),
        log_(options.log),
        checkpoint_seal_(options.checkpoint_seal),
        noise_key_file_(options.noise_key_file),
        warn_(options.warn),
        stepped_(options.stepped),
        token_lifetime_max_(options.token_lifetime_max),
        clock_ahead_max_(options.clock_ahead_max),
        free_bytes_(options.free_bytes),
        address_(options.address),
        hand_decision_(options.hand_decision),
        owner_gone_(options.owner_gone),
        owner_reached_(options.owner_reached),
        ask_others_(options.ask_others),
        open_(options.open),
        clock_(clock),
        named_(!options.open_later),
        alias_store_(options.data_dir, std::move(shared)) {
    models_.store(std::make_shared<const Models>());
    bound_.store(std::make_shared<const BoundAliases>());
  }
  ~Registry() override { StopWatching(); }

  // Finds models and aliases of earlier runs, and of other servers of the store: models are absent
  // until they are opened.
  absl::Status FindStored();
  // Opens those.
  std::vector<AbsentModel> OpenStored();
  // Where servers share the store: watches it from now on, and takes models over and gives them up.
  void StartWatching();

  std::shared_ptr<HostedModel> Find(std::string_view name) const override {
    const auto models = models_.load();
    const auto it = models->find(name);
    return it == models->end() ? nullptr : it->second.model;
  }
  std::vector<std::shared_ptr<HostedModel>> List() const override {
    std::vector<std::shared_ptr<HostedModel>> list;
    const auto models = models_.load();  // kept: another thread may replace it meanwhile
    for (const auto& [name, entry] : *models) {
      if (entry.model != nullptr) list.push_back(entry.model);
    }
    return list;
  }
  std::vector<AbsentModel> Absent() const override {
    std::vector<AbsentModel> absent;
    const auto models = models_.load();
    for (const auto& [name, entry] : *models) {
      if (entry.model == nullptr) absent.push_back({name, entry.why, entry.opening});
    }
    return absent;
  }

  bool MayBeNew(std::string_view name) const override;
  absl::StatusOr<Standing> Stand(const std::string& model, const InstanceId& instance) override;
  bool KnowsAll() const override { return named_ && !stored_unknown_; }
  bool hides_reports() const override { return hides_reports_ || !KnowsAll(); }
  bool HidesReportsOf(std::string_view name) const override;
  void SetModelsMax(int models_max) override { models_max_ = models_max; }

  std::vector<AbsentModel> Configure(std::vector<ModelSpec> specs) override;
  void Recover() override;
  std::vector<std::string> Others() const override;
  void Leave() override;
  absl::Status MayUpdate(std::string_view name) const override;
  absl::StatusOr<std::shared_ptr<HostedModel>> Update(ModelSpec spec) override;
  absl::StatusOr<std::uint64_t> OpenEpoch(std::string_view name) override;
  absl::Status AddConfigured(ModelSpec spec) override;
  absl::StatusOr<std::shared_ptr<HostedModel>> Create(ModelSpec spec) override;
  absl::Status CheckImport(std::string_view name, const v1::ExportHeader& header) override;
  absl::StatusOr<TempFile> NewImportFile() override { return TempFile::Make(folder_); }
  absl::StatusOr<std::shared_ptr<HostedModel>> Import(std::string_view name,
                                                      std::string_view exported,
                                                      const v1::ExportHeader* promised) override;
  absl::Status Delete(std::string_view name) override;

  std::shared_ptr<const BoundAlias> FindAlias(std::string_view name) const override;
  std::vector<AliasSpec> ListAliases() const override;
  absl::Status AliasesStatus() const override;
  std::vector<std::string> AliasTroubles() const override;
  absl::StatusOr<AliasSpec> PutAlias(AliasSpec alias) override;
  absl::Status DeleteAlias(std::string_view name) override;
  std::vector<AbsentModel> ConfigureAliases(std::vector<AliasSpec> aliases) override;

 private:
  // Folders that are no models: half-made ones, and those in which a model is tried out. What a
  // crash leaves of them goes at the next start.
  static constexpr std::string_view kNewPrefix = ".new-";

  struct Entry {
    std::shared_ptr<HostedModel> model;  // null: absent
    bool configured = false;
    std::shared_ptr<const ModelSpec> spec;  // null: its stored configuration is not readable
    std::string fingerprint;                // FingerprintOf(*spec) as it was opened
    absl::Status why;                       // it is absent
    bool opening = false;                   // it is absent, but not for long
    bool retired = false;                   // another server owns it, and it is not followed yet
    bool differs = false;                   // it is absent: its owner computes something else
  };
  using Models = std::map<std::string, Entry, std::less<>>;
  using BoundAliases = std::map<std::string, std::shared_ptr<const BoundAlias>, std::less<>>;
  using Job = std::function<absl::Status()>;
  using Jobs = std::vector<std::pair<std::string, Job>>;  // by model

  static absl::Status Opening() { return Unavailable("is being opened"); }
  // The worst is assumed of a model whose configuration nobody can read.
  static bool MayHide(const Entry& entry) {
    return entry.spec == nullptr || HidesReports(entry.spec->public_spec);
  }
  // What a restart would take up, as far as it can differ: the configuration, and the files that it
  // names.
  static std::string FingerprintOf(const ModelSpec& spec);
  std::string Folder(std::string_view name) const { return folder_ + "/" + std::string(name); }
  // Under store_mutex_.
  void Store(Models models) {
    Bind(models);
    hides_reports_ = std::any_of(models.begin(), models.end(),
                                 [](const auto& named) { return MayHide(named.second); });
    models_.store(std::make_shared<const Models>(std::move(models)));
  }
  // What follows is in registry_aliases.cc. Finds the models of all aliases. Under store_mutex_.
  void Bind(const Models& models);
  std::shared_ptr<const BoundAlias> BoundOf(const AliasSpec& alias, const Models& models) const;
  // Under mutex_, as all changes of aliases.
  void LoadAliases();
  // What another server has made of the shared ones, if anything.
  void FollowAliases();
  void TakeOverAliases();
  // Durably, unless the file cannot be read.
  absl::Status ReplaceAliases(Aliases next);
  // The models of an alias that is to be. Errors: those of PutAlias.
  absl::StatusOr<std::vector<std::shared_ptr<HostedModel>>> CheckShares(
      const AliasSpec& alias) const;
  // In which field the policy of an alias differs from this one, where a model of it can say.
  std::string PolicyChange(const AliasSpec& alias, const PublicSpec& next) const;
  // Errors: FAILED_PRECONDITION the model is behind an alias, or would leave an alias's policy.
  absl::Status MayLeave(std::string_view model) const;
  absl::Status MayBecome(std::string_view model, const PublicSpec& current,
                         const PublicSpec& next) const;
  // Errors: ALREADY_EXISTS an alias has the name.
  absl::Status CheckNoAlias(std::string_view name) const;
  void Set(const std::string& name, Entry entry) {
    const std::lock_guard lock(store_mutex_);
    Models next = *models_.load();
    next[name] = std::move(entry);
    Store(std::move(next));
  }
  void Remove(const std::string& name) {
    const std::lock_guard lock(store_mutex_);
    Models next = *models_.load();
    next.erase(name);
    Store(std::move(next));
  }
  std::optional<Entry> EntryOf(std::string_view name) const {
    const auto models = models_.load();
    const auto it = models->find(name);
    return it == models->end() ? std::nullopt : std::optional(it->second);
  }
  void Warn(const std::string& name, const std::string& message) const {
    if (warn_) warn_(name, message);
  }
  // Runs them, several at a time; those that failed.
  static std::vector<AbsentModel> RunAll(Jobs jobs);
  void AddStoredJobs(Jobs& jobs);
  // Models that were made at run time: those that the store knows by name, and the one in a folder.
  // False: not all of them are known.
  bool FindNamed();
  // LogEngine::Adopt into the model's folder, which is made. False: and no empty folder is left.
  absl::StatusOr<bool> AdoptFolder(const std::string& name);
  // False: whether there is one is not known.
  bool FindStoredIn(const std::string& name);
  // Once more, where the store did not answer.
  void FindStoredLater();
  // Whether a model of the name was made at run time.
  bool IsStored(const std::string& name) const;
  absl::Status FillNew(const std::string& folder, const ModelSpec& spec);
  // An entry of a model of an earlier run that is to be opened, or says why it cannot be.
  Entry StoredEntry(const std::string& name) const;
  absl::Status AddConfiguredJob(ModelSpec spec, Jobs& jobs);
  // kAny: as its owner, or following another server that owns it. kOwn: as its owner. kAcceptLost:
  // HostedModelOptions::accept_lost.
  enum class As : std::uint8_t { kAny, kOwn, kAcceptLost };
  absl::StatusOr<std::shared_ptr<HostedModel>> OpenModel(ModelSpec spec, As as = As::kAny);
  absl::StatusOr<HostedModelOptions> ModelOptions(const ModelSpec& spec, As as);
  // `followed`: HostedModelOptions.
  absl::StatusOr<std::shared_ptr<HostedModel>> OpenOwned(
      ModelSpec spec, As as, std::shared_ptr<const std::string> followed = nullptr);

  // What follows is in registry_roles.cc. The model as the view has it; null: it does not.
  static const SharedModel* SharedIn(const StoreView& view, std::string_view name);
  absl::StatusOr<std::shared_ptr<HostedModel>> OpenShared(ModelSpec spec);
  absl::StatusOr<std::shared_ptr<HostedModel>> OpenFollowed(ModelSpec spec,
                                                            const SharedModel& seen);
  void StopWatching();
  // One look, which all followed models see. Errors: StoreWatch::Look's.
  absl::StatusOr<std::shared_ptr<const StoreView>> Look();
  void Watch();
  void WatchOnce();
  // What is to be done about roles, as the view is. Of the watching thread.
  // Tells of those that own nothing any more.
  void SeeOwners(const StoreView& view);
  Jobs RolesDue(const StoreView& view);
  void AddRoleJob(const SharedModel& shared, const StoreView& view, Jobs& jobs);
  // Whether the model that another server owned is this one's turn now.
  bool MayClaim(const SharedModel& shared, std::span<const std::string> servers);
  // Whether the model that this server owns is another one's turn.
  bool MayHandOver(const SharedModel& shared);
  absl::Status Promote(const std::string& name, const std::string& log);
  absl::Status StepDown(const std::string& name);
  absl::Status FollowAnew(const std::string& name);
  absl::Status OwnAgain(const std::string& name);
  // Takes what its owner has made of the configuration of a model made at run time. Whether it was
  // another one.
  bool TakeStoredConfig(const std::string& name);
  absl::Status Replace(const std::string& name, absl::StatusOr<std::shared_ptr<HostedModel>> model);
  absl::Status TakeIn(const std::string& name);
  absl::Status LetGo(const std::string& name);
  // Opens a model of `spec` in a folder of its own, and nothing else. Errors: those that no folder
  // could help with, and UNAVAILABLE.
  absl::Status TryOpen(ModelSpec spec);

  // What follows is in registry_standing.cc. The place of the store where this server knows the
  // whole log; "": it does not.
  std::string TouchOf(const InstanceId& instance) const;
  void SetTouch(const InstanceId& instance, const std::string& place);
  // Whether the model may be owned here as far as others are concerned.
  bool Knows(const HostedModel& model, const SharedModel& shared, const std::string& place) const;
  // At each look, on the watching thread.
  void SeeTouch(const std::string& name, HostedModel& model, const SharedModel& shared,
                const StoreView& view);
  void NoteOthers(const std::string& name, const InstanceId& instance, const StoreView& view);
  absl::StatusOr<InstanceId> InstanceIn(const std::string& name, const ModelSpec& spec);
  // Whether the store holds all that anybody has shown of the model. `ask`: also where this server
  // knows; `elsewhere`: what others have shown. Errors: NeedsEpoch; UNAVAILABLE.
  absl::Status Vouch(const ModelSpec& spec, bool ask, std::vector<Published>& elsewhere);
  // Asks whether a followed model may be owned here.
  absl::Status Confirm(const std::string& name);
  // Lets go of a model whose owner computes something else. Errors: FAILED_PRECONDITION it does.
  absl::Status CompareWithOwner(const std::string& name);
  // Models and aliases of all servers were seen, as they were at this steady time or later.
  void NoteLook(std::int64_t began);
  // Closes a model and opens it as `spec`; when it cannot be opened so, as before.
  absl::Status Reopen(const std::string& name, ModelSpec spec);
  // Waits until nobody uses a model that is not found any more.
  static void AwaitEnd(const std::weak_ptr<HostedModel>& model);
  // With its log.
  absl::Status RemoveFolder(const std::string& path) const;
  // That no model has the name, and there may be one more. `others`: names that imports have taken.
  absl::Status CheckFree(const std::string& name, std::size_t others = 0) const;
  // Also that no import and no folder has it. Under mutex_.
  absl::Status CheckFreeForCopy(const std::string& name) const;
  // Errors: UNAVAILABLE another server owns it.
  static absl::Status CheckOwned(std::string_view name, const Entry& entry);
  absl::Status CheckKey(const ModelSpec& spec);
  absl::Status CheckRoom(std::uint64_t bytes, int times) const;
  absl::StatusOr<std::shared_ptr<HostedModel>> Add(ModelSpec spec, bool configured,
                                                   As as = As::kAny);
  // The server's noise key, made at the first central model; null for other modes.
  absl::StatusOr<std::shared_ptr<const NoiseKey>> KeyFor(const ModelSpec& spec);
  // Gives the half-made folder its name, then opens the model in it.
  absl::StatusOr<std::shared_ptr<HostedModel>> Finish(ModelSpec spec, const std::string& half_made);
  absl::Status FillCopy(const std::string& folder, const ModelSpec& spec,
                        const std::shared_ptr<const NoiseKey>& key, ExportedModel exported) const;

  const std::string folder_;
  const std::string data_dir_;
  std::atomic<int> models_max_;
  const std::shared_ptr<const LogEngine> log_;
  const std::shared_ptr<const CheckpointSeal> checkpoint_seal_;
  const std::string noise_key_file_;
  const std::function<void(std::string_view, const std::string&)> warn_;
  const bool stepped_;
  const absl::Duration token_lifetime_max_;
  const absl::Duration clock_ahead_max_;
  const FreeBytesOf free_bytes_;
  const std::string address_;  // of this server, for the others; empty: there are none
  const HandDecision hand_decision_;
  const OwnerGone owner_gone_;
  const OwnerReached owner_reached_;
  const AskOthers ask_others_;
  const decltype(Options::open) open_;
  const Clock& clock_;
  std::mutex key_mutex_;  // for noise_key_
  std::shared_ptr<const NoiseKey> noise_key_;
  std::atomic<bool> hides_reports_{false};
  std::atomic<bool> named_;                    // Configure has set the names of its models
  std::atomic<bool> stored_unknown_{false};    // the store did not say which models there are
  std::mutex mutex_;                           // for changes, and what follows
  std::set<std::string, std::less<>> coming_;  // names of models that are being imported
  AliasStore alias_store_;                     // what follows is there
  Aliases stored_;                             // what the file of aliases holds
  // For what follows, of jobs of one change. Changes of aliases hold mutex_ as well.
  std::mutex store_mutex_;
  Aliases aliases_;
  SharedCell<const Models> models_;
  SharedCell<const BoundAliases> bound_;
  SharedCell<const absl::Status> aliases_lost_;  // null: the file of aliases was read

  // Where servers share the store.
  std::mutex watch_mutex_;             // for watch_
  std::unique_ptr<StoreWatch> watch_;  // null: they do not
  std::atomic<bool> leaving_{false};
  SharedCell<const std::vector<std::string>> others_;  // null: none was seen yet
  // StoreView's, as it was seen last.
  const std::shared_ptr<std::atomic<int>> kind_read_ =
      std::make_shared<std::atomic<int>>(kEntryKindRead);
  std::string reads_least_;           // StoreView's, under watch_mutex_
  SharedCell<const StoreView> seen_;  // null: there was no look yet
  mutable std::mutex touch_mutex_;
  std::map<InstanceId, std::string> touch_;
  // Names that nobody had when they were asked for. A stranger who asks for many has others asked
  // again.
  struct Asked {
    std::size_t name = 0;  // its hash
    std::int64_t at = 0;   // steady time, ns
  };
  mutable std::mutex asked_mutex_;
  mutable std::array<Asked, 1024> asked_;
  std::int64_t looked_at_ = 0;
  std::mutex watching_mutex_;
  std::condition_variable watching_changed_;
  bool stop_watching_ = false;
  std::thread watching_;
  // The watching thread alone uses what follows.
  std::future<void> changing_;
  bool away_ = false;
  std::set<std::string> owners_;  // where the owners of models were reached at the last look
  absl::Time aliases_at_ = absl::InfinitePast();
  std::int64_t aliases_began_ = 0;                        // steady time of the look before, ns
  std::map<InstanceId, std::vector<std::string>> noted_;  // what the files say of others
  struct Turn {
    absl::Time free_since = absl::InfiniteFuture();  // nobody owns it
    std::string first;                               // who should own it
    absl::Time first_since;
    std::string handed_to;                       // it was given up for this server
    absl::Time tried = absl::InfinitePast();     // what had failed
    std::int64_t files = 0;                      // StateVersions::files that was looked at
    std::int64_t word_of = 0;                    // term of the owner whose word was asked for
    absl::Time asked = absl::InfinitePast();     // others, whether it may be owned here
    absl::Time compared = absl::InfinitePast();  // with the owner
    // Whether what failed may be tried again now.
    bool MayTry(absl::Time now) {
      if (now < tried + absl::Seconds(1)) return false;
      tried = now;
      return true;
    }
  };
  std::map<std::string, Turn, std::less<>> turns_;  // by model
};

}  // namespace bandana::server
