#include "common/model/paths/sparse_path.h"

#include <cstring>

#include "common/base/status.h"
#include "common/model/learners/sparse_sink.h"
#include "common/model/state/model_state.h"

namespace bandana {

// PROOF: sparse_served begin
// That there was an event is all that is kept beside the open episode.
absl::Status SparsePath::Use(const SeenEvent& event, double reward, const Applying& to) const {
  std::vector<double> x(dimension());
  std::memcpy(x.data(), event.features.data(), event.features.size());
  BANDANA_ASSIGN_OR_RETURN(const bool released,
                           to.state.sparse.Step(x, reward, model_, OriginOf(to)));
  auto& events = PartOf<StreamEvents>(to.sink);
  events.Count(event.node);
  if (released) events.Touch(event.node);
  return absl::OkStatus();
}
// PROOF: sparse_served end

void SparsePath::CloseStreams(ModelState& state) const { state.sparse.Close(); }

absl::Status SparsePath::RestoreSparse(std::string_view sparse, ModelState& state) const {
  ByteReader in(sparse);
  BANDANA_RETURN_IF_ERROR(state.sparse.Decode(in, model_));
  if (!in.Done()) return DataLoss("checkpoint: the sparse state has a wrong length");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Learner>> SparsePath::MakeLearner(
    const ModelSpec& spec, const ModelState& state, std::vector<NodeStatistics> statistics) const {
  return SparseSink::Create(spec, state, std::move(statistics));
}

}  // namespace bandana
