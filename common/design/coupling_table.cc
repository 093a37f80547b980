#include "common/design/coupling_table.h"

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/families/families.h"

namespace bandana {
namespace {

constexpr std::uint32_t kIndependentUsersDefault = 10'000;

void ParseShared(const v1::ModelConfig&, const FileSource&, ModelSpec&, const FieldChecks&) {}

std::string SharedWords(const ModelSpec&) { return "LinUCB, one model for all users (1 node)"; }

void ParseIndependent(const v1::ModelConfig& config, const FileSource&, ModelSpec& spec,
                      const FieldChecks& checks) {
  const std::uint32_t given = config.independent().users_max();
  spec.coupling = Coupling::Independent();
  spec.bandit.nodes_max = static_cast<int>(checks.Count(
      "users_max", given == 0 ? kIndependentUsersDefault : given, 1, kIndependentUsersMax));
}

std::string IndependentWords(const ModelSpec& spec) {
  return absl::StrCat("LinUCB, one model per user, at most ", spec.bandit.nodes_max, " users");
}

absl::StatusOr<Coupling> ColinOfGraph(const v1::ModelConfig&, const Graph& graph, int dimension) {
  return Coupling::CoLin(graph, dimension);
}

std::string ColinWords(const ModelSpec& spec) {
  return absl::StrCat("CoLin over ", spec.coupling.nodes(), " nodes");
}

void ParseGoblin(const v1::ModelConfig& config, const FileSource& files, ModelSpec& spec,
                 const FieldChecks& checks) {
  const double weight = config.goblin().laplacian_weight();
  if (weight >= 0 && weight <= kScaleMax) return ParseGraphCoupling(config, files, spec, checks);
  checks.Positive("laplacian_weight", weight, kScaleMax);
}

absl::StatusOr<Coupling> GoblinOfGraph(const v1::ModelConfig& config, const Graph& graph,
                                       int dimension) {
  if (graph.kind == Graph::Kind::kInfluence) {
    return InvalidArgument("kind must be EDGE_WEIGHTS: GOBLin needs a symmetric graph");
  }
  const double weight = config.goblin().laplacian_weight();
  return Coupling::Goblin(graph, weight == 0 ? 1.0 : weight, dimension);
}

std::string GoblinWords(const ModelSpec& spec) {
  return absl::StrCat("GOBLin over ", spec.coupling.nodes(), " nodes");
}

constexpr CouplingRow kCouplings[] = {
    {.id = v1::ModelConfig::kShared,
     .name = "shared",
     .family = LinearFamily,
     .parse = ParseShared,
     .words = SharedWords},
    {.id = v1::ModelConfig::kIndependent,
     .name = "independent",
     .family = LinearFamily,
     .users = OneNodePerUser,
     .parse = ParseIndependent,
     .words = IndependentWords},
    {.id = v1::ModelConfig::kColin,
     .name = "colin",
     .family = LinearFamily,
     .users = NodesOfGraph,
     .parse = ParseGraphCoupling,
     .words = ColinWords,
     .of_graph = ColinOfGraph},
    {.id = v1::ModelConfig::kGoblin,
     .name = "goblin",
     .family = LinearFamily,
     .users = NodesOfGraph,
     .parse = ParseGoblin,
     .words = GoblinWords,
     .of_graph = GoblinOfGraph},
    {.id = v1::ModelConfig::kArms,
     .name = "arms",
     .family = ArmsFamily,
     .parse = ParseArmsFamily,
     .words = ArmsWords},
    {.id = v1::ModelConfig::kSparse,
     .name = "sparse",
     .family = SparseFamily,
     .parse = ParseSparseFamily,
     .words = SparseWords},
    {.id = v1::ModelConfig::kPoints,
     .name = "points",
     .family = PointsFamily,
     .parse = ParsePointsFamily,
     .words = PointsWords},
    {.id = v1::ModelConfig::kEffects,
     .name = "effects",
     .family = EffectsFamily,
     .parse = ParseEffectsFamily,
     .words = EffectsWords},
};

}  // namespace

absl::StatusOr<Coupling> NoGraph(const v1::ModelConfig& config, const Graph&, int) {
  return InvalidArgument("graph: model ", config.name(), " has no graph");
}

std::span<const CouplingRow> Couplings() { return kCouplings; }

const CouplingRow* FindCoupling(const v1::ModelConfig& config) {
  for (const CouplingRow& row : kCouplings) {
    if (row.id == config.coupling_case()) return &row;
  }
  return nullptr;
}

const CouplingRow& CouplingOf(const v1::ModelConfig& config) {
  const CouplingRow* const row = FindCoupling(config);
  return row == nullptr ? kCouplings[0] : *row;
}

}  // namespace bandana
