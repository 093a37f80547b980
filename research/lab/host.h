// A model in an experiment as a server hosts it: its configuration parsed, its devices' reports
// made entries of a log, the entries applied and the posterior published. The log is in memory, and
// its key is the lab's, so that nothing here is private and no ledger is kept.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bandana/v1/config.pb.h"
#include "common/model/core.h"
#include "common/model/state/debit_policy.h"
#include "research/lab/devices.h"

namespace bandana::lab {

// How often a posterior is published, in events in place of the server's time: after
// max(events, share x all events so far) more of them.
struct RefreshRule {
  std::uint64_t events = 1;
  double share = 0;
};

// Events of a run by the node that their streams belong to: a run is one epoch.
class EventCounts final : public EpochCounts {
 public:
  void Count(int node);
  std::uint64_t OfNode(int node) const override;
  std::uint64_t OfAll() const override { return all_; }
  std::uint64_t OfLongestStream() const override { return 0; }  // devices mind their own

 private:
  std::vector<std::uint64_t> events_;
  std::uint64_t all_ = 0;
};

// One model in one run. Not thread-safe.
class Host {
 public:
  // The model that a server makes of `config`: AUTO is the planner's choice. Errors:
  // INVALID_ARGUMENT lists the mistakes; as MakeDevices.
  static absl::StatusOr<std::unique_ptr<Host>> Create(const v1::ModelConfig& config,
                                                      std::uint64_t seed, RefreshRule refresh);

  const ModelSpec& spec() const { return core_->spec(); }

  // As last published. Nodes are the model's; of independent users any numbers from 0 on.
  const NodePosterior& Posterior(int node);
  // How often one that was published differed from the one before.
  std::uint64_t published() const { return published_; }
  std::uint64_t grams_repaired() const { return core_->grams_repaired(); }

  // One event: the reaction to features x, of a device of `node`. A stream that has had all of its
  // events takes no more of them. Errors: UNAVAILABLE no noise.
  absl::Status Learn(int node, std::span<const double> x, double reward);

 private:
  Host(std::unique_ptr<ModelCore> core, RefreshRule refresh)
      : core_(std::move(core)), refresh_(refresh), prior_(core_->Prior()) {}

  int IndexOf(int node) const;
  absl::Status Publish();

  const std::unique_ptr<ModelCore> core_;
  const RefreshRule refresh_;
  const NodePosterior prior_;
  std::unique_ptr<Devices> devices_;
  EventCounts counts_;
  std::vector<std::string> waiting_;  // records for the next Publish
  std::uint64_t events_ = 0;          // before those
  std::uint64_t published_ = 0;
  std::vector<std::optional<NodePosterior>> posteriors_;
};

}  // namespace bandana::lab
