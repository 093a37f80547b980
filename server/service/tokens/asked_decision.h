// The content of a token: a decision, and the name that it was asked for by.
#pragma once

#include <optional>
#include <string>

#include "common/model/entries/decision.h"

namespace bandana::server {

// The alias that a decision was asked for by, and the name of the model behind it that made it.
struct AskedAlias {
  std::string alias;  // 1 to kModelNameBytesMax bytes
  std::string model;  // the same
  friend bool operator==(const AskedAlias&, const AskedAlias&) = default;
};

struct AskedDecision : Decision {
  std::optional<AskedAlias> asked;  // absent: the model was asked by its own name
};

}  // namespace bandana::server
