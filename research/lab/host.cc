#include "research/lab/host.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/design/planner/served_config.h"
#include "common/random/keyed_stream.h"

namespace bandana::lab {
namespace {

absl::StatusOr<ModelSpec> Parse(const v1::ModelConfig& config) {
  std::vector<ConfigError> errors;
  std::optional<ModelSpec> spec = ParseServedModel(config, "", /*allow_files=*/false, errors);
  if (spec) return *std::move(spec);
  std::string text = "a server refuses this model:";
  for (const ConfigError& e : errors) absl::StrAppend(&text, " ", e.field, " ", e.message, ";");
  text.pop_back();
  return InvalidArgument(text);
}

// Every experiment's own. It is no secret.
absl::StatusOr<std::shared_ptr<const NoiseKey>> KeyOf(std::uint64_t seed) {
  BANDANA_ASSIGN_OR_RETURN(
      NoiseKey key, NoiseKey::FromBytes(Sha256Of(absl::StrCat("bandana lab host 1 ", seed))));
  return std::make_shared<const NoiseKey>(std::move(key));
}

}  // namespace

void EventCounts::Count(int node) {
  if (node >= static_cast<int>(events_.size())) events_.resize(node + 1);
  ++events_[node];
  ++all_;
}

std::uint64_t EventCounts::OfNode(int node) const {
  return node < static_cast<int>(events_.size()) ? events_[node] : 0;
}

absl::StatusOr<std::unique_ptr<Host>> Host::Create(const v1::ModelConfig& config,
                                                   std::uint64_t seed, RefreshRule refresh) {
  BANDANA_ASSIGN_OR_RETURN(ModelSpec spec, Parse(config));
  BANDANA_ASSIGN_OR_RETURN(std::shared_ptr<const NoiseKey> key, KeyOf(seed));
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<ModelCore> core,
                           ModelCore::Create(std::move(spec), InstanceId{}, std::move(key)));
  std::unique_ptr<Host> host(new Host(std::move(core), refresh));
  BANDANA_ASSIGN_OR_RETURN(host->devices_, MakeDevices(host->spec(), seed));
  ModelCore& made = *host->core_;
  BANDANA_ASSIGN_OR_RETURN(std::optional<std::string> opening,
                           made.path().Opening(host->spec(), made.state()));
  if (opening) BANDANA_RETURN_IF_ERROR(made.Append(*std::move(opening)));
  return host;
}

int Host::IndexOf(int node) const {
  const NodeName name = NameOf(spec(), node);
  return name.user.empty() ? name.node : core_->users().Find(name.user);
}

const NodePosterior& Host::Posterior(int node) {
  const int index = IndexOf(node);
  if (index < 0) return prior_;
  if (index >= static_cast<int>(posteriors_.size())) posteriors_.resize(index + 1);
  std::optional<NodePosterior>& posterior = posteriors_[index];
  if (!posterior) posterior = core_->Posterior(index);
  return *posterior;
}

absl::Status Host::Learn(int node, std::span<const double> x, double reward) {
  const NodeName name = NameOf(spec(), node);
  const int payer = name.user.empty() ? name.node : node;
  if (core_->path().debits()->Exhausts(counts_, payer, 1)) return absl::OkStatus();
  BANDANA_ASSIGN_OR_RETURN(std::string record, devices_->Report(node, x, reward, Posterior(node)));
  if (record.empty()) return absl::OkStatus();
  counts_.Count(payer);
  waiting_.push_back(std::move(record));
  const double more = std::floor(refresh_.share * static_cast<double>(events_));
  const bool due = waiting_.size() >= std::max(refresh_.events, static_cast<std::uint64_t>(more));
  return due ? Publish() : absl::OkStatus();
}

absl::Status Host::Publish() {
  for (std::string& record : waiting_) BANDANA_RETURN_IF_ERROR(core_->Append(std::move(record)));
  events_ += waiting_.size();
  waiting_.clear();
  if (core_->stale()) BANDANA_RETURN_IF_ERROR(core_->Refresh());
  const std::vector<int> changed = core_->TakeChangedNodes();
  for (const int node : changed) {
    if (node < static_cast<int>(posteriors_.size())) posteriors_[node].reset();
  }
  published_ += changed.empty() ? 0 : 1;
  return absl::OkStatus();
}

}  // namespace bandana::lab
