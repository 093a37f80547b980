#include "common/design/coupling_config.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/wire/graph_proto.h"
#include "common/wire/users_tsv.h"

namespace bandana {
namespace {

constexpr std::uint32_t kIndependentUsersDefault = 10'000;
constexpr int kSparsityDefault = 10;

std::optional<Graph> ReadGraphFile(const v1::Graph& proto, const FileSource& files,
                                   const FieldChecks& checks) {
  if (proto.users() != 0 || proto.rows_size() + proto.columns_size() + proto.weights_size() != 0) {
    checks.Add("file", "and inline entries (users, rows, columns, weights) exclude each other");
    return std::nullopt;
  }
  if (!v1::Graph::Kind_IsValid(proto.kind())) {
    checks.Add("kind", absl::StrCat("must be EDGE_WEIGHTS or INFLUENCE, got ",
                                    static_cast<int>(proto.kind())));
    return std::nullopt;
  }
  const std::string text = ReadConfigFile("file", proto.file(), kGraphFileBytesMax, files, checks);
  if (text.empty()) return std::nullopt;
  auto graph =
      ParseMatrixMarket(text, proto.kind() == v1::Graph::INFLUENCE ? Graph::Kind::kInfluence
                                                                   : Graph::Kind::kEdgeWeights);
  const absl::Status status = graph.ok() ? ValidateGraph(*graph) : graph.status();
  if (!status.ok()) {
    checks.Add("file", absl::StrCat(proto.file(), ": ", status.message()));
    return std::nullopt;
  }
  return *std::move(graph);
}

std::optional<Graph> ReadGraph(const v1::Graph& proto, const FileSource& files,
                               const FieldChecks& checks) {
  if (!proto.file().empty()) return ReadGraphFile(proto, files, checks.Inside("graph"));
  auto graph = GraphFromProto(proto);
  if (!graph.ok()) {
    checks.Add("graph", std::string(graph.status().message()));
    return std::nullopt;
  }
  return *std::move(graph);
}

UserNodes ReadInlineUsers(const v1::UserMap& map, int nodes, const FieldChecks& checks) {
  UserNodes users;
  if (map.ids_size() != map.nodes_size()) {
    checks.Add("nodes", absl::StrCat("must be as long as ids = ", map.ids_size(), ", got ",
                                     map.nodes_size()));
    return users;
  }
  for (int i = 0; i < map.ids_size(); ++i) {
    const absl::Status added = AddUser(map.ids(i), map.nodes(i), nodes, users);
    if (!added.ok()) {
      checks.Add("ids", absl::StrCat("entry ", i, ": ", ToAbsl(ToStd(added.message()))));
      return users;
    }
  }
  return users;
}

UserNodes ReadUsers(const v1::UserMap& map, int nodes, const FileSource& files,
                    const FieldChecks& checks) {
  if (map.file().empty()) return ReadInlineUsers(map, nodes, checks);
  if (map.ids_size() + map.nodes_size() != 0) {
    checks.Add("file", "and inline entries (ids, nodes) exclude each other");
    return {};
  }
  const std::string text = ReadConfigFile("file", map.file(), kUsersFileBytesMax, files, checks);
  if (text.empty()) return {};
  auto users = ParseUsersTsv(text, nodes);
  if (!users.ok()) {
    checks.Add("file", absl::StrCat(map.file(), ": ", users.status().message()));
    return {};
  }
  return *std::move(users);
}

void ParseUserMap(const v1::UserMap& map, int nodes, const FileSource& files, ModelSpec& spec,
                  const FieldChecks& checks) {
  spec.users = ReadUsers(map, nodes, files, checks);
  if (map.has_reject() && !map.reject()) {
    checks.Add("reject", "must be true where it is given; cold_start_node accepts unknown users");
  }
  if (map.has_cold_start_node()) {
    if (map.cold_start_node() >= static_cast<std::uint32_t>(nodes)) {
      checks.Add("cold_start_node",
                 absl::StrCat("must be a node in [0, ", nodes, "), got ", map.cold_start_node()));
    }
    spec.cold_start_node = static_cast<int>(map.cold_start_node());
  }
}

void InlineUsers(const ModelSpec& spec, v1::UserMap& map) {
  map.clear_file();
  map.clear_ids();
  map.clear_nodes();
  std::vector<std::pair<std::string, int>> sorted(spec.users.begin(), spec.users.end());
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [id, node] : sorted) {
    map.add_ids(id);
    map.add_nodes(static_cast<std::uint32_t>(node));
  }
}

absl::StatusOr<Coupling> CouplingOf(const v1::ModelConfig& config, const Graph& graph,
                                    int dimension) {
  if (config.has_colin()) return Coupling::CoLin(graph, dimension);
  if (graph.kind == Graph::Kind::kInfluence) {
    return InvalidArgument("kind must be EDGE_WEIGHTS: GOBLin needs a symmetric graph");
  }
  const double weight = config.goblin().laplacian_weight();
  return Coupling::Goblin(graph, weight == 0 ? 1.0 : weight, dimension);
}

// `graph` and `users` of the coupling message whose checks are given.
void ParseGraphCoupling(const v1::ModelConfig& config, const v1::Graph& graph_proto,
                        const v1::UserMap& users, const FileSource& files, ModelSpec& spec,
                        const FieldChecks& checks) {
  spec.colin_or_goblin = true;
  const auto graph = ReadGraph(graph_proto, files, checks);
  if (!graph) return;  // without N nothing can be said about the users
  ParseUserMap(users, graph->nodes, files, spec, checks.Inside("users"));
  const int dimension = std::clamp(spec.bandit.dimension, 1, kDimensionMax);
  auto coupling = CouplingOf(config, *graph, dimension);
  if (!coupling.ok()) {
    checks.Add("graph", std::string(coupling.status().message()));
    return;
  }
  spec.coupling = *std::move(coupling);
  spec.bandit.nodes_max = graph->nodes;
  const bool colin = config.has_colin();
  *(colin ? spec.config.mutable_colin()->mutable_graph()
          : spec.config.mutable_goblin()->mutable_graph()) = GraphToProto(*graph);
  if (!spec.users.empty()) {
    InlineUsers(spec, colin ? *spec.config.mutable_colin()->mutable_users()
                            : *spec.config.mutable_goblin()->mutable_users());
  }
}

void ParseArmsFamily(const v1::ArmsFamily& arms, ModelSpec& spec, const FieldChecks& checks) {
  ArmsSpec& out = spec.arms.emplace();
  if (arms.policy() != v1::ArmsFamily::POLICY_UNSPECIFIED) out.policy = arms.policy();
  if (out.policy < v1::ArmsFamily::TSALLIS_INF || out.policy > v1::ArmsFamily::LIL_UCB) {
    checks.Add("policy", absl::StrCat("must be TSALLIS_INF, KL_UCB or LIL_UCB, got ",
                                      static_cast<int>(out.policy)));
  }
  if (arms.failure_probability() != 0) {
    out.failure_probability = checks.OpenUnit("failure_probability", arms.failure_probability());
  }
}

void ParseSparseFamily(const v1::SparseFamily& sparse, ModelSpec& spec, const FieldChecks& checks) {
  SparseSpec& out = spec.sparse.emplace();
  const int dimension = std::max(spec.public_spec.dimension, 1);
  const std::uint64_t sparsity =
      sparse.sparsity() == 0 ? std::min(kSparsityDefault, dimension) : sparse.sparsity();
  out.sparsity = static_cast<int>(checks.Count("sparsity", sparsity, 1, dimension));
  out.context_stddev = checks.Positive(
      "context_stddev", sparse.context_stddev() == 0 ? 1 : sparse.context_stddev(), kScaleMax);
  out.context_abs_max = checks.Positive(
      "context_abs_max",
      sparse.context_abs_max() == 0 ? out.context_stddev / 2 : sparse.context_abs_max(), kScaleMax);
}

void ParsePointsFamily(const v1::PointsFamily& points, ModelSpec& spec, const FieldChecks& checks) {
  PointsSpec& out = spec.points.emplace();
  switch (points.domain()) {
    case v1::PointsFamily::DOMAIN_UNSPECIFIED:
    case v1::PointsFamily::BALL:
      out.domain.kind = ConvexDomain::Kind::kBall;
      break;
    case v1::PointsFamily::BOX:
      out.domain.kind = ConvexDomain::Kind::kBox;
      break;
    default:
      checks.Add("domain",
                 absl::StrCat("must be BALL or BOX, got ", static_cast<int>(points.domain())));
  }
  out.domain.dimension = spec.public_spec.dimension;
  out.domain.radius =
      checks.Positive("radius", points.radius() == 0 ? 1 : points.radius(), kScaleMax);
  out.smoothness =
      checks.Positive("smoothness", points.smoothness() == 0 ? 1 : points.smoothness(), kScaleMax);
  out.horizon = points.horizon();
}

}  // namespace

std::string ReadConfigFile(std::string_view field, const std::string& path, std::uint64_t bytes_max,
                           const FileSource& files, const FieldChecks& checks) {
  if (!files.allowed) {
    checks.Add(field, "cannot be named here: a server reads files only for its own config file");
    return "";
  }
  auto text = ReadFile(ResolvePath(path, files.folder), bytes_max);
  if (!text.ok()) {
    checks.Add(field, std::string(text.status().message()));
    return "";
  }
  if (text->empty()) checks.Add(field, absl::StrCat(path, " is empty"));
  return *std::move(text);
}

void ParseCoupling(const v1::ModelConfig& config, const FileSource& files, ModelSpec& spec,
                   const FieldChecks& checks) {
  switch (config.coupling_case()) {
    case v1::ModelConfig::kShared:
      return;
    case v1::ModelConfig::kIndependent: {
      const std::uint32_t given = config.independent().users_max();
      spec.coupling = Coupling::Independent();
      spec.bandit.nodes_max =
          static_cast<int>(checks.Inside("independent")
                               .Count("users_max", given == 0 ? kIndependentUsersDefault : given, 1,
                                      kIndependentUsersMax));
      return;
    }
    case v1::ModelConfig::kColin:
      return ParseGraphCoupling(config, config.colin().graph(), config.colin().users(), files, spec,
                                checks.Inside("colin"));
    case v1::ModelConfig::kGoblin: {
      const FieldChecks inside = checks.Inside("goblin");
      const double weight = config.goblin().laplacian_weight();
      if (!(weight >= 0 && weight <= kScaleMax)) {
        inside.Positive("laplacian_weight", weight, kScaleMax);
        return;
      }
      return ParseGraphCoupling(config, config.goblin().graph(), config.goblin().users(), files,
                                spec, inside);
    }
    case v1::ModelConfig::kArms:
      return ParseArmsFamily(config.arms(), spec, checks.Inside("arms"));
    case v1::ModelConfig::kSparse:
      return ParseSparseFamily(config.sparse(), spec, checks.Inside("sparse"));
    case v1::ModelConfig::kPoints:
      return ParsePointsFamily(config.points(), spec, checks.Inside("points"));
    case v1::ModelConfig::COUPLING_NOT_SET:
      checks.Add("coupling",
                 "is required: shared, independent, colin, goblin, arms, sparse or points");
  }
}

std::string GraphDigest(const ModelSpec& spec) {
  return ToHex(Sha256Of(spec.config.has_colin()
                            ? spec.config.colin().graph().SerializeAsString()
                            : spec.config.goblin().graph().SerializeAsString()));
}

absl::StatusOr<Coupling> MakeCoupling(const v1::ModelConfig& config, const v1::Graph& graph,
                                      int dimension) {
  if (!config.has_colin() && !config.has_goblin()) {
    return InvalidArgument("graph: model ", config.name(), " has no graph");
  }
  BANDANA_ASSIGN_OR_RETURN(const Graph parsed, GraphFromProto(graph));
  return CouplingOf(config, parsed, dimension);
}

}  // namespace bandana
