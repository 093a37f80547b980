// A mechanism's claim, in a form that a ledger, a log line and a status page can carry.
#pragma once

#include <string_view>

#include "common/accounting/composition.h"
#include "common/base/sha256.h"

namespace bandana {

enum class GuaranteeLabel {
  kProven,     // a proof note in docs/privacy, bound to the code
  kPublished,  // a paper's formula, kept for reproduction; never a default
};

// Public parameters only: nothing here depends on data.
struct MechanismDescriptor {
  std::string_view name;
  GuaranteeLabel label = GuaranteeLabel::kPublished;
  double sensitivity = 0;     // of the statistic in grid steps, in the mechanism's norm
  PrivacyCost cost;           // of one release, to debit before it is drawn
  Sha256Digest parameters{};  // SHA-256 of the canonical text of all parameters
};

}  // namespace bandana
