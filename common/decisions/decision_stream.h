// Decisions of a log, one after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "common/decisions/decision_fault.h"
#include "common/decisions/logged_decision.h"

namespace bandana {

// Fills a buffer with the next bytes of a log: how many, 0 at its end. Errors: I/O.
using DecisionBytes = std::function<absl::StatusOr<std::size_t>(char* buffer, std::size_t size)>;

// Reads a log of any length in the memory of its longest line. Not thread-safe.
class DecisionStream {
 public:
  enum class Next {
    kDecision,  // `decision` has the next one
    kFault,     // `fault` says why lines were passed over
    kEnd,
  };
  virtual ~DecisionStream() = default;

  // `decision` keeps its buffers from call to call. Errors: those of the bytes.
  virtual absl::StatusOr<Next> Read(LoggedDecision& decision, DecisionFault& fault) = 0;

  // The first line of the decision that was read last, from 1.
  virtual std::uint64_t line() const = 0;
};

}  // namespace bandana
