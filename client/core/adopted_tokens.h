// The tokens of backends' decisions that this store has adopted: each of them becomes one decision
// of the device's, and no second one.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/core/tables.h"

namespace bandana::device {

// Inside the writer's transactions. Digests stand in the rows that are kept, of no model.
class AdoptedTokens {
 public:
  // `tables` outlive it.
  explicit AdoptedTokens(Tables& tables) : tables_(tables) {}

  // Errors: FAILED_PRECONDITION the token was adopted before; or the rows were older than they had
  // been, so that nobody knows: then only what is decided an hour after this was noticed here is
  // adopted, by whatever clock it was timed.
  absl::Status Check(std::string_view token, absl::Time decided, absl::Time now);
  // Keeps the token until `forget_at`, and forgets those whose time has come.
  void Add(std::string_view token, absl::Time forget_at, absl::Time now);

 private:
  Tables& tables_;
};

}  // namespace bandana::device
