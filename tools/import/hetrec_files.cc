#include "tools/import/hetrec_files.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <tuple>

#include "common/base/status.h"
#include "common/base/text.h"
#include "tools/import/dat_table.h"

namespace bandana {
namespace {

constexpr int kIdMax = std::numeric_limits<int>::max();

// Every ISO-8859-1 byte is the Unicode code point of the same number.
std::string Latin1ToUtf8(std::string_view latin1) {
  std::string utf8;
  for (const char c : latin1) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      utf8 += c;
    } else {
      utf8 += static_cast<char>(0xC0 | (byte >> 6));
      utf8 += static_cast<char>(0x80 | (byte & 0x3F));
    }
  }
  return utf8;
}

absl::StatusOr<absl::CivilDay> ParseDay(const DatRow& row) {
  BANDANA_ASSIGN_OR_RETURN(const int day, row.Number(3, 1, 31));
  BANDANA_ASSIGN_OR_RETURN(const int month, row.Number(4, 1, 12));
  BANDANA_ASSIGN_OR_RETURN(const int year, row.Number(5, 1900, 2100));
  const absl::CivilDay civil(year, month, day);
  // CivilDay normalises 31 April to 1 May.
  if (civil.day() != day) return row.Error("day, month and year are no calendar date");
  return civil;
}

}  // namespace

absl::StatusOr<std::vector<Listening>> ParseListenings(std::string_view text,
                                                       std::string_view file) {
  static constexpr std::array<std::string_view, 3> kColumns = {"userID", "artistID", "weight"};
  std::vector<Listening> listenings;
  std::set<std::pair<int, int>> seen;
  BANDANA_RETURN_IF_ERROR(ForEachDatRow(text, file, kColumns, [&](const DatRow& row) {
    BANDANA_ASSIGN_OR_RETURN(const int user, row.Number(0, 1, kIdMax));
    BANDANA_ASSIGN_OR_RETURN(const int artist, row.Number(1, 1, kIdMax));
    BANDANA_RETURN_IF_ERROR(row.Number(2, 0, kIdMax).status());
    if (!seen.emplace(user, artist).second) {
      return row.Error("userID and artistID repeat those of an earlier row");
    }
    listenings.push_back({user, artist});
    return absl::OkStatus();
  }));
  return listenings;
}

absl::StatusOr<std::vector<TagAssignment>> ParseTagAssignments(std::string_view text,
                                                               std::string_view file) {
  static constexpr std::array<std::string_view, 6> kColumns = {"userID", "artistID", "tagID",
                                                               "day",    "month",    "year"};
  std::vector<TagAssignment> assignments;
  std::set<std::tuple<int, int, int>> seen;
  BANDANA_RETURN_IF_ERROR(ForEachDatRow(text, file, kColumns, [&](const DatRow& row) {
    BANDANA_ASSIGN_OR_RETURN(const int user, row.Number(0, 1, kIdMax));
    BANDANA_ASSIGN_OR_RETURN(const int artist, row.Number(1, 1, kIdMax));
    BANDANA_ASSIGN_OR_RETURN(const int tag, row.Number(2, 1, kIdMax));
    BANDANA_ASSIGN_OR_RETURN(const absl::CivilDay day, ParseDay(row));
    if (!seen.emplace(user, artist, tag).second) {
      return row.Error("userID, artistID and tagID repeat those of an earlier row");
    }
    assignments.push_back({user, artist, tag, day});
    return absl::OkStatus();
  }));
  return assignments;
}

absl::StatusOr<std::vector<std::pair<int, int>>> ParseFriends(std::string_view text,
                                                              std::string_view file) {
  static constexpr std::array<std::string_view, 2> kColumns = {"userID", "friendID"};
  std::map<std::pair<int, int>, int> lines;  // directed pair -> line
  BANDANA_RETURN_IF_ERROR(ForEachDatRow(text, file, kColumns, [&](const DatRow& row) {
    BANDANA_ASSIGN_OR_RETURN(const int user, row.Number(0, 1, kIdMax));
    BANDANA_ASSIGN_OR_RETURN(const int other, row.Number(1, 1, kIdMax));
    if (user == other) return row.Error("userID and friendID must differ");
    if (!lines.emplace(std::pair(user, other), row.line()).second) {
      return row.Error("userID and friendID repeat those of an earlier row");
    }
    return absl::OkStatus();
  }));
  std::vector<std::pair<int, int>> friends;
  for (const auto& [pair, line] : lines) {
    if (!lines.contains({pair.second, pair.first})) {
      return InvalidArgument(ToAbsl(file), ":", line,
                             ": the same pair the other way round is missing");
    }
    if (pair.first < pair.second) friends.push_back(pair);
  }
  return friends;
}

absl::StatusOr<std::map<int, std::string>> ParseTags(std::string_view text, std::string_view file) {
  static constexpr std::array<std::string_view, 2> kColumns = {"tagID", "tagValue"};
  // The data set is ISO-8859-1; a file with a byte order mark was saved anew.
  const bool is_utf8 = WithoutMark(text).value_or(text).size() < text.size();
  std::map<int, std::string> names;
  BANDANA_RETURN_IF_ERROR(ForEachDatRow(text, file, kColumns, [&](const DatRow& row) {
    BANDANA_ASSIGN_OR_RETURN(const int tag, row.Number(0, 1, kIdMax));
    if (!names.emplace(tag, is_utf8 ? ToUtf8(row.text(1)) : Latin1ToUtf8(row.text(1))).second) {
      return row.Error("tagID repeats that of an earlier row");
    }
    return absl::OkStatus();
  }));
  return names;
}

absl::StatusOr<HetrecFiles> ReadHetrecFiles(std::string_view folder) {
  BANDANA_ASSIGN_OR_RETURN(const DatFile listenings, ReadDatFile(folder, "user_artists.dat"));
  BANDANA_ASSIGN_OR_RETURN(const DatFile assignments,
                           ReadDatFile(folder, "user_taggedartists.dat"));
  BANDANA_ASSIGN_OR_RETURN(const DatFile friends, ReadDatFile(folder, "user_friends.dat"));
  BANDANA_ASSIGN_OR_RETURN(const DatFile tags, ReadDatFile(folder, "tags.dat"));
  HetrecFiles data;
  BANDANA_ASSIGN_OR_RETURN(data.listenings, ParseListenings(listenings.text, listenings.path));
  BANDANA_ASSIGN_OR_RETURN(data.assignments,
                           ParseTagAssignments(assignments.text, assignments.path));
  BANDANA_ASSIGN_OR_RETURN(data.friends, ParseFriends(friends.text, friends.path));
  BANDANA_ASSIGN_OR_RETURN(data.tag_names, ParseTags(tags.text, tags.path));
  return data;
}

std::vector<int> UsersOf(const HetrecFiles& data) {
  std::vector<int> users;
  for (const auto& [first, second] : data.friends) {
    users.push_back(first);
    users.push_back(second);
  }
  for (const TagAssignment& assignment : data.assignments) users.push_back(assignment.user);
  for (const Listening& listening : data.listenings) users.push_back(listening.user);
  std::sort(users.begin(), users.end());
  users.erase(std::unique(users.begin(), users.end()), users.end());
  return users;
}

}  // namespace bandana
