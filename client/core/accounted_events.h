// The part that all mechanisms of events share: whose events they are, and how these are debited.
#pragma once

#include <cstdint>
#include <string>

#include "client/core/event_mechanism.h"
#include "client/core/ledger.h"
#include "common/random/bit_source.h"

namespace bandana::device {

struct EventOptions {
  std::string model;
  PolicyId policy = 0;
  std::uint64_t events_max = 0;  // of one user, 0 = no bound
  RewardRange range;
  double default_reward = 0;  // what missing and NaN rewards mean
  BitSource* bits = nullptr;  // what is drawn with; outlives the mechanism
  EventTraits traits;
};

// Every event of a user is one of the user's account, and costs as much as the others.
class AccountedEvents : public EventMechanism {
 public:
  const EventTraits& traits() const final { return options_.traits; }
  absl::Status Debit(Transaction& transaction, const std::string& user, int events) const override;
  absl::Status MayDebit(Transaction& transaction, const std::string& user, int events) const final;

 protected:
  // `event_cost`: as Account::event_cost; 0 where an event by itself costs no privacy.
  AccountedEvents(EventOptions options, std::uint64_t event_cost)
      : options_(std::move(options)), event_cost_(event_cost) {}
  Account AccountOf(const std::string& user) const {
    return {options_.model, options_.policy, user, options_.events_max, event_cost_};
  }

  const EventOptions options_;

 private:
  const std::uint64_t event_cost_;
};

}  // namespace bandana::device
