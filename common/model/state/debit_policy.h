// Who pays for the releases of a model, what bounds them, and how that is said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/model/entries/records.h"

namespace bandana {

inline constexpr std::uint64_t kDebitBlock = 256;

// The events of an epoch so far, as debits and bounds read them.
class EpochCounts {
 public:
  virtual std::uint64_t OfNode(int node) const = 0;
  virtual std::uint64_t OfAll() const = 0;            // nodes
  virtual std::uint64_t OfLongestStream() const = 0;  // steps of one stream of a device

 protected:
  ~EpochCounts() = default;
};

// Immutable. Threads: safe.
class DebitPolicy {
 public:
  // A stream pays once for so many events.
  struct Bound {
    std::uint64_t steps_max = 0;  // 0 = there are no streams
    std::string field;            // what sets it, in the configuration; "" = nothing does
    std::string whose = "this user";
  };
  // So many releases in this epoch must be paid for, under this node.
  struct Due {
    int node = 0;
    std::uint64_t releases = 0;
  };
  // The charge of a restore for entries that are lost: this debit, under so many nodes.
  struct Charge {
    DebitRecord debit;
    std::size_t nodes = 0;
  };

  virtual ~DebitPolicy() = default;
  DebitPolicy(const DebitPolicy&) = delete;
  DebitPolicy& operator=(const DebitPolicy&) = delete;

  // One debit; its epoch and node are filled in.
  const DebitRecord& cost() const { return cost_; }
  std::uint64_t steps_max() const { return bound_.steps_max; }
  // Whether anything is debited at all; else the number of events says what was spent.
  virtual bool debits() const { return true; }
  // Under whom the ledger's debits stand; "" = each under its node.
  virtual std::string_view principal() const { return ""; }

  // The debit that is due before the node's next event.
  virtual std::optional<Due> BeforeEvent(const EpochCounts& counts, int node) const;
  // Whether so many further events of the node go beyond what its stream pays for.
  virtual bool Exhausts(const EpochCounts& counts, int node, std::uint64_t events) const;
  // The use of steps_max() that an operator is shown: by the node, and by all together; 0 where it
  // is not theirs.
  virtual std::uint64_t UsedBy(const EpochCounts& counts, int node) const;
  virtual std::uint64_t UsedByAll(const EpochCounts& counts) const;
  // Debits among the lost entries are not known: every principal is charged once for them.
  virtual Charge ForLostEntries(std::uint64_t lost, std::size_t nodes) const;
  // Why no event is taken any more.
  std::string ExhaustedText() const;

 protected:
  DebitPolicy(const DebitRecord& cost, Bound bound) : cost_(cost), bound_(std::move(bound)) {}

 private:
  const DebitRecord cost_;
  const Bound bound_;
};

// Nothing is released by streams: what was spent follows from the number of events.
std::unique_ptr<DebitPolicy> MakeNoDebits();
// One a stream that a device opens: each report of a new stream comes with its debit.
std::unique_ptr<DebitPolicy> MakeDeviceStreamDebits(const DebitRecord& cost,
                                                    DebitPolicy::Bound bound);
// One per node and epoch, before its first event.
std::unique_ptr<DebitPolicy> MakeNodeStreamDebits(const DebitRecord& cost,
                                                  DebitPolicy::Bound bound);
// One per epoch, before its first event, under node 0: it stands for all users.
std::unique_ptr<DebitPolicy> MakeModelStreamDebits(const DebitRecord& cost,
                                                   DebitPolicy::Bound bound);
// cost.releases events of a node at a time.
std::unique_ptr<DebitPolicy> MakeBlockDebits(const DebitRecord& cost);

}  // namespace bandana
