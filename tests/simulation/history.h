// Everything that ever became durable in one simulated server's log, with what must hold of it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/design/model_spec.h"
#include "common/model/entries/records.h"
#include "common/model/paths/make_path.h"
#include "tests/simulation/sim_server.h"

namespace bandana::testing {

// Every release of the devices, by stream and step: the bytes of the moment.
using DrawnMoments = std::map<std::pair<StreamId, std::uint64_t>, std::string>;

class History {
 public:
  History(const ModelSpec& spec, const EventPath& path, const DrawnMoments& drawn)
      : spec_(spec), path_(path), drawn_(drawn) {}

  // Takes in what the log has beyond what was seen. Errors: INTERNAL an invariant that does not
  // hold; DATA_LOSS the log is not a continuation of what was seen.
  absl::Status Observe(const SimServer& server);

  bool Holds(const DecisionId& id) const { return outcomes_.contains(id); }
  // Windows: the report of this reward was answered as taken. Errors: INTERNAL the decision has
  // become another event, or was never open.
  absl::Status Acknowledge(const DecisionId& id, double reward);
  std::uint64_t NewestStep(const StreamId& stream) const;
  std::uint64_t outcomes() const { return outcomes_.size(); }  // counted steps among them
  std::uint64_t entries() const { return seen_.sequence; }

 private:
  absl::Status See(const DecisionRecord& record);
  absl::Status See(const OutcomeRecord& record);
  absl::Status See(const CounterRecord& record);
  absl::Status See(const EpochRecord& record);
  absl::Status See(const CloseRecord& record);
  // Time, graphs, and entries of models that are not simulated.
  template <typename R>
  absl::Status See(const R&) {
    return absl::OkStatus();
  }
  absl::Status See(const DebitRecord& record);
  absl::Status Once(const DecisionId& id);
  // One event of a central model, which debits must pay for.
  absl::Status Central(const EventRecord& event);
  int NodeOf(std::int32_t node, std::string_view user);

  const ModelSpec& spec_;
  const EventPath& path_;
  const DrawnMoments& drawn_;
  LogPosition seen_;
  std::uint64_t epoch_ = 1;
  std::set<DecisionId> open_;                  // windows
  std::map<DecisionId, double> closed_;        // with the event's reward
  std::map<DecisionId, double> acknowledged_;  // reports in windows
  std::set<DecisionId> outcomes_;
  std::map<StreamId, std::uint64_t> newest_;
  std::map<std::string, int> users_;  // independent models, in the log's order
  std::map<std::pair<int, std::uint64_t>, std::uint64_t> paid_;  // node, epoch -> releases
  std::map<std::pair<int, std::uint64_t>, std::uint64_t>
      drawn_of_;  // node, epoch -> streams, events
};

}  // namespace bandana::testing
