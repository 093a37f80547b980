#include "client/core/delivery/report_form.h"

#include <algorithm>

namespace bandana::device {

Attempts UntilAnswered(absl::Duration deadline, absl::Duration) {
  return {.deadline = deadline, .lifetime = std::nullopt};
}

Attempts WhileRemembered(absl::Duration deadline, absl::Duration token_lifetime) {
  deadline = std::min(deadline, token_lifetime / 2);
  return {.deadline = deadline, .lifetime = token_lifetime - deadline};
}

}  // namespace bandana::device
