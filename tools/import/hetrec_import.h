// From the raw data set to what a server and an environment need: arms with features, clusters of
// users, events.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/bandits/graph.h"
#include "tools/import/hetrec_files.h"
#include "tools/import/levels.h"

namespace bandana {

struct HetrecImportOptions {
  int dimension = 25;        // of the features, [1, kDimensionMax]
  int clusters = 100;        // of users, [1, users]
  int seed = 0;              // of METIS, >= 0
  int tag_artists_min = 10;  // tags on fewer artists are dropped; >= 1
  int levels = 0;            // of groups of users; 0: none; at most kLevelsMax
};

// One artist. Its features are the scores on the first principal components of TF-IDF, every
// component scaled to the same spread and then the row to unit L2 norm.
struct ImportedArm {
  int id = 0;
  std::vector<std::string> tags;  // the most used first; at most kImportedTagsMax
  std::vector<double> features;
};
inline constexpr int kImportedTagsMax = 8;

// The first day on which a user tagged an arm.
struct ImportedEvent {
  int user = 0;
  int arm = 0;
  absl::CivilDay day;
};

struct HetrecImport {
  std::vector<ImportedArm> arms;     // ascending ids
  std::vector<int> users;            // ascending ids
  std::vector<int> nodes;            // cluster of each user
  std::vector<LevelOfUsers> levels;  // groups of each user, from large ones to small ones
  Graph graph;      // kEdgeWeights: friend pairs between clusters, inner ones on the diagonal
  Graph influence;  // kInfluence: InfluenceOf(graph)
  std::vector<ImportedEvent> events;  // by day, then user, then arm
  std::vector<Listening> items;       // who listened to which arm; by user, then artist
};

// A tag as arms.tsv can hold it: commas, tabs and other control characters become spaces, blanks at
// the ends go, cut to kTagBytesMax bytes between two characters. May become empty, or "-", which
// stands for no tags: such a tag is left out.
std::string CleanTag(std::string_view utf8);

// Deterministic. `progress` is told each step's name when it begins; may be empty. Errors:
// INVALID_ARGUMENT an option out of range for these data; INTERNAL the eigensolver or METIS failed.
absl::StatusOr<HetrecImport> ImportHetrec(const HetrecFiles& files,
                                          const HetrecImportOptions& options,
                                          const std::function<void(std::string_view)>& progress);

}  // namespace bandana
