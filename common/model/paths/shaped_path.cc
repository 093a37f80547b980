#include "common/base/status.h"
#include "common/model/learners/shaped_sink.h"
#include "common/model/paths/stream_path.h"
#include "common/model/state/model_state.h"
#include "common/model/state/user_shape.h"

namespace bandana {

// PROOF: central begin
absl::StatusOr<ClippedIncrement> ShapedPath::IncrementOf(int node, std::vector<double> features,
                                                         double reward,
                                                         const ModelState& state) const {
  if (!state.shape) return DataLoss("an event before the shape");
  return ShapedIncrement(*state.shape, node, features, reward - contexts_.centre(), design());
}
// PROOF: central end

// A release covers the events of all nodes.
void ShapedPath::Enter(int node, std::string_view features, bool releases,
                       const Applying& to) const {
  auto& sums = PartOf<ContextSums>(to.sink);
  if (releases) {
    to.state.held.TakeAll(
        [&](int held, const NodeStatistics& contexts) { sums.Join(held, contexts); });
  }
  contexts_.Enter({node, {}}, features, releases, to.state.held, sums);
}

absl::Status ShapedPath::TakeShape(const ShapeRecord& record, const Applying& to) const {
  if (to.state.shape) return DataLoss("a second shape");
  UserShape shape{.nodes = record.nodes, .root = record.root.Values()};
  BANDANA_RETURN_IF_ERROR(CheckShape(shape, to.sink.nodes()));
  to.state.shape = std::move(shape);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::string>> ShapedPath::Opening(const ModelSpec& spec,
                                                               const ModelState& state) const {
  if (state.shape) return std::optional<std::string>();
  BANDANA_ASSIGN_OR_RETURN(const UserShape shape, ShapeOf(spec));
  return std::optional(Encode(ShapeRecord{.nodes = shape.nodes, .root = shape.root}));
}

absl::Status ShapedPath::CheckGraphChange(std::string_view model) const {
  return FailedPrecondition("model ", ToAbsl(model),
                            " has one counter over all users, whose noise is shaped by the graph: "
                            "make another model");
}

absl::StatusOr<std::unique_ptr<Learner>> ShapedPath::MakeLearner(
    const ModelSpec& spec, const ModelState& state, std::vector<NodeStatistics> statistics) const {
  auto sink = std::make_unique<ShapedSink>(spec, *this, std::move(statistics));
  BANDANA_RETURN_IF_ERROR(sink->Refresh(state));
  return sink;
}

}  // namespace bandana
