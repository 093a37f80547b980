#include "common/model/learners/learner.h"

#include "common/base/status.h"

namespace bandana {

absl::Status AsRecovered(const absl::Status& read) {
  if (read.ok()) return read;
  return DataLoss("the recovered statistics: ", read.message());
}

}  // namespace bandana
