// Every setting of a model, and what replaying old entries under another value of it must come to.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bandana/v1/config.pb.h"

namespace bandana::audit {

// The possible outcomes of a change of a setting, for a model that it applies to.
enum class Replayed {
  kEqual,    // the same releases, bit by bit
  kRefused,  // the model does not open, and the text says why
  kIndependent,
};

struct Setting {
  std::string_view path;  // of the field in ModelConfig: "privacy.counter.horizon"
  // Text of a ModelConfig that is merged over the model's; empty: the field is not changed.
  std::string_view change;
  std::string_view clear;  // a message of the configuration that is cleared before; or empty
  // Fields that a model must have, or (after '!') must not have, for the row to apply; blanks
  // between them.
  std::string_view applies;
  // Models whose name has one of these words, blanks between them, must refuse; "all" all.
  std::string_view refused_by;
  // Why the rest stays equal; of an unchanged field, why it cannot matter.
  std::string_view why;
};
std::span<const Setting> Settings();

// Paths of all fields that hold a value, through messages of this project.
std::vector<std::string> FieldsOfModelConfig();
// Errors: INTERNAL naming each field without a row and each row without a field.
absl::Status CheckSettings();

bool Applies(const Setting& setting, const v1::ModelConfig& config);
v1::ModelConfig Change(const Setting& setting, const v1::ModelConfig& config);
Replayed Expected(const Setting& setting, std::string_view model);

}  // namespace bandana::audit
