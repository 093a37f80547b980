#include "tools/import/hetrec_import.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/base/limits.h"
#include "common/base/status.h"
#include "tools/environments/cluster_graph.h"
#include "tools/import/partition.h"
#include "tools/import/pca.h"
#include "tools/import/tfidf.h"

namespace bandana {
namespace {

using Pair = std::pair<int, int>;

// artist -> its tags' names, the most used first.
std::map<int, std::vector<std::string>> TagsByArtist(const HetrecFiles& files) {
  std::map<int, std::map<int, int>> counts;
  for (const TagAssignment& assignment : files.assignments) {
    ++counts[assignment.artist][assignment.tag];
  }
  std::map<int, std::vector<std::string>> result;
  for (const auto& [artist, tags] : counts) {
    std::vector<Pair> order(tags.begin(), tags.end());
    std::stable_sort(order.begin(), order.end(),
                     [](const Pair& a, const Pair& b) { return a.second > b.second; });
    std::vector<std::string>& names = result[artist];
    for (const auto& [tag, users] : order) {
      if (names.size() == kImportedTagsMax) break;
      const auto name = files.tag_names.find(tag);
      if (name == files.tag_names.end()) continue;
      std::string clean = CleanTag(name->second);
      if (clean.empty() || clean == "-") continue;
      if (std::find(names.begin(), names.end(), clean) == names.end()) {
        names.push_back(std::move(clean));
      }
    }
  }
  return result;
}

absl::StatusOr<std::vector<ImportedArm>> MakeArms(
    const HetrecFiles& files, const HetrecImportOptions& options,
    const std::function<void(std::string_view)>& progress) {
  progress("TF-IDF of tags");
  const TfIdf tfidf = ComputeTfIdf(files.assignments, options.tag_artists_min);
  progress("principal components");
  BANDANA_ASSIGN_OR_RETURN(const Eigen::MatrixXd scores,
                           PrincipalScores(tfidf.rows, options.dimension));
  const auto tags = TagsByArtist(files);
  std::vector<ImportedArm> arms;
  for (Eigen::Index i = 0; i < scores.rows(); ++i) {
    const double norm = scores.row(i).norm();
    // The mean square norm of a row is dimension / artists: this one is rounding, no direction.
    constexpr double kNormMin = 1e-9;
    if (norm < kNormMin) continue;
    ImportedArm arm;
    arm.id = tfidf.artists[i];
    arm.tags = tags.at(arm.id);
    for (Eigen::Index j = 0; j < scores.cols(); ++j) arm.features.push_back(scores(i, j) / norm);
    arms.push_back(std::move(arm));
  }
  return arms;
}

bool HasArm(std::span<const ImportedArm> arms, int id) {
  const auto arm = std::lower_bound(arms.begin(), arms.end(), id,
                                    [](const ImportedArm& a, int wanted) { return a.id < wanted; });
  return arm != arms.end() && arm->id == id;
}

std::vector<ImportedEvent> FirstTaggings(const HetrecFiles& files,
                                         std::span<const ImportedArm> arms) {
  std::map<Pair, absl::CivilDay> first;
  for (const TagAssignment& assignment : files.assignments) {
    if (!HasArm(arms, assignment.artist)) continue;
    const auto [entry, fresh] =
        first.emplace(Pair(assignment.user, assignment.artist), assignment.day);
    if (!fresh) entry->second = std::min(entry->second, assignment.day);
  }
  std::vector<ImportedEvent> events;
  events.reserve(first.size());
  for (const auto& [pair, day] : first) events.push_back({pair.first, pair.second, day});
  std::stable_sort(events.begin(), events.end(),
                   [](const ImportedEvent& a, const ImportedEvent& b) { return a.day < b.day; });
  return events;
}

std::vector<Listening> ItemsOf(const HetrecFiles& files, std::span<const ImportedArm> arms) {
  std::vector<Listening> items;
  for (const Listening& listening : files.listenings) {
    if (HasArm(arms, listening.artist)) items.push_back(listening);
  }
  std::sort(items.begin(), items.end(), [](const Listening& a, const Listening& b) {
    return Pair(a.user, a.artist) < Pair(b.user, b.artist);
  });
  return items;
}

absl::Status CheckOptions(const HetrecImportOptions& options) {
  if (options.dimension < 1 || options.dimension > kDimensionMax) {
    return InvalidArgument("dimension must be in [1, ", kDimensionMax, "], got ",
                           options.dimension);
  }
  if (options.clusters < 1 || options.clusters > kNodesMax) {
    return InvalidArgument("clusters must be in [1, ", kNodesMax, "], got ", options.clusters);
  }
  if (options.seed < 0) return InvalidArgument("seed must be >= 0, got ", options.seed);
  if (options.levels < 0 || options.levels > kLevelsMax) {
    return InvalidArgument("levels must be in [0, ", kLevelsMax, "], got ", options.levels);
  }
  if (options.tag_artists_min < 1) {
    return InvalidArgument("tag_artists_min must be >= 1, got ", options.tag_artists_min);
  }
  return absl::OkStatus();
}

}  // namespace

std::string CleanTag(std::string_view utf8) {
  std::string clean(utf8);
  for (char& c : clean) {
    if (c == ',' || c == 0x7F || static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  if (clean.size() > kTagBytesMax) {
    // Bytes 10xxxxxx continue a character; never cut before one.
    std::size_t end = kTagBytesMax;
    while (end > 0 && (static_cast<unsigned char>(clean[end]) & 0xC0) == 0x80) --end;
    clean.resize(end);
  }
  clean.erase(0, std::min(clean.find_first_not_of(' '), clean.size()));
  clean.erase(clean.find_last_not_of(' ') + 1);
  return clean;
}

absl::StatusOr<HetrecImport> ImportHetrec(const HetrecFiles& files,
                                          const HetrecImportOptions& options,
                                          const std::function<void(std::string_view)>& progress) {
  BANDANA_RETURN_IF_ERROR(CheckOptions(options));
  const auto step = [&](std::string_view name) {
    if (progress) progress(name);
  };
  HetrecImport result;
  BANDANA_ASSIGN_OR_RETURN(result.arms, MakeArms(files, options, step));

  step("graph cut");
  result.users = UsersOf(files);
  const auto position = [&](int user) {
    return static_cast<int>(std::lower_bound(result.users.begin(), result.users.end(), user) -
                            result.users.begin());
  };
  std::vector<Pair> edges;
  for (const auto& [a, b] : files.friends) edges.emplace_back(position(a), position(b));
  BANDANA_ASSIGN_OR_RETURN(result.nodes, PartitionGraph(static_cast<int>(result.users.size()),
                                                        edges, options.clusters, options.seed));
  if (options.levels > 0) {
    const int users = static_cast<int>(result.users.size());
    BANDANA_ASSIGN_OR_RETURN(
        result.levels,
        CutLevels(users, edges, LevelParts(users, options.levels), options.seed, progress));
  }
  result.graph = ClusterGraph(edges, result.nodes, options.clusters);
  result.influence = InfluenceOf(result.graph);

  step("events");
  result.events = FirstTaggings(files, result.arms);
  result.items = ItemsOf(files, result.arms);
  return result;
}

}  // namespace bandana
