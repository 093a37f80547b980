#include "server/models/replicas/standing.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace bandana::server {

absl::Status CheckStandings(std::span<const Standing> answers,
                            const std::vector<std::string>& others, const std::string& self,
                            const std::string& place, std::uint64_t last) {
  std::set<std::string> may_have(others.begin(), others.end());
  bool known = false;
  for (const Standing& answer : answers) {
    const std::uint64_t shown = answer.published.position.sequence;
    if (answer.published.known && shown > last) {
      return NeedsEpoch(absl::StrCat("the log ends at entry ", last, ", and server ", answer.name,
                                     " published after entry ", shown,
                                     ": an older copy of the log was put back"));
    }
    known = known || (!answer.in_touch.empty() && answer.in_touch == place);
    may_have.insert(answer.others.begin(), answer.others.end());
  }
  if (known) return absl::OkStatus();
  may_have.erase(self);
  for (const Standing& answer : answers) may_have.erase(answer.name);
  if (may_have.empty()) return absl::OkStatus();
  return NeedsEpoch(absl::StrCat(
      "server ", *may_have.begin(),
      " may have published what the database does not hold, and it does not answer; start it"));
}

absl::Status CompareReleased(std::span<const ReleasedBy> mine, std::span<const ReleasedBy> owners) {
  for (const ReleasedBy& one : mine) {
    const auto same = std::ranges::find(owners, one.sequence, &ReleasedBy::sequence);
    if (same == owners.end() || same->digest == one.digest) continue;
    return FailedPrecondition(
        "what this server computes of the entries up to ", one.sequence,
        " differs from what their owner computes: its releases have other noise, and nobody has "
        "paid for them; run the same build on every server");
  }
  return absl::OkStatus();
}

}  // namespace bandana::server
