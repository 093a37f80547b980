#include "common/design/coupling_config.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/coupling_message.h"
#include "common/design/coupling_table.h"
#include "common/design/files/graph_proto.h"
#include "common/design/files/users_tsv.h"

namespace bandana {
namespace {

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

UserMapping ReadInlineUsers(const v1::UserMap& map, int nodes, const FieldChecks& checks) {
  UserMapping users;
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

UserMapping ReadUsers(const v1::UserMap& map, int nodes, const FileSource& files,
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

void InlineUsers(const UserMapping& users, v1::UserMap& map) {
  map.clear_file();
  map.clear_ids();
  map.clear_nodes();
  std::vector<std::pair<std::string, int>> sorted(users.begin(), users.end());
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [id, node] : sorted) {
    map.add_ids(id);
    map.add_nodes(static_cast<std::uint32_t>(node));
  }
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

void ParseGraphCoupling(const v1::ModelConfig& config, const FileSource& files, ModelSpec& spec,
                        const FieldChecks& checks) {
  const auto graph = ReadGraph(*GraphOf(config), files, checks);
  if (!graph) return;  // without N nothing can be said about the users
  ParseUserMap(*UsersOf(config), graph->nodes, files, spec, checks.Inside("users"));
  const int dimension = std::clamp(spec.bandit.dimension, 1, kDimensionMax);
  auto coupling = CouplingOf(config).of_graph(config, *graph, dimension);
  if (!coupling.ok()) {
    checks.Add("graph", std::string(coupling.status().message()));
    return;
  }
  spec.coupling = *std::move(coupling);
  spec.bandit.nodes_max = graph->nodes;
  *MutableGraphOf(spec.config) = GraphToProto(*graph);
  if (!spec.users.empty()) InlineUsers(spec.users, *MutableUsersOf(spec.config));
}

void ParseCoupling(const v1::ModelConfig& config, const FileSource& files, ModelSpec& spec,
                   const FieldChecks& checks) {
  const CouplingRow* const row = FindCoupling(config);
  if (row != nullptr) return row->parse(config, files, spec, checks.Inside(row->name));
  const auto name = [](std::string* out, const CouplingRow& one) { out->append(one.name); };
  const std::span<const CouplingRow> rows = Couplings();
  checks.Add("coupling",
             absl::StrCat("is required: ", absl::StrJoin(rows.first(rows.size() - 1), ", ", name),
                          " or ", ToAbsl(rows.back().name)));
}

absl::StatusOr<Coupling> MakeCoupling(const v1::ModelConfig& config, const v1::Graph& graph,
                                      int dimension) {
  BANDANA_ASSIGN_OR_RETURN(const Graph parsed, GraphFromProto(graph));
  return CouplingOf(config).of_graph(config, parsed, dimension);
}

}  // namespace bandana
