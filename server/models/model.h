// The one HostedModel, in hosted_model.cc: how it starts, what changes it, and how it ends.
// Internal to it.
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/design/family.h"
#include "server/models/folder/stored_config.h"
#include "server/models/running_model.h"
#include "server/models/trim_delay.h"

namespace bandana::server {

class Model final : public RunningModel {
 public:
  Model(ModelSpec spec, std::string folder, const Clock& clock, const HostedModelOptions& options)
      : RunningModel(std::move(spec), std::move(folder), clock, options) {}
  // Its threads call virtual methods: they end while it is still whole.
  ~Model() override { StopLoop(); }

  // Recovers the folder and begins to serve. Errors: HostedModel::Open's.
  absl::Status Start();

  absl::Status ConfirmClock() override;
  absl::Status PutArms(std::span<const CatalogueArm> arms, v1::PutArmsResponse* out) override {
    if (!mode().no_catalogue.empty()) {
      return FailedPrecondition("model ", spec_.public_spec.name, " is ",
                                ToAbsl(mode().no_catalogue));
    }
    BANDANA_RETURN_IF_ERROR(FamilyOf(spec_).CheckCatalogue(spec_));
    BANDANA_ASSIGN_OR_RETURN(const auto change, BeginChange());
    return arms_->Put(arms, out);
  }
  absl::StatusOr<v1::RemoveArmsResponse> RemoveArms(std::span<const std::uint32_t> ids) override {
    BANDANA_ASSIGN_OR_RETURN(const auto change, BeginChange());
    return arms_->Remove(ids);
  }
  absl::StatusOr<UserBatch> NewUsers() const override { return user_groups_->NewBatch(); }
  // In model_users.cc.
  absl::Status PutUsers(UserBatch& batch, v1::PutUsersResponse* out) override;
  absl::StatusOr<v1::DeleteUsersResponse> DeleteUsers(std::span<const std::string> ids) override;
  absl::StatusOr<v1::ListUsersResponse> ListUsers(std::string_view after,
                                                  std::uint32_t limit) const override;
  absl::StatusOr<v1::ExportUserResponse> ExportUser(const std::string& id) override;
  absl::Status PutGraph(const v1::Graph& graph) override;
  absl::StatusOr<std::uint64_t> OpenEpoch() override;
  absl::StatusOr<v1::CheckpointResponse> Checkpoint() override;
  absl::StatusOr<ExportedFile> ExportToFile() override;
  absl::Status StoreConfig(const v1::ModelConfig& config) override {
    return WriteStoredConfig(*state_, config);
  }
  void Retire() override;

 private:
  // The lock that a change holds until it is done. Errors: UNAVAILABLE the model is retired.
  absl::StatusOr<std::shared_lock<std::shared_mutex>> BeginChange();
  absl::Status AdoptChanges(const Identity& stored, bool open_windows);
  // Those whom the configuration names keep their nodes from now on.
  absl::Status KeepNodes();
  // Raw rewards that a checkpoint holds stand in the log because the last run ended in between.
  void FinishTrimming();
  // Forgets what the log has learnt of these users.
  absl::Status DeleteByEntry(std::span<const std::string> ids);
  // No file of the folder has the bytes of what the state has forgotten: one checkpoint of now,
  // twice, and no entry before it. Errors: UNAVAILABLE; it is done at the next start then.
  absl::Status EraseForgotten();
  // At the start: what a deletion has left to do.
  void FinishErasing();
  // The sums of the node that is the user's alone.
  absl::Status FillNode(int node, v1::ExportUserResponse& out);
  absl::Status FillEntries(const std::string& id, v1::ExportUserResponse& out) const;
  // Whether nothing is known of single users but the lines of their decisions.
  bool KnowsLinesAlone() const;
  absl::Status EraseDecisions(std::span<const std::string> ids, v1::DeleteUsersResponse& response);
  // Where other servers have parts: theirs as well, as far as they are there.
  absl::Status ErasePartsOf(std::span<const std::string> ids, v1::DeleteUsersResponse& response);
  std::vector<PartAnswer> AskOthersOf(std::uint64_t sequence, const std::string& user) const;
  absl::Status FillDecisions(const std::string& id, v1::ExportUserResponse& out);
  // Fills in the values of open windows of the user that a report came for.
  absl::Status FillHeld(const std::string& id, v1::ExportUserResponse& out);

  TrimDelay trims_;  // CheckpointWriter calls one at a time

  std::shared_mutex changes_;  // shared by changes, held alone by Retire
  bool retired_ = false;
  std::mutex deletions_;  // one at a time
};

}  // namespace bandana::server
