#include "tools/import/tfidf.h"

#include <cmath>
#include <map>
#include <utility>

namespace bandana {
namespace {

using Counts = std::map<int, std::map<int, int>>;  // artist -> tag -> users

// artists_with: kept tag -> artists that have it.
Counts CountKeptTags(std::span<const TagAssignment> assignments, int tag_artists_min,
                     std::map<int, int>& artists_with) {
  Counts counts;
  for (const TagAssignment& assignment : assignments) {
    const int users = ++counts[assignment.artist][assignment.tag];
    if (users == 1) ++artists_with[assignment.tag];
  }
  std::erase_if(artists_with, [&](const auto& tag) { return tag.second < tag_artists_min; });
  for (auto& [artist, tags] : counts) {
    std::erase_if(tags, [&](const auto& tag) { return !artists_with.contains(tag.first); });
  }
  std::erase_if(counts, [](const auto& artist) { return artist.second.empty(); });
  return counts;
}

}  // namespace

TfIdf ComputeTfIdf(std::span<const TagAssignment> assignments, int tag_artists_min) {
  std::map<int, int> artists_with;
  const Counts counts = CountKeptTags(assignments, tag_artists_min, artists_with);
  TfIdf result;
  std::map<int, int> column_of;
  for (const auto& [tag, artists] : artists_with) {
    column_of[tag] = static_cast<int>(result.tags.size());
    result.tags.push_back(tag);
  }

  const double artists_total = static_cast<double>(counts.size());
  std::vector<Eigen::Triplet<double>> entries;
  for (const auto& [artist, tags] : counts) {
    std::vector<std::pair<int, double>> row;
    double squares = 0;
    for (const auto& [tag, users] : tags) {
      const double weight = users * std::log(artists_total / artists_with[tag]);
      row.emplace_back(column_of[tag], weight);
      squares += weight * weight;
    }
    if (squares == 0) continue;
    for (const auto& [column, weight] : row) {
      entries.emplace_back(static_cast<int>(result.artists.size()), column,
                           weight / std::sqrt(squares));
    }
    result.artists.push_back(artist);
  }
  result.rows.resize(static_cast<int>(result.artists.size()), static_cast<int>(result.tags.size()));
  result.rows.setFromTriplets(entries.begin(), entries.end());
  return result;
}

}  // namespace bandana
