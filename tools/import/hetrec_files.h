// The HetRec 2011 Last.FM data set: who listened to which artist, who tagged it with what, and who
// is whose friend.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/civil_time.h"

namespace bandana {

// One user gave one tag to one artist.
struct TagAssignment {
  int user = 0;
  int artist = 0;
  int tag = 0;
  absl::CivilDay day;
};

// One user listened to one artist.
struct Listening {
  int user = 0;
  int artist = 0;
};

// Ids as in the files, all >= 1.
struct HetrecFiles {
  std::vector<Listening> listenings;         // in file order, no pair twice
  std::vector<TagAssignment> assignments;    // in file order, no triple twice
  std::vector<std::pair<int, int>> friends;  // undirected, first < second, ascending
  std::map<int, std::string> tag_names;      // UTF-8
};

// user_artists.dat: userID, artistID, weight (plays).
absl::StatusOr<std::vector<Listening>> ParseListenings(std::string_view text,
                                                       std::string_view file);
// user_taggedartists.dat: userID, artistID, tagID, day, month, year.
absl::StatusOr<std::vector<TagAssignment>> ParseTagAssignments(std::string_view text,
                                                               std::string_view file);
// user_friends.dat: userID, friendID; every pair stands there both ways round.
absl::StatusOr<std::vector<std::pair<int, int>>> ParseFriends(std::string_view text,
                                                              std::string_view file);
// tags.dat: tagID, tagValue in ISO-8859-1.
absl::StatusOr<std::map<int, std::string>> ParseTags(std::string_view text, std::string_view file);

// Reads the four files, plain or .xz. Errors: NOT_FOUND a file is missing; DATA_LOSS damaged
// compression; INVALID_ARGUMENT `file:line: ...` a malformed, repeated or one-sided row.
absl::StatusOr<HetrecFiles> ReadHetrecFiles(std::string_view folder);

// Every user of any file, ascending.
std::vector<int> UsersOf(const HetrecFiles& data);

}  // namespace bandana
