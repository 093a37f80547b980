// A hosted model that passes every call on: what server mutants derive from.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "server/models/hosted_model.h"

namespace bandana::audit {

class ForwardedModel : public server::HostedModel {
 public:
  explicit ForwardedModel(std::unique_ptr<server::HostedModel> model) : model_(std::move(model)) {}

  const ModelSpec& spec() const override { return model_->spec(); }
  const Sha256Digest& policy() const override { return model_->policy(); }
  const std::array<std::byte, 16>& instance() const override { return model_->instance(); }
  std::uint64_t epoch() const override { return model_->epoch(); }
  absl::Time TimeAt(absl::Time now) const override { return model_->TimeAt(now); }
  absl::Status ConfirmClock() override { return model_->ConfirmClock(); }
  std::shared_ptr<const ServedPosterior> posterior() const override { return model_->posterior(); }
  std::shared_ptr<const server::Catalogue> catalogue() const override {
    return model_->catalogue();
  }
  absl::StatusOr<int> ResolveUser(std::string_view user) const override {
    return model_->ResolveUser(user);
  }
  void UserParts(std::string_view user, std::vector<EffectKey>& out) const override {
    model_->UserParts(user, out);
  }
  std::shared_ptr<const SeenArms> seen() const override { return model_->seen(); }
  std::shared_ptr<const ArmEventCounts> arm_events() const override { return model_->arm_events(); }
  absl::Status RecordSlots(std::span<const Decision> slots) override {
    return model_->RecordSlots(slots);
  }
  void LogDecision(const StoredDecision& decision, std::string_view user) override {
    model_->LogDecision(decision, user);
  }
  void Activate(std::vector<std::vector<Decision>> decisions, server::ReportDone done) override {
    model_->Activate(std::move(decisions), std::move(done));
  }
  void CountBaseline(bool agreed) override { model_->CountBaseline(agreed); }
  void NoteName(EffectKey key, std::string_view name) override { model_->NoteName(key, name); }
  void CountChoice(std::optional<bool> explored) override { model_->CountChoice(explored); }
  void Report(std::vector<ReportedOutcome> outcomes, server::ReportDone done) override {
    model_->Report(std::move(outcomes), std::move(done));
  }
  void ReportCounters(std::vector<ReportedCounter> reports, server::ReportDone done) override {
    model_->ReportCounters(std::move(reports), std::move(done));
  }
  void ReportContexts(std::vector<ReportedContext> reports, server::ReportDone done) override {
    model_->ReportContexts(std::move(reports), std::move(done));
  }
  void CountRejected(v1::OutcomeCode code, v1::RejectReason reason, std::uint64_t count) override {
    model_->CountRejected(code, reason, count);
  }
  void CountVectors(std::uint64_t arms, std::uint64_t clipped) override {
    model_->CountVectors(arms, clipped);
  }
  void CountValues(std::span<const FieldCount> counts) override { model_->CountValues(counts); }
  absl::Status PutArms(std::span<const server::CatalogueArm> arms,
                       v1::PutArmsResponse* response) override {
    return model_->PutArms(arms, response);
  }
  absl::StatusOr<v1::RemoveArmsResponse> RemoveArms(std::span<const std::uint32_t> ids) override {
    return model_->RemoveArms(ids);
  }
  absl::StatusOr<server::UserBatch> NewUsers() const override { return model_->NewUsers(); }
  absl::Status PutUsers(server::UserBatch& batch, v1::PutUsersResponse* response) override {
    return model_->PutUsers(batch, response);
  }
  absl::StatusOr<v1::DeleteUsersResponse> DeleteUsers(std::span<const std::string> ids) override {
    return model_->DeleteUsers(ids);
  }
  absl::StatusOr<v1::ListUsersResponse> ListUsers(std::string_view after,
                                                  std::uint32_t limit) const override {
    return model_->ListUsers(after, limit);
  }
  absl::StatusOr<v1::ExportUserResponse> ExportUser(const std::string& id) override {
    return model_->ExportUser(id);
  }
  absl::StatusOr<DecisionFiles> ExportDecisions(
      const server::DecisionExport::Range& range) override {
    return model_->ExportDecisions(range);
  }
  absl::Status PutGraph(const v1::Graph& graph) override { return model_->PutGraph(graph); }
  absl::StatusOr<std::uint64_t> OpenEpoch() override { return model_->OpenEpoch(); }
  absl::StatusOr<v1::CheckpointResponse> Checkpoint() override { return model_->Checkpoint(); }
  absl::StatusOr<server::ExportedFile> ExportToFile() override { return model_->ExportToFile(); }
  v1::GetStatsResponse Stats() const override { return model_->Stats(); }
  std::vector<EffectLook> Look(std::size_t count) const override { return model_->Look(count); }
  void NumberDecision(DecisionId& id) override { model_->NumberDecision(id); }
  std::optional<server::RewardTotals> rewards() const override { return model_->rewards(); }
  std::optional<server::RewardSums> learnt_rewards() const override {
    return model_->learnt_rewards();
  }
  std::optional<server::WindowPlaces> places() const override { return model_->places(); }
  v1::GetLedgerResponse Ledger() const override { return model_->Ledger(); }
  std::optional<server::BudgetUse> Budget() const override { return model_->Budget(); }
  absl::Status Health() const override { return model_->Health(); }
  std::vector<server::LastingRefusal> Refusals() const override { return model_->Refusals(); }
  absl::Status CheckUpdate(const ModelSpec& spec) const override {
    return model_->CheckUpdate(spec);
  }
  absl::Status StoreConfig(const v1::ModelConfig& config) override {
    return model_->StoreConfig(config);
  }
  void Retire() override { model_->Retire(); }
  int log_queue() const override { return model_->log_queue(); }
  void Step() override { model_->Step(); }

 protected:
  server::HostedModel& inner() { return *model_; }

 private:
  const std::unique_ptr<server::HostedModel> model_;
};

}  // namespace bandana::audit
