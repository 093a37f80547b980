// Range checks that report every mistake with the path of its field. All comparisons are written so
// that NaN fails.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/promise/model_message.h"

namespace bandana {

// One mistake in a configuration: the field's path inside the message, e.g. `privacy.epsilon`.
struct ConfigError {
  std::string field;
  std::string message;
};

// Collects mistakes below one message. Not thread-safe; `errors` must outlive it.
class FieldChecks {
 public:
  explicit FieldChecks(std::vector<ConfigError>& errors, std::string prefix = "")
      : errors_(errors), prefix_(std::move(prefix)) {}

  // Checks of a message field: paths gain `field.`.
  FieldChecks Inside(std::string_view field) const;

  void Add(std::string_view field, std::string message) const;

  // Each returns the value; a value outside is reported.
  double Closed(std::string_view field, double value, double min, double max) const;  // [min, max]
  double Positive(std::string_view field, double value, double max) const;            // (0, max]
  double OpenUnit(std::string_view field, double value) const;                        // (0, 1)
  std::uint64_t Count(std::string_view field, std::uint64_t value, std::uint64_t min,
                      std::uint64_t max) const;  // [min, max]
  absl::Duration Span(std::string_view field, const wire::Duration& value, absl::Duration min,
                      absl::Duration max) const;  // [min, max]

 private:
  std::vector<ConfigError>& errors_;
  std::string prefix_;
};

// All mistakes as one INVALID_ARGUMENT, `field: message; field: message`, the first five of them;
// OK when there are none.
absl::Status ToStatus(const std::vector<ConfigError>& errors);

}  // namespace bandana
