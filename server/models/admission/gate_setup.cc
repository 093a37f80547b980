#include "server/models/admission/gate_setup.h"

#include "common/design/user_nodes.h"
#include "common/promise/event_rule.h"

namespace bandana::server {

ReportGate::Options GateOptions(const ModelSpec& spec, const EventPath& path,
                                const CellCodec& cells) {
  return {.dimension = spec.public_spec.dimension,
          .windows = ClosesWindows(spec.public_spec),
          .hides = HidesReports(spec.public_spec),
          .cells = &cells,
          .users_max = spec.bandit.nodes_max,
          .events_per_user_max = spec.public_spec.events_per_user_max,
          .pooled = UserNodesOf(spec).Pooled(spec),
          .ids_max = spec.decisions_open_max,
          .token_lifetime = spec.public_spec.token_lifetime,
          .remember = EventRuleOf(spec.public_spec).decided_after,
          .counter = path.device_counter(),
          .debits = path.debits(),
          .salts_entries = path.draws_noise()};
}

GateState GateStateOf(const ModelState& state, const std::vector<NodeStatistics>& statistics) {
  std::vector<std::uint64_t> learnt;
  learnt.reserve(statistics.size());
  for (const NodeStatistics& s : statistics) learnt.push_back(s.events);
  std::vector<Paid> paid;
  for (const Account& account : state.ledger.accounts()) {
    paid.push_back({account.last_epoch, account.releases});
  }
  return {.facts = state,
          .events = EpochEventsOf(state, std::move(learnt)),
          .streams = StreamTable(state.local),
          .payments = Payments(std::move(paid))};
}

}  // namespace bandana::server
