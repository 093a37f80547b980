#include "server/ops/observation/connection_watch.h"

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr absl::Duration kInterval = absl::Minutes(1);

}  // namespace

void ConnectionWatch::See(const std::map<std::string, ConnectionStats>& listeners, absl::Time now) {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, stats] : listeners) {
    Told& told = told_[name];
    // A clock that was set back must not silence the lines until it has caught up.
    if (stats.refused == told.refused || (now >= told.at && now < told.at + kInterval)) continue;
    std::string reasons;
    for (int r = 1; r < kRefusals; ++r) {
      const auto at = static_cast<std::size_t>(r);
      const std::int64_t more = stats.refused[at] - told.refused[at];
      if (more <= 0) continue;
      absl::StrAppend(&reasons, reasons.empty() ? "" : ", ", more, " ",
                      ToAbsl(RefusalName(static_cast<Refusal>(r))));
    }
    if (!reasons.empty()) {
      say_(absl::StrCat(name, ": refused new connections: ", reasons,
                        "; what each reason means and which limit it is: "
                        "docs/operations/alerts.md, \"Connections are refused\""));
    }
    told = {.refused = stats.refused, .at = now};
  }
}

}  // namespace bandana::server
