#include "tools/environments/hetrec_data.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/design/files/users_tsv.h"

namespace bandana {
namespace {

constexpr std::uint64_t kFileBytesMax = std::uint64_t{1} << 30;

// Calls `line_function` with the tab-separated fields of every line that is neither empty nor a
// comment.
absl::Status ForEachLine(
    const std::string& path, std::size_t field_count,
    const std::function<absl::Status(const std::vector<absl::string_view>&)>& line_function) {
  absl::StatusOr<std::string> text = ReadFile(path, kFileBytesMax);
  if (!text.ok()) return Annotate(text.status(), path);
  absl::StatusOr<TextLines> lines = TextLines::Of(*text);
  if (!lines.ok()) return Annotate(lines.status(), path);
  for (std::string_view line; lines->Next(line);) {
    if (line.empty() || line.front() == '#') continue;
    const std::vector<absl::string_view> fields = absl::StrSplit(ToAbsl(line), '\t');
    const absl::Status status =
        fields.size() == field_count
            ? line_function(fields)
            : InvalidArgument("expected ", field_count, " fields separated by tabs, found ",
                              fields.size());
    if (!status.ok()) return Annotate(status, absl::StrCat(path, ":", lines->number()));
  }
  return absl::OkStatus();
}

absl::StatusOr<int> CountFeatures(absl::string_view text) {
  int count = 0;
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    double value = 0;
    if (!absl::SimpleAtod(word, &value) || !std::isfinite(value)) {
      return InvalidArgument("feature ", count, " is not a finite number");
    }
    ++count;
  }
  if (count < 1 || count > kDimensionMax) {
    return InvalidArgument("an arm must have 1 to ", kDimensionMax, " features, found ", count);
  }
  return count;
}

using Positions = std::unordered_map<std::uint32_t, std::uint32_t>;

absl::StatusOr<Positions> ReadArms(const std::string& path, HetrecData& data) {
  Positions positions;
  BANDANA_RETURN_IF_ERROR(
      ForEachLine(path, 3, [&](const std::vector<absl::string_view>& fields) -> absl::Status {
        std::uint32_t id = 0;
        if (!absl::SimpleAtoi(fields[0], &id))
          return InvalidArgument("arm id must be an integer in [0, 2^32)");
        BANDANA_ASSIGN_OR_RETURN(const int dimension, CountFeatures(fields[2]));
        if (data.dimension == 0) data.dimension = dimension;
        if (dimension != data.dimension) {
          return InvalidArgument("an arm has ", dimension, " features, those before it ",
                                 data.dimension);
        }
        if (!positions.emplace(id, data.arms.size()).second)
          return InvalidArgument("arm ", id, " is listed twice");
        data.arms.push_back(id);
        return absl::OkStatus();
      }));
  if (data.arms.empty()) return InvalidArgument(path, ": no arms");
  return positions;
}

absl::StatusOr<std::unordered_set<std::string>> ReadUsers(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path, kUsersFileBytesMax);
  if (!text.ok()) return Annotate(text.status(), path);
  const absl::StatusOr<UserGroups> users = ParseUserGroupsTsv(*text, kIndependentUsersMax);
  if (!users.ok()) return Annotate(users.status(), path);
  std::unordered_set<std::string> known;
  for (const std::string_view id : users->ids) known.emplace(id);
  return known;
}

// Turns (user id, arm id) into positions; makes users on first mention.
class PairReader {
 public:
  PairReader(const Positions& arms, const std::unordered_set<std::string>& known, HetrecData& data)
      : arms_(arms), known_(known), data_(data) {}

  // Nothing when the arm is not in the catalogue.
  absl::StatusOr<std::optional<HetrecData::Event>> Read(absl::string_view user,
                                                        absl::string_view arm) {
    std::uint32_t arm_id = 0;
    if (!absl::SimpleAtoi(arm, &arm_id))
      return InvalidArgument("arm id must be an integer in [0, 2^32)");
    const std::string user_id(user);
    if (!known_.contains(user_id)) return InvalidArgument("user ", user_id, " is not in users.tsv");
    const auto found = arms_.find(arm_id);
    if (found == arms_.end()) return std::optional<HetrecData::Event>();
    const auto [position, fresh] = users_.emplace(user_id, data_.users.size());
    if (fresh) data_.users.push_back({.id = user_id});
    return HetrecData::Event{position->second, found->second};
  }

 private:
  const Positions& arms_;
  const std::unordered_set<std::string>& known_;
  HetrecData& data_;
  std::unordered_map<std::string, std::uint32_t> users_;
};

// Whether there is such a file.
absl::StatusOr<bool> ReadItems(const std::string& path, PairReader& pairs, HetrecData& data) {
  const absl::Status status =
      ForEachLine(path, 2, [&](const std::vector<absl::string_view>& fields) -> absl::Status {
        BANDANA_ASSIGN_OR_RETURN(const auto item, pairs.Read(fields[0], fields[1]));
        if (item) data.users[item->user].items.push_back(item->arm);
        return absl::OkStatus();
      });
  if (absl::IsNotFound(status)) return false;
  BANDANA_RETURN_IF_ERROR(status);
  const bool any = std::any_of(data.users.begin(), data.users.end(),
                               [](const HetrecData::User& user) { return !user.items.empty(); });
  if (!any) return InvalidArgument(path, ": no item is an arm of arms.tsv");
  return true;
}

absl::Status ReadEvents(const std::string& path, PairReader& pairs, HetrecData& data) {
  BANDANA_RETURN_IF_ERROR(
      ForEachLine(path, 3, [&](const std::vector<absl::string_view>& fields) -> absl::Status {
        std::int64_t time = 0;
        if (!absl::SimpleAtoi(fields[2], &time)) return InvalidArgument("time must be an integer");
        BANDANA_ASSIGN_OR_RETURN(const auto event, pairs.Read(fields[0], fields[1]));
        if (!event) return absl::OkStatus();
        data.users[event->user].tagged.push_back(event->arm);
        data.events.push_back(*event);
        return absl::OkStatus();
      }));
  if (data.events.empty()) return InvalidArgument(path, ": no event on an arm of arms.tsv");
  return absl::OkStatus();
}

void SortUnique(std::vector<std::uint32_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

absl::StatusOr<HetrecData> ReadHetrec(const std::string& folder) {
  HetrecData data;
  BANDANA_ASSIGN_OR_RETURN(const Positions arms, ReadArms(folder + "/arms.tsv", data));
  BANDANA_ASSIGN_OR_RETURN(const auto known, ReadUsers(folder + "/users.tsv"));
  PairReader pairs(arms, known, data);
  BANDANA_ASSIGN_OR_RETURN(const bool has_items, ReadItems(folder + "/items.tsv", pairs, data));
  BANDANA_RETURN_IF_ERROR(ReadEvents(folder + "/events.tsv", pairs, data));
  for (HetrecData::User& user : data.users) {
    SortUnique(user.tagged);
    if (!has_items) user.items = user.tagged;
    SortUnique(user.items);
  }
  return data;
}

}  // namespace bandana
