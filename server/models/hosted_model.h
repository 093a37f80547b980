// One served model: configuration, durable log, statistics, posterior, published snapshot. The service room talks to nothing
// else; everything here is transport-free.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bandana/v1/admin.pb.h"
#include "bandana/v1/recommender.pb.h"
#include "common/base/clock.h"
#include "common/bandits/posterior.h"
#include "common/wire/model_spec.h"
#include "server/models/catalogue.h"
#include "server/models/decision.h"

namespace bandana::server {

// One outcome as the service hands it over: the token is open, its model and instance match.
struct ReportedOutcome {
  Decision decision;
  std::uint32_t shown = 0;
  std::optional<double> reward;         // Report: raw; missing allowed
  std::optional<std::uint32_t> output;  // Submit: index into the randomizer's grid
};

struct OutcomeResult {
  v1::OutcomeCode code = v1::OUTCOME_CODE_UNSPECIFIED;
  v1::RejectReason reason = v1::REJECT_REASON_UNSPECIFIED;
};

// Called exactly once, possibly on the log's thread, once everything accepted is durable. A status other than OK means the
// log could not take the call: nothing is promised about any outcome (a repeat is safe).
using ReportDone = std::function<void(absl::StatusOr<std::vector<OutcomeResult>>)>;

// Threads: all methods are safe. Select reads published snapshots and takes no lock.
class HostedModel {
 public:
  // Opens `folder` (made when missing), recovers: latest valid checkpoint, then the log after it. A fresh folder gets a new
  // instance id. Errors: INVALID_ARGUMENT spec and stored state disagree (dimension, nodes, mode); DATA_LOSS corrupt state;
  // UNAVAILABLE I/O.
  static absl::StatusOr<std::unique_ptr<HostedModel>> Open(ModelSpec spec, const std::string& folder, const Clock& clock);
  // Stops the threads; pending appends are completed first.
  virtual ~HostedModel() = default;

  virtual const ModelSpec& spec() const = 0;
  virtual const std::array<std::byte, 16>& instance() const = 0;
  virtual std::uint64_t epoch() const = 0;
  virtual std::shared_ptr<const PosteriorSnapshot> posterior() const = 0;
  virtual std::shared_ptr<const Catalogue> catalogue() const = 0;

  // The node that serves this user, -1 for an independent user never seen. Errors: INVALID_ARGUMENT on the id's length,
  // NOT_FOUND unknown user of a graph model.
  virtual absl::StatusOr<int> ResolveUser(std::string_view user) const = 0;

  // Reward-window models: appends the decision without waiting for the disk. Others: does nothing.
  // Errors: UNAVAILABLE the log is down or its queue full (then Select must fail too, so that no shown decision is lost).
  virtual absl::Status RecordDecision(const Decision& decision) = 0;

  // Validates, clips, appends each decision once, and calls back when durable.
  virtual void Report(std::vector<ReportedOutcome> outcomes, ReportDone done) = 0;

  // Adds outcomes that the service rejected on its own (tokens that do not open) to the statistics.
  virtual void CountRejected(v1::OutcomeCode code, v1::RejectReason reason, std::uint64_t count) = 0;
  virtual void CountFeaturesClipped(std::uint64_t count) = 0;

  virtual absl::Status PutArms(std::span<const CatalogueArm> arms, v1::PutArmsResponse* response) = 0;
  virtual absl::StatusOr<v1::RemoveArmsResponse> RemoveArms(std::span<const std::uint32_t> ids) = 0;
  virtual absl::Status PutGraph(const v1::Graph& graph) = 0;
  virtual absl::StatusOr<std::uint64_t> OpenEpoch() = 0;
  // Waits until everything durable is applied, writes the checkpoint, trims the log.
  virtual absl::StatusOr<v1::CheckpointResponse> Checkpoint() = 0;
  virtual absl::StatusOr<std::string> Export() = 0;  // a checkpoint and the configuration, self-contained
  virtual v1::GetStatsResponse Stats() const = 0;
  virtual v1::GetLedgerResponse Ledger() const = 0;
  // OK, or why reports cannot be taken (disk, corruption).
  virtual absl::Status Health() const = 0;
};

}  // namespace bandana::server
