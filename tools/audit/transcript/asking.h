// How an arm of a model is asked for: by the SDK, and by a caller without it.
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "bandana/client.h"
#include "bandana/v1/recommender.pb.h"

namespace bandana::audit {

struct Choice;

// Immutable.
class Asking {
 public:
  using Selected = std::function<void(absl::StatusOr<Selection>)>;
  virtual ~Asking() = default;
  // Into a request that names model and user.
  virtual void Add(const Choice& choice, v1::SelectRequest& request) const = 0;
  virtual void Select(Client& client, const Choice& choice, Selected done) const = 0;
};

// With the features of the arms.
const Asking& AsksInline();
// With the arms of the server's catalogue.
const Asking& AsksCatalogue();
// For a point to play.
const Asking& AsksPoint();

}  // namespace bandana::audit
