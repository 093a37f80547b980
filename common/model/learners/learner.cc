#include "common/model/learners/learner.h"

#include <algorithm>
#include <utility>

#include "common/base/status.h"
#include "common/model/learners/arms_sink.h"
#include "common/model/learners/bandit_sink.h"
#include "common/model/learners/context_sink.h"
#include "common/model/learners/counter_sink.h"
#include "common/model/learners/joint_sink.h"
#include "common/model/learners/points_sink.h"
#include "common/model/learners/shaped_sink.h"
#include "common/model/learners/sparse_sink.h"

namespace bandana {

absl::StatusOr<std::unique_ptr<Learner>> MakeLearner(const ModelSpec& spec, const RewardPath& path,
                                                     const ModelState& state,
                                                     std::vector<NodeStatistics> statistics) {
  const auto release_of = [&](int node) { return state.ReleaseOf(node, path); };
  if (path.shaped()) {
    auto sink = std::make_unique<ShapedSink>(spec, state.shape, std::move(statistics));
    BANDANA_RETURN_IF_ERROR(sink->Refresh(release_of));
    return sink;
  }
  if (path.sparse() != nullptr) {
    return SparseSink::Create(spec, state.sparse.estimate(), std::move(statistics));
  }
  if (spec.arms) {
    const double variance = path.randomizer() == nullptr ? 0 : path.randomizer()->VarianceMax();
    return ArmsSink::Create(spec, variance, std::move(statistics));
  }
  if (spec.points) return PointsSink::Create(spec, std::move(statistics));
  BANDANA_ASSIGN_OR_RETURN(Coupling coupling, CouplingOf(spec, state.graph));
  BanditModel::Options options = spec.bandit;
  options.nodes_max = std::max(options.nodes_max, static_cast<int>(statistics.size()));
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<BanditModel> model,
                           BanditModel::Create(options, std::move(coupling)));
  if (path.contexts() != nullptr) {
    return ContextSink::Create(spec, path.contexts()->variance(), std::move(model), statistics);
  }
  if (path.joint() != nullptr) {
    auto sink = JointSink::Create(spec, std::move(model), std::move(statistics), release_of);
    if (!sink.ok()) return DataLoss("the recovered releases: ", sink.status().message());
    return *std::move(sink);
  }
  std::vector<NodeStatistics> contexts;
  if (path.counter() != nullptr) {
    contexts = statistics;
    for (std::size_t node = 0; node < contexts.size(); ++node) {
      statistics[node] = WithRelease(contexts[node], state.ReleaseOf(static_cast<int>(node), path));
    }
  }
  const absl::Status restored = model->Restore(std::move(statistics));
  if (!restored.ok()) return DataLoss("the recovered statistics: ", restored.message());
  std::unique_ptr<Learner> learner;
  if (path.counter() == nullptr) {
    learner = std::make_unique<BanditSink>(spec, std::move(model));
  } else {
    learner = std::make_unique<CounterSink>(spec, std::move(model), std::move(contexts));
  }
  return learner;
}

}  // namespace bandana
