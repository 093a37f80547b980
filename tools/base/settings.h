// `key=value` settings of experiments and environments, each checked for its range and none
// silently ignored.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace bandana {

// Every getter takes its key out; Finish complains about what nobody took. Errors: INVALID_ARGUMENT
// naming key and constraint.
class Settings {
 public:
  Settings() = default;
  // From `key=value` texts; keys are [a-z0-9_]+ and may appear once.
  static absl::StatusOr<Settings> Parse(std::span<const std::string> assignments);

  bool Has(std::string_view key) const { return values_.contains(std::string(key)); }
  // Sets a key that was not set. Errors: INVALID_ARGUMENT it was.
  absl::Status Add(std::string_view key, std::string_view value);

  absl::StatusOr<int> TakeInt(std::string_view key, int otherwise, int min, int max);
  // A decimal in [min, max].
  absl::StatusOr<double> TakeDouble(std::string_view key, double otherwise, double min, double max);
  absl::StatusOr<std::string> TakeText(std::string_view key, std::string_view otherwise);
  absl::StatusOr<std::string> TakeChoice(std::string_view key, std::string_view otherwise,
                                         std::span<const std::string_view> choices);

  // Errors: INVALID_ARGUMENT naming the first key that no getter asked for, and those that were.
  absl::Status Finish() const;

 private:
  const std::string* Find(std::string_view key);

  std::map<std::string, std::string> values_;
  std::set<std::string> known_;
};

}  // namespace bandana
