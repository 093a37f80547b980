#include "common/mechanisms/counters/counter_kind.h"

namespace bandana {

std::string_view CounterKindName(CounterKind kind) {
  switch (kind) {
    case CounterKind::kTree:
      return "tree";
    case CounterKind::kHonaker:
      return "honaker";
    case CounterKind::kToeplitz:
      return "toeplitz";
    case CounterKind::kBlt:
      return "blt";
    case CounterKind::kEpochs:
      return "epochs";
    case CounterKind::kHybrid:
      return "hybrid";
  }
  return "unknown";
}

}  // namespace bandana
