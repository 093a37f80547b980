// A record of the values that came for each field, and the notes that the caller gets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "common/features/field.h"

namespace bandana {

// How the values of one field came.
struct FieldCount {
  std::uint64_t values = 0;  // all that came, good or not
  std::uint64_t missing = 0;
  std::uint64_t unknown = 0;
  std::uint64_t out_of_bounds = 0;
};

// How values are taken that are no values of their field.
enum class ValueRule {
  kOpen,    // INVALID_ARGUMENT, which quotes them
  kHidden,  // they count as missing, nothing is quoted: no value decides whether there is an event
};

// Where values stand in the caller's message: "context", "arms[2].features".
struct ValuePath {
  std::string_view list;  // "arms", or the whole path where index < 0
  int index = -1;
  std::string_view member = {};
};

// Values of one request. Not thread-safe.
class ValueLog {
 public:
  static constexpr std::size_t kNotesMax = 16;

  void Begin(ValueRule rule, std::size_t fields);
  // A field's value, null where there is none. Errors: INVALID_ARGUMENT, by the rule.
  absl::Status Take(const FeatureField& field, std::size_t number, Found found,
                    const ValuePath& path, const NamedValue& value);
  void TakeMissing(std::size_t number) { ++counts_[number].missing; }
  // A name that no field has. Errors: INVALID_ARGUMENT, by the rule. `known`: names that are there.
  absl::Status TakeUnknownName(std::string_view name, const ValuePath& path,
                               const std::string& known);

  // By field of the schema.
  const std::vector<FieldCount>& counts() const { return counts_; }
  // Notes on values that were wrong and served all the same, first things first.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void Note(const ValuePath& path, std::string_view field, const std::string& text);

  ValueRule rule_ = ValueRule::kOpen;
  std::vector<FieldCount> counts_;
  std::vector<std::string> notes_;
};

// A text for an error, at most some 40 bytes: in quotes, cut, and escaped.
std::string ShowText(std::string_view text);
// A value for an error, at most some 40 bytes: a text in quotes, a number, "a list of 3".
std::string ShowValue(const NamedValue& value);

}  // namespace bandana
