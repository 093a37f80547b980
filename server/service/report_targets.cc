#include "server/service/report_targets.h"

#include <algorithm>

#include "common/design/alias.h"
#include "server/service/named_decisions.h"
#include "server/service/owners/owner_channels.h"

namespace bandana::server {

absl::StatusOr<ServedModel*> ReportTargets::Behind(const std::string& name) {
  const auto known =
      std::ranges::find_if(found_, [&](const auto& named) { return named.first == name; });
  if (known != found_.end()) return known->second.get();
  std::shared_ptr<ServedModel> model = registry_.Find(name);
  if (model == nullptr) {
    const absl::Status absence = AbsenceOf(registry_, name);
    if (absl::IsUnavailable(absence)) return absence;
  } else if (PolicyUnder(model->spec().public_spec, first_.alias->spec.name) != first_.policy()) {
    model = nullptr;
  }
  return found_.emplace_back(name, std::move(model)).second.get();
}

std::vector<std::string> ReportTargets::TokensOf(const std::string& decision_id) const {
  return decision_index_ == nullptr ? std::vector<std::string>()
                                    : NamedTokens(*decision_index_, first_, decision_id);
}

absl::StatusOr<ServedModel*> ReportTargets::MakerOf(const AskedDecision& decision) {
  ServedModel* maker = nullptr;
  if (first_.alias == nullptr) {
    if (!decision.asked) maker = first_.model.get();
  } else if (decision.asked && decision.asked->alias == first_.alias->spec.name) {
    const absl::StatusOr<ServedModel*> behind = Behind(decision.asked->model);
    if (!behind.ok()) return behind.status();
    maker = *behind;
  }
  // Its owner alone knows which instance and which epoch is the newest.
  if (maker != nullptr && maker->owned() == nullptr) return OwnerAway();
  return maker != nullptr && maker->instance() == decision.instance ? maker : nullptr;
}

}  // namespace bandana::server
