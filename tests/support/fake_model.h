// A hosted model and a registry without disk or threads, for tests of the service room. Needs
// bandana::bandits and bandana::proto.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/design/server_mechanism.h"
#include "common/promise/event_rule.h"
#include "server/models/hosted_model.h"
#include "server/models/registry.h"

namespace bandana::testing {

// Answers every report APPLIED, at once, or when released. Threads: safe, except for the setters
// that say otherwise.
class FakeModel final : public server::HostedModel {
 public:
  explicit FakeModel(ModelSpec spec) : spec_(std::move(spec)) {
    const int d = spec_.public_spec.dimension;
    NodePosterior prior;
    prior.mean.assign(d, 0.0);
    prior.covariance.assign(d * d, 0.0);
    for (int i = 0; i < d; ++i) prior.covariance[i * d + i] = 1;
    prior.alpha = 0.5;
    posterior_ =
        std::make_shared<const PosteriorSnapshot>(d, prior, spec_.coupling.independent() ? 0 : 1);
    catalogue_ = server::Catalogue::Make(d, {});
    instance_.fill(std::byte{0x5a});
  }

  // Before the model is used.
  void SetInstance(std::byte fill) { instance_.fill(fill); }
  void SetPosterior(std::shared_ptr<const ServedPosterior> posterior) {
    posterior_ = std::move(posterior);
  }
  void SetArms(std::vector<server::CatalogueArm> arms) {
    catalogue_ = server::Catalogue::Make(spec_.public_spec.dimension, std::move(arms));
  }
  void SetCatalogue(std::shared_ptr<const server::Catalogue> catalogue) {
    catalogue_ = std::move(catalogue);
  }
  // The model's spec then has effects that keep them.
  void SetSeen(std::shared_ptr<const SeenArms> seen) { seen_ = std::move(seen); }
  void SetArmEvents(std::shared_ptr<const ArmEventCounts> events) {
    arm_events_ = std::move(events);
  }
  void SetUsers(std::map<std::string, int> users) { users_ = std::move(users); }
  void SetHealth(absl::Status health) {
    std::lock_guard lock(mutex_);
    health_ = std::move(health);
  }
  // Another server owns the model, there. Nothing: this one does.
  void SetOwner(std::optional<std::string> owner) {
    std::lock_guard lock(mutex_);
    owner_ = std::move(owner);
  }
  void SetEpoch(std::uint64_t epoch) { epoch_ = epoch; }
  void SetRecordStatus(absl::Status status) { record_status_ = std::move(status); }
  // Sets the answer of Report; a status other than OK stands for a log that is down.
  void SetReportStatus(absl::Status status) { report_status_ = std::move(status); }

  // From now on reports wait for ReleaseReports.
  void HoldReports() {
    std::lock_guard lock(mutex_);
    hold_ = true;
  }
  int held() const {
    std::lock_guard lock(mutex_);
    return static_cast<int>(held_.size());
  }
  // Completes what is held, on the calling thread.
  void ReleaseReports() {
    std::vector<std::pair<std::size_t, server::ReportDone>> held;
    {
      std::lock_guard lock(mutex_);
      hold_ = false;
      held.swap(held_);
    }
    for (auto& [count, done] : held) done(Applied(count));
  }

  std::vector<ReportedOutcome> reported() const {
    std::lock_guard lock(mutex_);
    return reported_;
  }
  std::vector<Decision> recorded() const {
    std::lock_guard lock(mutex_);
    return recorded_;
  }
  std::uint64_t rejected(v1::RejectReason reason) const {
    std::lock_guard lock(mutex_);
    const auto found = rejected_.find(reason);
    return found == rejected_.end() ? 0 : found->second;
  }
  std::uint64_t features_clipped() const {
    std::lock_guard lock(mutex_);
    return features_clipped_;
  }

  const ModelSpec& spec() const override { return spec_; }
  const Sha256Digest& policy() const override { return policy_; }
  const std::array<std::byte, 16>& instance() const override { return instance_; }
  std::optional<std::string> owner() const override {
    std::lock_guard lock(mutex_);
    return owner_;
  }
  server::HostedModel* owned() override { return owner() ? nullptr : this; }
  std::uint64_t epoch() const override { return epoch_; }
  std::shared_ptr<const ServedPosterior> posterior() const override { return posterior_; }
  std::shared_ptr<const server::Catalogue> catalogue() const override { return catalogue_; }
  absl::StatusOr<int> ResolveUser(std::string_view user) const override {
    if (spec_.coupling.independent()) return -1;
    if (users_.empty()) return 0;
    const auto found = users_.find(std::string(user));
    if (found == users_.end()) return NotFound("user: not in the model's graph");
    return found->second;
  }
  void UserParts(std::string_view user, std::vector<EffectKey>& out) const override {
    out.clear();
    if (seen_ != nullptr) out.push_back(UserKey(user));
  }
  std::shared_ptr<const SeenArms> seen() const override { return seen_; }
  std::shared_ptr<const ArmEventCounts> arm_events() const override { return arm_events_; }
  void NumberDecision(DecisionId&) override {}
  absl::Status RecordSlots(std::span<const Decision> slots) override {
    std::lock_guard lock(mutex_);
    recorded_.insert(recorded_.end(), slots.begin(), slots.end());
    return record_status_;
  }
  void Activate(std::vector<std::vector<Decision>> decisions, server::ReportDone done) override {
    const std::size_t count = decisions.size();
    {
      std::lock_guard lock(mutex_);
      activated_.insert(activated_.end(), decisions.begin(), decisions.end());
    }
    if (!report_status_.ok()) return done(report_status_);
    done(Applied(count));
  }
  void NoteName(EffectKey, std::string_view) override {}
  void CountChoice(std::optional<bool> explored) override {
    std::lock_guard lock(mutex_);
    choices_.push_back(explored);
  }
  std::vector<std::optional<bool>> choices() const {
    std::lock_guard lock(mutex_);
    return choices_;
  }
  void CountBaseline(bool agreed) override {
    std::lock_guard lock(mutex_);
    baselines_.push_back(agreed);
  }
  std::vector<std::vector<Decision>> activated() const {
    std::lock_guard lock(mutex_);
    return activated_;
  }
  std::vector<bool> baselines() const {
    std::lock_guard lock(mutex_);
    return baselines_;
  }
  void Report(std::vector<ReportedOutcome> outcomes, server::ReportDone done) override {
    const std::size_t count = outcomes.size();
    {
      std::lock_guard lock(mutex_);
      if (report_status_.ok()) reported_.insert(reported_.end(), outcomes.begin(), outcomes.end());
      if (hold_) {
        held_.emplace_back(count, std::move(done));
        return;
      }
    }
    if (!report_status_.ok()) return done(report_status_);
    done(Applied(count));
  }
  void ReportCounters(std::vector<ReportedCounter> reports, server::ReportDone done) override {
    std::vector<ReportResult> results;
    for (const ReportedCounter& report : reports) {
      results.push_back({.code = v1::APPLIED, .acknowledged_step = report.step});
    }
    std::lock_guard lock(mutex_);
    counters_ = std::move(reports);
    done(report_status_.ok() ? absl::StatusOr<std::vector<ReportResult>>(results) : report_status_);
  }
  void ReportContexts(std::vector<ReportedContext> reports, server::ReportDone done) override {
    const std::size_t count = reports.size();
    {
      std::lock_guard lock(mutex_);
      contexts_ = std::move(reports);
    }
    if (!report_status_.ok()) return done(report_status_);
    done(Applied(count));
  }
  std::vector<ReportedContext> contexts() const {
    std::lock_guard lock(mutex_);
    return contexts_;
  }
  std::vector<ReportedCounter> counters() const {
    std::lock_guard lock(mutex_);
    return counters_;
  }
  void CountRejected(v1::OutcomeCode, v1::RejectReason reason, std::uint64_t count) override {
    std::lock_guard lock(mutex_);
    rejected_[reason] += count;
  }
  void CountVectors(std::uint64_t, std::uint64_t clipped) override {
    std::lock_guard lock(mutex_);
    features_clipped_ += clipped;
  }
  void CountValues(std::span<const FieldCount>) override {}
  int log_queue() const override { return 0; }
  absl::Status Health() const override {
    std::lock_guard lock(mutex_);
    return health_;
  }

  // Admin's side is not faked.
  absl::StatusOr<server::UserBatch> NewUsers() const override { return NotFaked(); }
  absl::Status PutUsers(server::UserBatch&, v1::PutUsersResponse*) override { return NotFaked(); }
  absl::StatusOr<v1::DeleteUsersResponse> DeleteUsers(std::span<const std::string>) override {
    return NotFaked();
  }
  absl::StatusOr<v1::ListUsersResponse> ListUsers(std::string_view, std::uint32_t) const override {
    return NotFaked();
  }
  absl::StatusOr<v1::ExportUserResponse> ExportUser(const std::string&) override {
    return NotFaked();
  }
  absl::Status PutArms(std::span<const server::CatalogueArm>, v1::PutArmsResponse*) override {
    return NotFaked();
  }
  absl::StatusOr<v1::RemoveArmsResponse> RemoveArms(std::span<const std::uint32_t>) override {
    return NotFaked();
  }
  absl::Status PutGraph(const v1::Graph&) override { return NotFaked(); }
  absl::StatusOr<std::uint64_t> OpenEpoch() override { return NotFaked(); }
  absl::Status ConfirmClock() override { return absl::OkStatus(); }
  absl::StatusOr<v1::CheckpointResponse> Checkpoint() override { return NotFaked(); }
  absl::StatusOr<DecisionFiles> ExportDecisions(const server::DecisionExport::Range&) override {
    return NotFaked();
  }
  absl::StatusOr<server::ExportedFile> ExportToFile() override { return NotFaked(); }
  v1::GetStatsResponse Stats() const override { return {}; }
  v1::GetLedgerResponse Ledger() const override { return {}; }
  std::optional<server::BudgetUse> Budget() const override { return std::nullopt; }
  std::vector<server::LastingRefusal> Refusals() const override { return {}; }
  absl::Status CheckUpdate(const ModelSpec&) const override { return NotFaked(); }
  absl::Status StoreConfig(const v1::ModelConfig&) override { return absl::OkStatus(); }
  void Retire() override {}

 private:
  static absl::Status NotFaked() { return absl::UnimplementedError("not faked"); }
  static std::vector<ReportResult> Applied(std::size_t count) {
    return std::vector<ReportResult>(count, ReportResult{.code = v1::APPLIED});
  }

  ModelSpec spec_;
  const Sha256Digest policy_{spec_.public_spec.PolicyHash()};
  std::array<std::byte, 16> instance_{};
  std::uint64_t epoch_ = 1;
  std::shared_ptr<const ServedPosterior> posterior_;
  std::shared_ptr<const server::Catalogue> catalogue_;
  std::shared_ptr<const SeenArms> seen_;
  std::shared_ptr<const ArmEventCounts> arm_events_;
  std::map<std::string, int> users_;
  absl::Status record_status_;
  absl::Status report_status_;

  mutable std::mutex mutex_;
  absl::Status health_;
  std::optional<std::string> owner_;
  bool hold_ = false;
  std::vector<std::pair<std::size_t, server::ReportDone>> held_;
  std::vector<ReportedOutcome> reported_;
  std::vector<ReportedCounter> counters_;
  std::vector<ReportedContext> contexts_;
  std::vector<Decision> recorded_;
  std::vector<std::vector<Decision>> activated_;
  std::vector<std::optional<bool>> choices_;
  std::vector<bool> baselines_;
  std::map<v1::RejectReason, std::uint64_t> rejected_;
  std::uint64_t features_clipped_ = 0;
};

// Threads: safe.
class FakeRegistry final : public server::ModelAdministration {
 public:
  // The fake, which the registry owns.
  FakeModel& Add(ModelSpec spec) {
    auto model = std::make_shared<FakeModel>(std::move(spec));
    std::lock_guard lock(mutex_);
    models_[model->spec().public_spec.name] = model;
    return *model;
  }

  // Makes or moves an alias. The first model must be there; one that is not is not served.
  void PutAliasOf(std::string name, std::vector<AliasShare> shares) {
    auto bound = std::make_shared<server::BoundAlias>();
    for (const AliasShare& share : shares) bound->models.push_back(Find(share.model));
    bound->why.resize(shares.size());
    const PublicSpec& spec = bound->models.front()->spec().public_spec;
    bound->hides_reports = HidesReports(spec);
    bound->spec = {.name = name, .shares = std::move(shares), .policy = PolicyUnder(spec, name)};
    std::lock_guard lock(mutex_);
    aliases_[name] = std::move(bound);
  }
  void SetOthers(std::vector<std::string> addresses) {
    std::lock_guard lock(mutex_);
    others_ = std::move(addresses);
  }
  std::vector<std::string> Others() const override {
    std::lock_guard lock(mutex_);
    return others_;
  }
  // From now on the model is absent, as one that is being opened.
  void TakeAway(const std::string& name) {
    std::lock_guard lock(mutex_);
    models_.erase(name);
    absent_.push_back({name, Unavailable("is being opened"), true});
  }

  std::shared_ptr<const server::BoundAlias> FindAlias(std::string_view name) const override {
    std::lock_guard lock(mutex_);
    const auto found = aliases_.find(std::string(name));
    return found == aliases_.end() ? nullptr : found->second;
  }
  std::vector<server::AbsentModel> Absent() const override {
    std::lock_guard lock(mutex_);
    return absent_;
  }

  std::shared_ptr<server::ServedModel> Find(std::string_view name) const override {
    std::lock_guard lock(mutex_);
    const auto found = models_.find(std::string(name));
    return found == models_.end() ? nullptr : found->second;
  }
  std::vector<std::shared_ptr<server::ServedModel>> List() const override {
    std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<server::ServedModel>> list;
    for (const auto& [name, model] : models_) list.push_back(model);
    return list;
  }
  bool KnowsAll() const override { return true; }
  bool MayBeNew(std::string_view) const override { return false; }
  absl::StatusOr<server::Standing> Stand(const std::string&, const InstanceId&) const override {
    return absl::UnimplementedError("not faked");
  }
  bool hides_reports() const override {
    const auto models = List();
    return std::any_of(models.begin(), models.end(),
                       [](const auto& model) { return HidesReports(model->spec().public_spec); });
  }
  bool HidesReportsOf(std::string_view name) const override {
    if (const auto model = Find(name)) return HidesReports(model->spec().public_spec);
    const auto alias = FindAlias(name);
    return alias == nullptr ? hides_reports() : alias->hides_reports;
  }
  absl::Status AliasesStatus() const override { return absl::OkStatus(); }
  std::vector<AliasSpec> ListAliases() const override { return {}; }
  absl::StatusOr<AliasSpec> PutAlias(AliasSpec) override {
    return absl::UnimplementedError("not faked");
  }
  absl::Status DeleteAlias(std::string_view) override {
    return absl::UnimplementedError("not faked");
  }
  absl::Status MayUpdate(std::string_view) const override { return absl::OkStatus(); }
  absl::StatusOr<std::uint64_t> OpenEpoch(std::string_view name) override {
    const auto model = Find(name);
    if (model == nullptr) return AbsenceOf(*this, name);
    return model->owned() ? model->owned()->OpenEpoch() : OwnedElsewhere(*model);
  }
  absl::StatusOr<std::shared_ptr<server::HostedModel>> Create(ModelSpec) override {
    return absl::UnimplementedError("not faked");
  }
  absl::StatusOr<std::shared_ptr<server::HostedModel>> Update(ModelSpec) override {
    return absl::UnimplementedError("not faked");
  }
  absl::Status CheckImport(std::string_view, const v1::ExportHeader&) override {
    return absl::UnimplementedError("not faked");
  }
  absl::StatusOr<TempFile> NewImportFile() override { return TempFile::InMemory(); }
  absl::StatusOr<std::shared_ptr<server::HostedModel>> Import(std::string_view, std::string_view,
                                                              const v1::ExportHeader*) override {
    return absl::UnimplementedError("not faked");
  }
  absl::Status Delete(std::string_view name) override {
    std::lock_guard lock(mutex_);
    models_.erase(std::string(name));
    return absl::OkStatus();
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<FakeModel>> models_;
  std::map<std::string, std::shared_ptr<const server::BoundAlias>> aliases_;
  std::vector<server::AbsentModel> absent_;
  std::vector<std::string> others_;
};

// A non-private model without graph: dimension d, features clipped to norm 1.
inline ModelSpec PlainSpec(std::string name, int dimension) {
  ModelSpec spec;
  spec.public_spec.name = std::move(name);
  spec.public_spec.dimension = dimension;
  spec.public_spec.token_lifetime = absl::Hours(24);
  spec.bandit.dimension = dimension;
  return spec;
}

// As above with a mechanism of epsilon 1, made.
inline ModelSpec PrivateSpec(std::string name, int dimension, Mode mode, MechanismId mechanism,
                             Delta delta = {}) {
  ModelSpec spec = PlainSpec(std::move(name), dimension);
  PublicSpec& p = spec.public_spec;
  p.mode = mode;
  p.mechanism = mechanism;
  p.epsilon = {1};
  p.delta = delta;
  if (mechanism == MechanismId::kCounter)
    p.counter = {.kind = CounterKind::kBlt, .horizon = 10, .steps_max = 100};
  BANDANA_CHECK(MakeMechanisms(spec).ok());
  return spec;
}

}  // namespace bandana::testing
