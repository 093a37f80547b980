#include "server/ops/observation/refusal_watch.h"

#include "absl/strings/str_cat.h"

namespace bandana::server {

void RefusalWatch::See(std::vector<ModelView>& models, absl::Time now) {
  const std::lock_guard lock(mutex_);
  std::map<std::pair<std::string, std::string>, Seen> next;
  for (ModelView& model : models) {
    for (RefusalView& refusal : model.refusals) {
      const std::pair key(model.name, refusal.reason);
      const auto before = seen_.find(key);
      const bool known = before != seen_.end();
      refusal.since = known ? before->second.since : now;
      next.emplace(key, Seen{*refusal.since, refusal.text});
      if (known) continue;
      say_(/*ended=*/false,
           absl::StrCat("model ", model.name, " does not learn as it should (", refusal.reason,
                        "): ", refusal.text, ". What to do: ", refusal.remedy));
    }
  }
  for (const auto& [key, seen] : seen_) {
    if (next.contains(key)) continue;
    say_(/*ended=*/true,
         absl::StrCat("model ", key.first, ": over after ",
                      absl::FormatDuration(absl::Trunc(now - seen.since, absl::Seconds(1))), " (",
                      key.second, "): ", seen.text));
  }
  seen_ = std::move(next);
}

}  // namespace bandana::server
