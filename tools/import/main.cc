// bandana-import: turns public data sets into a ready server configuration.
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/base/version.h"
#include "tools/import/hetrec_files.h"
#include "tools/import/hetrec_import.h"
#include "tools/import/import_text.h"

ABSL_FLAG(std::string, in, "", "Folder of the data set's .dat (or .dat.xz) files.");
ABSL_FLAG(std::string, out, "", "Folder to write to; made when missing.");
ABSL_FLAG(int, dimension, 25, "Features an arm.");
ABSL_FLAG(int, clusters, 100, "Clusters that the users are cut into.");
ABSL_FLAG(int, seed, 0, "Order of the users in the graph cut; 0: by id.");
ABSL_FLAG(int, tag_artists_min, 10, "Drop tags that fewer artists have.");
ABSL_FLAG(bool, progress, false, "Show progress even when stderr is not a terminal.");

namespace bandana {
namespace {

struct OutputFile {
  std::string_view name;
  std::string text;
};

absl::Status Write(const HetrecImport& import, int dimension, const std::string& folder) {
  BANDANA_RETURN_IF_ERROR(MakeFolders(folder));
  // The configuration last: where it stands, all that it names stands too.
  const OutputFile files[] = {
      {"arms.tsv", ToArmsTsv(import.arms)},
      {"users.tsv", ToUsersTsv(import.users, import.nodes)},
      {"graph.mtx", ToMatrixMarket(import.graph)},
      {"influence.mtx", ToMatrixMarket(import.influence)},
      {"identity.mtx", ToMatrixMarket(IdentityInfluence(import.graph.nodes))},
      {"events.tsv", ToEventsTsv(import.events)},
      {"items.tsv", ToItemsTsv(import.items)},
      {"server.textproto", ToServerConfig(dimension)},
  };
  for (const OutputFile& file : files) {
    const std::string path = ResolvePath(file.name, folder);
    if (const absl::Status status = WriteFileDurably(path, file.text, 0644); !status.ok()) {
      return Annotate(status, path);
    }
  }
  return absl::OkStatus();
}

absl::Status Run(const std::vector<char*>& arguments) {
  if (arguments.size() != 2 || std::string_view(arguments[1]) != "hetrec") {
    return InvalidArgument("usage: bandana-import hetrec --in DIR --out DIR; see --help");
  }
  const std::string in = absl::GetFlag(FLAGS_in);
  const std::string out = absl::GetFlag(FLAGS_out);
  if (in.empty() || out.empty()) return InvalidArgument("--in and --out are required");

  const bool show = absl::GetFlag(FLAGS_progress) || isatty(STDERR_FILENO) == 1;
  const auto progress = [show](std::string_view step) {
    if (show) std::fprintf(stderr, "bandana-import: %s\n", std::string(step).c_str());
  };
  const HetrecImportOptions options = {.dimension = absl::GetFlag(FLAGS_dimension),
                                       .clusters = absl::GetFlag(FLAGS_clusters),
                                       .seed = absl::GetFlag(FLAGS_seed),
                                       .tag_artists_min = absl::GetFlag(FLAGS_tag_artists_min)};
  progress("reading");
  BANDANA_ASSIGN_OR_RETURN(const HetrecFiles files, ReadHetrecFiles(in));
  BANDANA_ASSIGN_OR_RETURN(const HetrecImport import, ImportHetrec(files, options, progress));
  progress("writing");
  BANDANA_RETURN_IF_ERROR(Write(import, options.dimension, out));
  std::printf("users=%zu friend_pairs=%zu clusters=%d arms=%zu events=%zu items=%zu out=%s\n",
              import.users.size(), files.friends.size(), import.graph.nodes, import.arms.size(),
              import.events.size(), import.items.size(), out.c_str());
  return absl::OkStatus();
}

}  // namespace
}  // namespace bandana

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "imports a public data set.\n\n"
      "  bandana-import hetrec --in DIR --out DIR [--dimension 25] [--clusters 100] [--seed 0]\n\n"
      "DIR of --in holds HetRec 2011 Last.FM: user_artists.dat, user_taggedartists.dat,\n"
      "user_friends.dat and tags.dat, plain or .xz. Writes arms.tsv, users.tsv, events.tsv,\n"
      "items.tsv, graph.mtx, influence.mtx, identity.mtx and server.textproto (docs/import.md).");
  absl::FlagsUsageConfig usage;
  usage.version_string = [] { return absl::StrCat("bandana-import ", bandana::kVersion, "\n"); };
  // Every flag of this program, none of the libraries', in --help.
  usage.contains_help_flags = [](absl::string_view file) {
    return file.find("tools/import/") != absl::string_view::npos;
  };
  absl::SetFlagsUsageConfig(usage);
  const absl::Status status = bandana::Run(absl::ParseCommandLine(argc, argv));
  if (status.ok()) return 0;
  std::fprintf(stderr, "bandana-import: %s\n", std::string(status.message()).c_str());
  return 1;
}
