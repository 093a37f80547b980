#include "server/models/admission/gate_setup.h"

#include <span>

#include "common/base/sha256.h"
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
  GateState gate{.epoch = state.epoch,
                 .time = state.time,
                 .ahead = state.ahead,
                 .fading = state.fading,
                 .events = EpochEventsOf(state, std::move(learnt)),
                 .payments = Payments(std::move(paid)),
                 .deleted = state.deleted};
  for (std::size_t node = 0; node < state.local.streams().size(); ++node) {
    for (const auto& [id, stream] : state.local.streams()[node]) {
      const auto bytes = std::as_bytes(std::span(stream.moment));
      gate.streams.Set(
          id, {static_cast<int>(node), stream.step, stream.last, Sha256Of(AsChars(bytes))});
    }
  }
  gate.streams.Commit();
  return gate;
}

}  // namespace bandana::server
