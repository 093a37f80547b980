// A model that another server owns: it follows the owner's log, and answers selections from what it
// has followed. Whatever changes the model is for the owner.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/shared_cell.h"
#include "server/log/store_watch.h"
#include "server/models/hosted_model.h"
#include "server/models/log_model.h"
#include "server/models/users/user_table.h"

namespace bandana::server {

// Given with HostedModelOptions.
struct FollowOptions {
  HostedModelOptions hosted;
  HandDecision hand_decision;
};

// Threads: as HostedModel; See from one thread at a time.
class FollowedModel final : public LogModel<ServedModel> {
 public:
  // From the newest checkpoint in the store and the entries after it, up to where `seen` says that
  // the log ends. Errors: as HostedModel::Open; UNAVAILABLE the model is not complete yet;
  // NeedsEpoch as for an owner, but where an owner serves the model this machine takes its word for
  // a log of which it has no record.
  static absl::StatusOr<std::unique_ptr<FollowedModel>> Open(ModelSpec spec,
                                                             const std::string& folder,
                                                             const Clock& clock,
                                                             const FollowOptions& options,
                                                             const SharedModel& seen);
  ~FollowedModel() override {
    StopLoop();
    loop_.reset();
    CloseDecisions();
  }

  // Takes over what a look at the store says now, and whether there is a connection to the owner.
  void See(const SharedModel& seen, bool owner_reached);
  // Whether it must be opened anew to go on: it fell behind what the log still has, or the model
  // was changed. Selections go on meanwhile.
  bool Stale() const { return !loop_->status().ok() || must_reopen_; }
  // The state of what is applied, encoded as a checkpoint. Errors: as ApplyLoop::Capture.
  absl::StatusOr<std::string> Capture();
  // Since what is served was all that the log held.
  absl::Duration staleness() const;

  // Why nobody owns it; OK: it is not known.
  void SetDoubt(absl::Status why) {
    const std::lock_guard lock(mutex_);
    doubt_ = std::move(why);
  }
  std::uint64_t applied() const { return loop_->applied(); }

  HostedModel* owned() override { return nullptr; }
  std::optional<std::string> owner() const override { return *owner_.load(); }
  std::uint64_t epoch() const override { return loop_->epoch(); }
  absl::StatusOr<int> ResolveUser(std::string_view user) const override;
  void UserParts(std::string_view user, std::vector<EffectKey>& out) const override {
    user_groups_.load()->Parts(user, out);
  }
  // Hands the decision to the owner. Nobody waits: one that does not arrive is no event.
  absl::Status RecordSlots(std::span<const Decision> slots) override;
  v1::GetStatsResponse Stats() const override;
  std::vector<EffectLook> Look(std::size_t count) const override;
  v1::GetLedgerResponse Ledger() const override;
  // UNKNOWN while the store does not answer, or the owner, to whom reports go; why the log can be
  // followed no further.
  absl::Status Health() const override;
  std::vector<LastingRefusal> Refusals() const override;
  void Step() override {
    if (options_.hosted.stepped) loop_->Step();
  }
  // The posterior that was followed stays readable.
  void Retire() override {
    retired_ = true;
    StopLoop();
    CloseDecisions();
  }
  std::optional<BudgetUse> Budget() const override { return std::nullopt; }
  int log_queue() const override { return 0; }

 private:
  FollowedModel(ModelSpec spec, std::string folder, const Clock& clock,
                const FollowOptions& options);
  absl::Status Start(const SharedModel& seen);
  absl::Status StartLoop(Recovered recovered);
  absl::StatusOr<std::shared_ptr<const UserTable>> OpenUsers();
  void StopLoop() {
    if (loop_ != nullptr) loop_->Stop();
  }

  const ModelSpec tables_spec_;  // without the files that the owner loads
  const FollowOptions options_;
  std::unique_ptr<FollowedLog> log_;
  SharedCell<const UserTable> user_groups_;

  StateVersions versions_;  // that the tables have
  std::atomic<bool> must_reopen_{false};
  std::atomic<bool> retired_{false};
  SharedCell<const std::string> owner_;
  mutable std::mutex mutex_;  // for what follows
  // By the steady clock.
  absl::Time complete_at_;  // when it last had all that the log held
  absl::Time seen_at_;
  absl::Time reached_at_;  // the owner, or there was none
  bool orphan_ = false;    // nobody owns the model
  absl::Status doubt_;     // SetDoubt
};

}  // namespace bandana::server
