// Decision logs on disk, gone over several times.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/decisions/decision_stream.h"

namespace bandana {

// Logs one after the other, each lines of JSON in a file, plain or packed by gzip, or the folder of
// a decision log that no server writes: of one that has stopped, or a copy. Not thread-safe.
class LogFiles {
 public:
  explicit LogFiles(std::vector<std::string> paths) : paths_(std::move(paths)) {}

  // From the first decision on. Errors: NOT_FOUND no such file; UNAVAILABLE I/O.
  absl::Status Start();
  // As DecisionStream::Read, over all of them. The message of a fault begins with the file's name
  // where there are several. Errors: DATA_LOSS damaged gzip; UNAVAILABLE I/O.
  absl::StatusOr<DecisionStream::Next> Read(LoggedDecision& decision, DecisionFault& fault);
  // Where the last decision begins: "line 7", "b.jsonl: line 7".
  std::string Where() const;

 private:
  std::string Name() const;
  absl::Status Open();

  const std::vector<std::string> paths_;
  std::size_t at_ = 0;
  std::unique_ptr<DecisionStream> source_;
};

}  // namespace bandana
