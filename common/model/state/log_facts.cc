#include "common/model/state/log_facts.h"

#include "common/base/status.h"

namespace bandana {

absl::Status LogFacts::Take(const DeleteRecord& record, const EpochEvents& events) {
  for (const DeletedUser& user : record.users) {
    const std::uint64_t counted = user.node >= 0 ? events.InEpoch(user.node) : 0;
    BANDANA_RETURN_IF_ERROR(deleted.Add(record, user, counted));
  }
  return absl::OkStatus();
}

}  // namespace bandana
