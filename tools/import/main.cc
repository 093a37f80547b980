// bandana-import: turns public data sets into a ready server configuration.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/base/version.h"
#include "tools/base/command_line.h"
#include "tools/environments/cluster_graph.h"
#include "tools/import/graph_import.h"
#include "tools/import/hetrec_files.h"
#include "tools/import/hetrec_import.h"
#include "tools/import/import_text.h"
#include "tools/import/levels.h"
#include "tools/import/log_command.h"

ABSL_FLAG(
    std::string, in, "",
    "hetrec: folder of the data set's .dat (or .dat.xz) files; obp, dsjson, csv: the log, .gz "
    "is unpacked.");
ABSL_FLAG(std::string, edges, "",
          "graph: the edge list, two user ids per line; .gz and .xz are unpacked.");
ABSL_FLAG(std::string, out, "", "Folder to write to; made when missing.");
ABSL_FLAG(int, dimension, 25, "Features per arm.");
ABSL_FLAG(int, clusters, 100, "hetrec: clusters that the users are cut into.");
ABSL_FLAG(std::string, nodes, "clusters",
          "hetrec: clusters, or users: also groups of users and the models with effects.");
ABSL_FLAG(int, levels, bandana::kLevelsDefault, "Levels of groups of users, each twice as many.");
ABSL_FLAG(int, seed, 0, "Order of the users in the graph cut; 0: by id, graph: as listed.");
ABSL_FLAG(int, tag_artists_min, 10, "hetrec: drop tags that fewer artists have.");
ABSL_FLAG(int, edges_mib_max, 4096, "graph: largest edge list, in MiB of text.");
ABSL_FLAG(std::string, columns, "",
          "csv: which column is what, as decision=id,arm=item_id,propensity=p,reward=click,"
          "context=user_*; also slot, time and user.");
ABSL_FLAG(std::string, arms, "",
          "obp, csv: a table with all arms on offer, in a column of the arm's name; default: those "
          "of the log.");
ABSL_FLAG(std::string, law, "logged",
          "obp, dsjson, csv: propensities as logged; chosen: the chosen arm's alone; uniform: all "
          "arms had the same chance (obp, csv).");
ABSL_FLAG(double, reward_min, 0, "obp, dsjson, csv: the least reward (of dsjson: -cost).");
ABSL_FLAG(double, reward_max, 1, "obp, dsjson, csv: the greatest reward.");
ABSL_FLAG(bool, progress, false, "Show progress even when stderr is not a terminal.");

namespace bandana {
namespace {

constexpr char kUsage[] =
    R"(Imports a public data set, a graph of friends, or a log of another program.

  bandana-import hetrec --in DIR --out DIR [--nodes clusters|users] [--dimension 25]
                        [--clusters 100] [--levels 8] [--seed 0]
  bandana-import graph --edges FILE --out DIR [--dimension 25] [--levels 8] [--seed 0]
  bandana-import obp|dsjson --in FILE --out DIR [--law logged|chosen|uniform]
  bandana-import csv --in FILE --out DIR --columns arm=A,reward=R,propensity=P[,...]

DIR of --in holds HetRec 2011 Last.FM: user_artists.dat, user_taggedartists.dat,
user_friends.dat and tags.dat, plain or .xz. Writes arms.tsv, users.tsv, events.tsv,
items.tsv, graph.mtx, influence.mtx, identity.mtx and server.textproto (docs/import.md).
FILE of --edges has two user ids per line, as SNAP's edge lists do. Writes users.tsv and
server.textproto. Logs become log.jsonl, arms.tsv and server.textproto.
)";

struct OutputFile {
  std::string_view name;
  std::string text;
};

// The configuration last: where it stands, all that it names stands too.
absl::Status Write(std::span<const OutputFile> files, const std::string& folder) {
  BANDANA_RETURN_IF_ERROR(MakeFolders(folder));
  for (const OutputFile& file : files) {
    const std::string path = ResolvePath(file.name, folder);
    if (const absl::Status status = WriteFileDurably(path, file.text, 0644); !status.ok()) {
      return Annotate(status, path);
    }
  }
  return absl::OkStatus();
}

using ProgressFunction = std::function<void(std::string_view)>;

std::string UsersText(const HetrecImport& import) {
  if (import.levels.empty()) return ToUsersTsv(import.users, import.nodes);
  std::vector<std::string> ids;
  for (const int user : import.users) ids.push_back(absl::StrCat(user));
  return ToLevelsTsv(ids, import.nodes, import.levels);
}

absl::Status RunHetrec(const std::string& out, const ProgressFunction& progress) {
  const std::string in = absl::GetFlag(FLAGS_in);
  if (in.empty()) return InvalidArgument("--in and --out are required");
  const std::string nodes = absl::GetFlag(FLAGS_nodes);
  if (nodes != "clusters" && nodes != "users") {
    return InvalidArgument("--nodes must be clusters or users, got ", nodes);
  }
  const HetrecImportOptions options = {
      .dimension = absl::GetFlag(FLAGS_dimension),
      .clusters = absl::GetFlag(FLAGS_clusters),
      .seed = absl::GetFlag(FLAGS_seed),
      .tag_artists_min = absl::GetFlag(FLAGS_tag_artists_min),
      .levels = nodes == "users" ? absl::GetFlag(FLAGS_levels) : 0};
  progress("reading");
  BANDANA_ASSIGN_OR_RETURN(const HetrecFiles files, ReadHetrecFiles(in));
  BANDANA_ASSIGN_OR_RETURN(const HetrecImport import, ImportHetrec(files, options, progress));
  progress("writing");
  const OutputFile written[] = {
      {"arms.tsv", ToArmsTsv(import.arms)},
      {"users.tsv", UsersText(import)},
      {"graph.mtx", ToMatrixMarket(import.graph)},
      {"influence.mtx", ToMatrixMarket(import.influence)},
      {"identity.mtx", ToMatrixMarket(IdentityInfluence(import.graph.nodes))},
      {"events.tsv", ToEventsTsv(import.events)},
      {"items.tsv", ToItemsTsv(import.items)},
      {"server.textproto", ToServerConfig(options.dimension, import.levels.size())},
  };
  BANDANA_RETURN_IF_ERROR(Write(written, out));
  std::printf("users=%zu friend_pairs=%zu clusters=%d arms=%zu events=%zu items=%zu out=%s\n",
              import.users.size(), files.friends.size(), import.graph.nodes, import.arms.size(),
              import.events.size(), import.items.size(), out.c_str());
  return absl::OkStatus();
}

absl::StatusOr<GraphImportOptions> GraphOptions() {
  const int mib = absl::GetFlag(FLAGS_edges_mib_max);
  if (mib < 1) return InvalidArgument("--edges_mib_max must be at least 1, got ", mib);
  return GraphImportOptions{.dimension = absl::GetFlag(FLAGS_dimension),
                            .levels = absl::GetFlag(FLAGS_levels),
                            .seed = absl::GetFlag(FLAGS_seed),
                            .bytes_max = static_cast<std::uint64_t>(mib) << 20};
}

absl::Status RunGraph(const std::string& out, const ProgressFunction& progress) {
  const std::string path = absl::GetFlag(FLAGS_edges);
  if (path.empty()) return InvalidArgument("--edges and --out are required");
  BANDANA_ASSIGN_OR_RETURN(const GraphImportOptions options, GraphOptions());
  BANDANA_ASSIGN_OR_RETURN(const GraphImport import, ImportGraph(path, options, progress));
  progress("writing");
  const OutputFile written[] = {
      {"users.tsv", ToLevelsTsv(import.users, {}, import.levels)},
      {"server.textproto", ToGraphServerConfig(options.dimension, import.levels.size())},
  };
  BANDANA_RETURN_IF_ERROR(Write(written, out));
  std::fputs(
      absl::StrCat("users=", import.users.size(), " friend_pairs=", import.pairs,
                   " levels=", import.levels.size(), " edges=", import.counts.lines,
                   " self_edges=", import.counts.self_edges, " repeated=", import.counts.repeated,
                   " one_way=", import.counts.one_way, " out=", out, "\n")
          .c_str(),
      stdout);
  return absl::OkStatus();
}

void Say(std::string_view message) {
  std::fprintf(stderr, "bandana-import: %s\n", std::string(message).c_str());
}

absl::Status RunLog(std::string_view format, const std::string& out) {
  BANDANA_ASSIGN_OR_RETURN(
      const std::string summary,
      RunLogCommand({.format = std::string(format),
                     .in = absl::GetFlag(FLAGS_in),
                     .out = out,
                     .columns = absl::GetFlag(FLAGS_columns),
                     .arms = absl::GetFlag(FLAGS_arms),
                     .law = absl::GetFlag(FLAGS_law),
                     .range = {absl::GetFlag(FLAGS_reward_min), absl::GetFlag(FLAGS_reward_max)}},
                    Say));
  std::fputs(summary.c_str(), stdout);
  return absl::OkStatus();
}

absl::Status RunObp(const std::string& out, const ProgressFunction&) { return RunLog("obp", out); }
absl::Status RunDsjson(const std::string& out, const ProgressFunction&) {
  return RunLog("dsjson", out);
}
absl::Status RunCsv(const std::string& out, const ProgressFunction&) { return RunLog("csv", out); }

constexpr struct {
  std::string_view name;
  absl::Status (*run)(const std::string& out, const ProgressFunction& progress);
} kCommands[] = {{"hetrec", RunHetrec},
                 {"graph", RunGraph},
                 {"obp", RunObp},
                 {"dsjson", RunDsjson},
                 {"csv", RunCsv}};

absl::Status Run(const std::vector<char*>& arguments) {
  const bool show = absl::GetFlag(FLAGS_progress) || isatty(STDERR_FILENO) == 1;
  const auto progress = [show](std::string_view step) {
    if (show) Say(step);
  };
  for (const auto& command : kCommands) {
    if (arguments.size() != 2 || arguments[1] != command.name) continue;
    const std::string out = absl::GetFlag(FLAGS_out);
    if (out.empty()) return InvalidArgument("--in or --edges, and --out are required");
    return command.run(out, progress);
  }
  return InvalidArgument(
      "usage: bandana-import hetrec --in DIR --out DIR, bandana-import graph --edges FILE --out "
      "DIR, "
      "or bandana-import obp|dsjson|csv --in FILE --out DIR; see --help");
}

}  // namespace
}  // namespace bandana

int main(int argc, char** argv) {
  const std::vector<char*> words = bandana::ParseWordsOrExit(
      std::vector<char*>(argv, argv + argc), bandana::kUsage, "tools/import/",
      absl::StrCat("bandana-import ", bandana::kVersion));
  const absl::Status status = bandana::Run(words);
  if (status.ok()) return 0;
  bandana::Say(bandana::ToStd(status.message()));
  return 1;
}
