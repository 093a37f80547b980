#include "common/model/learners/learner.h"

#include <utility>

#include "common/base/status.h"

namespace bandana {

std::shared_ptr<const ServedPosterior> Learner::Show(std::uint64_t version,
                                                     const std::vector<int>& changed) {
  if (shown_ == nullptr) {
    shown_ = std::make_shared<const PosteriorSnapshot>(dimension(), Prior(), nodes());
  }
  std::vector<NodePosterior> posteriors;
  posteriors.reserve(changed.size());
  for (const int node : changed) posteriors.push_back(Posterior(node));
  shown_ = shown_->With(version, changed, std::move(posteriors));
  return shown_;
}

absl::Status AsRecovered(const absl::Status& read) {
  if (read.ok()) return read;
  return DataLoss("the recovered statistics: ", read.message());
}

}  // namespace bandana
