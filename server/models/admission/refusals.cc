#include "server/models/admission/refusals.h"

#include "absl/strings/str_cat.h"

namespace bandana::server {

std::string_view NameOf(RefusalReason reason) {
  constexpr std::array<std::string_view, kRefusalReasons.size()> kNames = {
      "ids", "users", "budget", "disk", "log", "clock"};
  return kNames[static_cast<std::size_t>(reason)];
}

std::vector<LastingRefusal> RefusalsOf(const GateRefusals& gate, const RefusalLimits& limits,
                                       const absl::Status& health, absl::Duration disbelieved) {
  std::vector<LastingRefusal> refusals;
  if (gate.Has(RefusalReason::kIds)) {
    refusals.push_back({RefusalReason::kIds,
                        absl::StrCat("as many decisions are remembered as may be, "
                                     "decisions_open_max = ",
                                     limits.ids_max, ": reports are refused"),
                        "raise decisions_open_max, or shorten token_lifetime"});
  }
  if (gate.Has(RefusalReason::kUsers)) {
    refusals.push_back({RefusalReason::kUsers,
                        absl::StrCat("as many users are known as may be, users_max = ",
                                     limits.users_max, ": reports of new users are refused"),
                        "raise users_max"});
  }
  if (gate.Has(RefusalReason::kBudget)) {
    refusals.push_back({RefusalReason::kBudget,
                        "the events or the steps that a user or a stream may have in this epoch "
                        "are used up: their reports are refused",
                        "open a new epoch where your policy allows one, or let it be"});
  }
  if (absl::IsResourceExhausted(health)) {
    refusals.push_back({RefusalReason::kDisk, std::string(health.message()),
                        "free space on the disk: reports are taken again by themselves"});
  } else if (absl::IsUnknown(health)) {
    refusals.push_back({RefusalReason::kLog, std::string(health.message()),
                        "see to the database, or the network between servers: reports are "
                        "taken again by themselves"});
  } else if (absl::IsAborted(health)) {
    refusals.push_back({RefusalReason::kLog, std::string(health.message()),
                        "report to the server that owns the model; a restart claims it again"});
  } else if (!health.ok()) {
    refusals.push_back({RefusalReason::kLog, std::string(health.message()),
                        "see to the disk or file that the message names; a restart recovers"});
  }
  if (disbelieved != absl::ZeroDuration()) {
    const absl::Duration off = absl::Trunc(absl::AbsDuration(disbelieved), absl::Seconds(1));
    refusals.push_back(
        {RefusalReason::kClock,
         absl::StrCat("the machine's clock is ", absl::FormatDuration(off),
                      disbelieved > absl::ZeroDuration() ? " ahead of" : " behind",
                      " the model's time, which runs on without it"),
         "set the machine's clock right; where it is right, confirm it (bandana-ctl clock "
         "confirm)"});
  }
  return refusals;
}

}  // namespace bandana::server
