// PolicyText where no number can be printed: this device agrees to the texts of servers alone.
#include "common/promise/policy_text.h"

namespace bandana {

std::string PolicyText(const PublicSpec&) { return ""; }

}  // namespace bandana
