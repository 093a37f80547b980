// How an arm of a model is asked for: by the SDK, and by a caller without it.
#pragma once

#include <functional>
#include <string>

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
  // Callers without the SDK: the name under which the decision is asked for, activated and
  // reported; "" by its token.
  virtual std::string NameOf(const Choice&) const { return ""; }
  // Whether the caller defers decisions, and says a little later that they are shown.
  virtual bool defers() const { return false; }
};

// With the features of the arms.
const Asking& AsksInline();
// By name: the values of the audit's schema. Without the SDK as well.
const Asking& AsksNamed();
// As AsksNamed, each decision named: as clients of Personalizer ask. And deferred.
const Asking& AsksPersonalizer();
const Asking& AsksPersonalizerLater();
// With the arms of the server's catalogue.
const Asking& AsksCatalogue();
// As AsksCatalogue, by rules: filters, times, boosts, pins and limits; those without arms that the
// user was shown in the last minute.
const Asking& AsksByRules();
const Asking& AsksUnseen();
// For a point to play.
const Asking& AsksPoint();
// By the SDK, for two slots.
const Asking& AsksSlotsOfSdk();
// Named, for two slots that the caller fills by itself. Without the SDK.
const Asking& AsksSlots();
// Named and deferred, with the caller's own arm shown. Without the SDK.
const Asking& AsksDeferred();

}  // namespace bandana::audit
