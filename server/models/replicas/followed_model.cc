#include "server/models/replicas/followed_model.h"

#include <utility>

#include "common/base/status.h"
#include "common/design/user_nodes.h"
#include "common/model/learners/learner.h"
#include "common/promise/mode.h"
#include "common/random/bit_source.h"
#include "server/models/admission/refusals.h"
#include "server/models/effect_names.h"
#include "server/models/folder/publication.h"
#include "server/models/folder/recovery.h"
#include "server/models/model_stats.h"

namespace bandana::server {
namespace {

// A store that has not answered for so long is away.
constexpr absl::Duration kAwayAfter = absl::Seconds(5);

ModelSpec WithoutFiles(ModelSpec spec) {
  spec.arms_file.clear();
  if (spec.effects) spec.effects->users_file.clear();
  return spec;
}

}  // namespace

FollowedModel::FollowedModel(ModelSpec spec, std::string folder, const Clock& clock,
                             const FollowOptions& options)
    : LogModel(std::move(spec), std::move(folder), clock, options.hosted),
      tables_spec_(WithoutFiles(spec_)),
      options_(options),
      owner_(std::make_shared<const std::string>()),
      complete_at_(clock.Steady()),
      seen_at_(complete_at_),
      reached_at_(complete_at_) {}

absl::StatusOr<std::unique_ptr<FollowedModel>> FollowedModel::Open(ModelSpec spec,
                                                                   const std::string& folder,
                                                                   const Clock& clock,
                                                                   const FollowOptions& options,
                                                                   const SharedModel& seen) {
  const std::string name = spec.public_spec.name;
  const auto annotated = [&](const absl::Status& why) {
    return Annotate(why, absl::StrCat("model ", name));
  };
  absl::StatusOr<ModelSpec> made = AsMade(std::move(spec), folder, *options.hosted.log);
  if (!made.ok()) return annotated(made.status());
  std::unique_ptr<FollowedModel> model(new FollowedModel(*std::move(made), folder, clock, options));
  const absl::Status started = model->Start(seen);
  if (started.ok()) return model;
  return annotated(started);
}

absl::Status FollowedModel::Start(const SharedModel& seen) {
  BANDANA_ASSIGN_OR_RETURN(
      log_, options_.hosted.log->Follow(folder_, {.erase_trimmed = DrawsNoise(spec_)}));
  log_->Advance(seen.last, seen.trimmed);
  BANDANA_ASSIGN_OR_RETURN(
      Recovered recovered,
      RecoverFollowed(spec_, folder_, *log_, /*vouched=*/seen.owned && !seen.owner.empty(),
                      {.log = options_.hosted.log,
                       .noise_key = options_.hosted.noise_key,
                       .checkpoint_seal = options_.hosted.checkpoint_seal,
                       .warn = warn_,
                       .binding = options_.hosted.noise_binding},
                      users_, counters_));
  state_ = std::move(recovered.store);
  path_ = std::move(recovered.path);
  instance_ = recovered.stored.instance;
  clock_.Begin(NewestTimeOf(recovered.state), recovered.state.ahead);
  BANDANA_ASSIGN_OR_RETURN(const std::uint64_t issuer, SystemBits().NextWord());
  numbers_ =
      std::make_unique<DecisionNumbers>(ModeOf(spec_.public_spec.mode).numbers_decisions, issuer);
  versions_ = seen.stored.versions;
  BANDANA_ASSIGN_OR_RETURN(
      arms_, ArmCatalogue::Open(tables_spec_, state_->Table(TableKind::kArms), counters_, clock_));
  arms_->Follow(recovered.state.effects);
  effects_ = recovered.state.effects;
  if (recovered.state.notes != nullptr) arm_notes_ = recovered.state.notes->parts();
  BANDANA_ASSIGN_OR_RETURN(std::shared_ptr<const UserTable> users, OpenUsers());
  user_groups_.store(std::move(users));
  // A follower of a store that has no place for parts keeps none.
  if (options_.hosted.parts != nullptr) {
    BANDANA_RETURN_IF_ERROR(
        OpenDecisions(*log_, recovered.state.position.sequence, options_.hosted));
  }
  BANDANA_RETURN_IF_ERROR(StartLoop(std::move(recovered)));
  See(seen, /*owner_reached=*/true);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const UserTable>> FollowedModel::OpenUsers() {
  BANDANA_ASSIGN_OR_RETURN(
      std::unique_ptr<UserTable> users,
      UserTable::Open(tables_spec_, state_->Table(TableKind::kUsers), users_, warn_, clock_));
  return std::shared_ptr<const UserTable>(std::move(users));
}

absl::Status FollowedModel::StartLoop(Recovered recovered) {
  BANDANA_ASSIGN_OR_RETURN(
      std::unique_ptr<Learner> learner,
      path_->MakeLearner(spec_, recovered.state, std::move(recovered.statistics)));
  // The owner appends what the clock asks for, and writes checkpoints.
  ApplyLoop::Hooks hooks;
  hooks.append = [](const std::string&, const std::function<void()>& done) {
    done();
    return absl::OkStatus();
  };
  hooks.forget_due = [] { return absl::InfiniteFuture(); };
  hooks.counters = [] { return std::string(); };
  hooks.checkpoint_wanted = [] { return false; };
  hooks.publishing = [this](const ModelState& state) {
    return WritePublished(folder_, instance_, PublishedOf(state, /*apart=*/true));
  };
  hooks.trace = options_.hosted.trace;
  hooks.applied = RewardHook();
  ApplyLoop::Start start{.instance = instance_,
                         .fixed = FixedDigest(recovered.stored),
                         .state = std::move(recovered.state),
                         .checkpoint_sequence = recovered.checkpoint_sequence,
                         .published = recovered.published};
  loop_ = std::make_unique<ApplyLoop>(spec_, *path_, *log_, users_, clock_,
                                      options_.hosted.tick_max, options_.hosted.rebuild_entries,
                                      std::move(learner), std::move(start), std::move(hooks));
  if (!options_.hosted.stepped) loop_->Begin();
  return absl::OkStatus();
}

void FollowedModel::See(const SharedModel& seen, bool owner_reached) {
  // The store was put back: what was followed since is of another history.
  must_reopen_ = must_reopen_ || seen.last.sequence < log_->last().sequence;
  if (must_reopen_) return;
  log_->Advance(seen.last, seen.trimmed);
  loop_->Committed(seen.last.sequence);
  owner_.store(std::make_shared<const std::string>(seen.owned ? seen.owner : std::string()));
  if (seen.stored.versions.arms != versions_.arms) {
    const absl::Status taken = arms_->TakeOver();
    if (!taken.ok()) warn_(absl::StrCat("arms of the owner: ", taken.message()));
    must_reopen_ = must_reopen_ || absl::IsDataLoss(taken);
    if (taken.ok()) versions_.arms = seen.stored.versions.arms;
  }
  if (seen.stored.versions.users != versions_.users) {
    absl::StatusOr<std::shared_ptr<const UserTable>> users = OpenUsers();
    if (!users.ok()) warn_(absl::StrCat("users of the owner: ", users.status().message()));
    must_reopen_ = must_reopen_ || absl::IsDataLoss(users.status());
    if (users.ok()) {
      user_groups_.store(*std::move(users));
      versions_.users = seen.stored.versions.users;
    }
  }
  const absl::Time now = clock_.Steady();
  const bool complete = loop_->applied() >= seen.last.sequence;
  const std::lock_guard lock(mutex_);
  seen_at_ = now;
  if (complete) complete_at_ = now;
  if (owner_reached) reached_at_ = now;
  orphan_ = !seen.owned || seen.owner.empty();
}

absl::StatusOr<std::string> FollowedModel::Capture() {
  BANDANA_ASSIGN_OR_RETURN(const ApplyLoop::Captured captured, loop_->Capture());
  return captured->Encode();
}

absl::Duration FollowedModel::staleness() const {
  const std::lock_guard lock(mutex_);
  return clock_.Steady() - complete_at_;
}

absl::StatusOr<int> FollowedModel::ResolveUser(std::string_view user) const {
  return ResolveIn(spec_, *user_groups_.load(), users_, user);
}

absl::Status FollowedModel::RecordSlots(std::span<const Decision> slots) {
  const std::shared_ptr<const std::string> owner = owner_.load();
  if (!owner->empty() && options_.hand_decision) {
    options_.hand_decision(*owner, spec_.public_spec, slots);
  }
  return absl::OkStatus();
}

v1::GetStatsResponse FollowedModel::Stats() const {
  v1::GetStatsResponse stats;
  FillStats(*log_, /*freed_before=*/0, stats);
  stats.set_epoch(loop_->epoch());
  user_groups_.load()->FillStats(stats);
  v1::FollowerStats& follower = *stats.mutable_follower();
  follower.set_owner(*owner_.load());
  follower.set_staleness_seconds(absl::ToDoubleSeconds(staleness()));
  return stats;
}

std::vector<EffectLook> FollowedModel::Look(std::size_t count) const {
  std::vector<EffectLook> looks = posterior()->Look(count);
  NameValues(*catalogue(), *user_groups_.load(), sent_names_, looks);
  return looks;
}

v1::GetLedgerResponse FollowedModel::Ledger() const {
  return LedgerOf(spec_.public_spec,
                  {.epoch = loop_->epoch(),
                   .debits = *path_->debits(),
                   .stream = path_->stream_cost(),
                   .event = path_->event_cost()},
                  *loop_->ledger());
}

absl::Status FollowedModel::Health() const {
  if (retired_) return absl::UnknownError("the owner's log is not followed now");
  // A database that was away for a moment: the model is opened anew (Stale).
  const absl::Status followed = loop_->status();
  if (absl::IsUnavailable(followed)) return absl::UnknownError(followed.message());
  BANDANA_RETURN_IF_ERROR(followed);
  {
    const std::lock_guard lock(mutex_);
    const absl::Duration away = clock_.Steady() - seen_at_;
    if (away > kAwayAfter) {
      return absl::UnknownError(absl::StrCat("the log's database has not answered for ",
                                             absl::ToInt64Seconds(away), " s"));
    }
    if (orphan_) {
      return absl::UnknownError(
          absl::StrCat("no server owns the model", doubt_.ok() ? "" : ": ", doubt_.message()));
    }
    if (const absl::Duration unreached = clock_.Steady() - reached_at_; unreached > kAwayAfter) {
      return absl::UnknownError(absl::StrCat("the model's owner at ", *owner_.load(),
                                             " cannot be reached for ",
                                             absl::ToInt64Seconds(unreached), " s"));
    }
  }
  return loop_->withheld();
}

std::vector<LastingRefusal> FollowedModel::Refusals() const {
  return RefusalsOf(GateRefusals(), {}, Health(), clock_.Disbelieved());
}

}  // namespace bandana::server
