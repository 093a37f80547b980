#include "client/core/spent.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/accounting/composition.h"
#include "common/accounting/gaussian.h"
#include "common/accounting/zcdp.h"
#include "common/base/status.h"

namespace bandana::device {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double ValueUp(std::uint64_t units) {
  const auto value = static_cast<double>(units);
  return std::nextafter(value, kInfinity) * PrivacyTotals::kUnit;
}

// Under one policy, what was lost in a rollback included.
struct Spending {
  PolicyRow policy;
  std::uint64_t events = 0;  // used
  std::uint64_t streams = 0;
  double rho = 0;        // of a stream
  double event_rho = 0;  // of an event whose noise is Gaussian; else events are pure
};

// Events of a mechanism with a delta and no streams: one release each, of what was debited for it.
// The most that a release costs whose debit a rollback has lost.
double EventRho(const PolicyRow& policy, const Balance& balance, std::uint64_t lost_events,
                std::uint64_t lost_streams) {
  if (policy.delta == 0 || balance.streams > 0) return 0;
  if (balance.epsilon_cost > 0) return ValueUp(balance.epsilon_cost) / balance.events;
  if (lost_events == 0 || lost_streams > 0) return 0;
  const auto mu = CalibrateGaussian({policy.epsilon}, {policy.delta});
  return mu.ok() ? mu->value * mu->value / 2 : kInfinity;
}

std::vector<Spending> AccountsOf(Transaction& transaction, const std::string& model,
                                 const std::string& user) {
  Tables& tables = transaction.tables;
  std::vector<Spending> accounts;
  for (const PolicyRow& policy : tables.PoliciesOf(model)) {
    const Balance balance = tables.ledger().Of(policy.id, user);
    const bool counts = policy.delta > 0 || balance.streams > 0;
    Spending account = {.policy = policy,
                        .events = transaction.ledger.Spent(tables, policy.id, user),
                        .streams = balance.streams};
    account.event_rho = EventRho(policy, balance, tables.lost_events(), tables.lost_streams());
    if (balance.streams > 0) {
      account.rho = ValueUp(balance.rho_cost) / balance.streams;
    } else if (counts) {
      // The most that a counter of this policy may cost.
      account.rho = CalibrateZcdp({policy.epsilon}, {policy.delta}).value_or(Rho{kInfinity}).value;
    }
    // Nobody knows under which policy they fell: it may be any of them.
    account.events += tables.lost_events();
    if (counts) account.streams += tables.lost_streams();
    if (account.events > 0 || account.streams > 0) accounts.push_back(std::move(account));
  }
  return accounts;
}

}  // namespace

PrivacySpent SpentBy(Transaction& transaction, const std::string& model, const std::string& user) {
  PrivacySpent spent;
  double group_rho = 0;  // of all events at once
  for (const Spending& account : AccountsOf(transaction, model, user)) {
    spent.events += account.events;
    spent.streams += account.streams;
    spent.epsilon_event = std::max(spent.epsilon_event, account.policy.epsilon);
    spent.delta_event = std::max(spent.delta_event, account.policy.delta);
    if (account.streams > 0) {
      // All events in one stream is the worst case: sum k_i^2 <= (sum k_i)^2.
      group_rho += GroupZcdp({account.rho}, account.events).value;
    } else if (account.event_rho > 0) {
      group_rho += static_cast<double>(account.events) * account.event_rho;
    } else {
      spent.epsilon_user += static_cast<double>(account.events) * account.policy.epsilon;
    }
  }
  if (group_rho > 0) {
    const auto epsilon = ZcdpEpsilon({group_rho}, {spent.delta_event});
    spent.epsilon_user += epsilon.ok() ? epsilon->value : kInfinity;
  }
  return spent;
}

absl::StatusOr<LedgerReadings> ReadingsOf(Transaction& transaction, const std::string& model,
                                          const std::string& user, double delta) {
  PrivacyTotals totals;
  for (const Spending& account : AccountsOf(transaction, model, user)) {
    // A counter's events are paid for by its streams.
    if (account.streams > 0) {
      BANDANA_ASSIGN_OR_RETURN(totals,
                               Compose(totals, PrivacyCost::Zcdp({account.rho}), account.streams));
    } else if (account.event_rho > 0) {
      BANDANA_ASSIGN_OR_RETURN(
          totals, Compose(totals, PrivacyCost::Zcdp({account.event_rho}), account.events));
    } else {
      BANDANA_ASSIGN_OR_RETURN(
          totals, Compose(totals, PrivacyCost::Pure({account.policy.epsilon}), account.events));
    }
  }
  BANDANA_ASSIGN_OR_RETURN(const PrivacyReadings read, Read(totals, Delta{delta}));
  const auto value = [](const std::optional<Epsilon>& epsilon) {
    return epsilon ? std::optional<double>(epsilon->value) : std::nullopt;
  };
  return LedgerReadings{.epsilon_pure = value(read.pure_sum),
                        .epsilon_gaussian = value(read.gaussian_curve),
                        .epsilon_zcdp = value(read.zcdp),
                        .delta = delta};
}

std::vector<StreamInfo> StreamsOf(Transaction& transaction, const std::string& model,
                                  const std::string& user) {
  std::vector<StreamInfo> streams;
  for (const PolicyRow& policy : transaction.tables.PoliciesOf(model)) {
    for (const StreamRow& row : transaction.tables.streams().Of(policy.id, user)) {
      streams.push_back({.epoch = row.epoch,
                         .steps = row.step,
                         .acknowledged = row.acknowledged,
                         .ended = std::string(NameOf(row.end))});
    }
  }
  return streams;
}

}  // namespace bandana::device
