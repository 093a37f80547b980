// Whom the reports of one call are for: the model that it names, or those that made decisions under
// the alias that it names.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/sha256.h"
#include "server/models/registry.h"
#include "server/service/tokens/asked_decision.h"

namespace bandana::server {

// Lives on the stack of a call: the models that it found stay with it until they have the reports.
// Not thread-safe.
class Recipients {
 public:
  // `first`: one of them. All make its promise and take reports of its form; what is refused before
  // anybody knows whose it is is counted there. `registry` must outlive the object.
  Recipients(const ModelRegistry& registry, Answering first)
      : registry_(registry), first_(std::move(first)) {}

  const Answering& answering() const { return first_; }
  HostedModel& first() const { return *first_.model; }
  // The policy that devices have agreed to under the name.
  Sha256Digest policy() const;

  // Who made the decision. It is reported under the name that it was asked by, also when the alias
  // stands for other models by now. nullptr: a decision of another name, of a model that is gone,
  // of an earlier instance, or of one that has left the alias's policy. Errors: UNAVAILABLE the
  // model is absent.
  absl::StatusOr<HostedModel*> MakerOf(const AskedDecision& decision);

 private:
  // A model that stands or stood behind the alias; null: there is none that could.
  absl::StatusOr<HostedModel*> Behind(const std::string& name);

  const ModelRegistry& registry_;
  const Answering first_;
  std::vector<std::pair<std::string, std::shared_ptr<HostedModel>>> found_;  // null: refused
};

}  // namespace bandana::server
