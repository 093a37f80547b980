#include "common/promise/kinds.h"

#include <cstddef>
#include <iterator>

namespace bandana {
namespace {

// By number.
constexpr const char* kModeNames[] = {"MODE_UNSPECIFIED", "NON_PRIVATE", "LOCAL_REWARD",
                                      "CENTRAL_REWARD",   "JOINT",       "LOCAL_CONTEXT"};
constexpr const char* kMechanismNames[] = {
    "MECHANISM_UNSPECIFIED", "AUTO",           "REWARD_RANDOMIZER", "COUNTER",
    "CENTRED_RANDOMIZER",    "SHAPED_COUNTER", "POOLED_COUNTER",    "PRIVUNIT",
    "JOINT_GAUSSIAN",        "SPARSE_RELEASE"};

template <std::size_t kSize>
std::string NameOf(const char* const (&names)[kSize], std::int32_t number) {
  return number < 0 || number >= static_cast<std::int32_t>(kSize) ? "" : names[number];
}

struct CounterRow {
  CounterKind kind;
  std::int32_t number;
  const char* name;
};
constexpr CounterRow kServedCounters[] = {{CounterKind::kBlt, 1, "BLT"},
                                          {CounterKind::kTree, 2, "TREE"},
                                          {CounterKind::kHonaker, 3, "HONAKER"},
                                          {CounterKind::kEpochs, 4, "EPOCHS"}};

CounterRow RowOf(CounterKind kind) {
  for (const CounterRow& row : kServedCounters) {
    if (row.kind == kind) return row;
  }
  return {kind, 0, ""};
}

}  // namespace

std::string ModeName(Mode mode) { return NameOf(kModeNames, static_cast<std::int32_t>(mode)); }

std::string MechanismName(MechanismId id) {
  return NameOf(kMechanismNames, static_cast<std::int32_t>(id));
}

std::optional<CounterKind> CounterKindOf(std::int32_t number) {
  for (const CounterRow& row : kServedCounters) {
    if (row.number == number) return row.kind;
  }
  return std::nullopt;
}

std::int32_t NumberOf(CounterKind kind) { return RowOf(kind).number; }

std::string ServedName(CounterKind kind) { return RowOf(kind).name; }

}  // namespace bandana
