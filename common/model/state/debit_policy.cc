#include "common/model/state/debit_policy.h"

#include "absl/strings/str_cat.h"

namespace bandana {

std::optional<DebitPolicy::Due> DebitPolicy::BeforeEvent(const EpochCounts&, int) const {
  return std::nullopt;
}
bool DebitPolicy::Exhausts(const EpochCounts&, int, std::uint64_t) const { return false; }
std::uint64_t DebitPolicy::UsedBy(const EpochCounts&, int) const { return 0; }
std::uint64_t DebitPolicy::UsedByAll(const EpochCounts&) const { return 0; }
DebitPolicy::Charge DebitPolicy::ForLostEntries(std::uint64_t, std::size_t nodes) const {
  return {cost_, nodes};
}

std::string DebitPolicy::ExhaustedText() const {
  const std::string field = bound_.field.empty() ? "" : bound_.field + " = ";
  return absl::StrCat(field, bound_.steps_max, " events of ", bound_.whose,
                      " are counted in this epoch; the model serves on as it is, a new epoch opens "
                      "a new debit");
}

namespace {

class NoDebits final : public DebitPolicy {
 public:
  NoDebits() : DebitPolicy({}, {}) {}
  bool debits() const override { return false; }
  Charge ForLostEntries(std::uint64_t, std::size_t) const override { return {}; }
};

class DeviceStreamDebits final : public DebitPolicy {
 public:
  DeviceStreamDebits(const DebitRecord& cost, Bound bound) : DebitPolicy(cost, std::move(bound)) {}
  std::uint64_t UsedByAll(const EpochCounts& counts) const override {
    return counts.OfLongestStream();
  }
};

class NodeStreamDebits final : public DebitPolicy {
 public:
  NodeStreamDebits(const DebitRecord& cost, Bound bound) : DebitPolicy(cost, std::move(bound)) {}
  std::optional<Due> BeforeEvent(const EpochCounts&, int node) const override {
    return Due{node, 1};
  }
  bool Exhausts(const EpochCounts& counts, int node, std::uint64_t events) const override {
    return counts.OfNode(node) + events > steps_max();
  }
  std::uint64_t UsedBy(const EpochCounts& counts, int node) const override {
    return counts.OfNode(node);
  }
};

class ModelStreamDebits final : public DebitPolicy {
 public:
  ModelStreamDebits(const DebitRecord& cost, Bound bound) : DebitPolicy(cost, std::move(bound)) {}
  std::string_view principal() const override { return "all users"; }
  std::optional<Due> BeforeEvent(const EpochCounts&, int) const override { return Due{0, 1}; }
  bool Exhausts(const EpochCounts& counts, int, std::uint64_t events) const override {
    return counts.OfAll() + events > steps_max();
  }
  std::uint64_t UsedByAll(const EpochCounts& counts) const override { return counts.OfAll(); }
  Charge ForLostEntries(std::uint64_t, std::size_t) const override { return {cost(), 1}; }
};

class BlockDebits final : public DebitPolicy {
 public:
  explicit BlockDebits(const DebitRecord& cost) : DebitPolicy(cost, {}) {}
  std::optional<Due> BeforeEvent(const EpochCounts& counts, int node) const override {
    return Due{node, counts.OfNode(node) + 1};
  }
  Charge ForLostEntries(std::uint64_t lost, std::size_t nodes) const override {
    DebitRecord debit = cost();
    debit.releases *= 1 + lost / kDebitBlock;
    return {debit, nodes};
  }
};

}  // namespace

std::unique_ptr<DebitPolicy> MakeNoDebits() { return std::make_unique<NoDebits>(); }
std::unique_ptr<DebitPolicy> MakeDeviceStreamDebits(const DebitRecord& cost,
                                                    DebitPolicy::Bound bound) {
  return std::make_unique<DeviceStreamDebits>(cost, std::move(bound));
}
std::unique_ptr<DebitPolicy> MakeNodeStreamDebits(const DebitRecord& cost,
                                                  DebitPolicy::Bound bound) {
  return std::make_unique<NodeStreamDebits>(cost, std::move(bound));
}
std::unique_ptr<DebitPolicy> MakeModelStreamDebits(const DebitRecord& cost,
                                                   DebitPolicy::Bound bound) {
  return std::make_unique<ModelStreamDebits>(cost, std::move(bound));
}
std::unique_ptr<DebitPolicy> MakeBlockDebits(const DebitRecord& cost) {
  return std::make_unique<BlockDebits>(cost);
}

}  // namespace bandana
