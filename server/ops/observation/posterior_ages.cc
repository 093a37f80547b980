#include "server/ops/observation/posterior_ages.h"

#include <algorithm>

namespace bandana::server {

void PosteriorAges::See(std::vector<ModelView>& models, absl::Time now) {
  const std::lock_guard lock(mutex_);
  std::map<std::string, Seen> next;
  for (ModelView& model : models) {
    const auto before = seen_.find(model.name);
    Seen seen{model.posterior_version, now};
    const bool waits = model.posterior_version < model.log_sequence;
    if (waits && before != seen_.end() && before->second.version == model.posterior_version)
      seen.moved = std::min(before->second.moved, now);
    model.posterior_age_seconds = absl::ToDoubleSeconds(now - seen.moved);
    next.emplace(model.name, seen);
  }
  seen_ = std::move(next);
}

}  // namespace bandana::server
