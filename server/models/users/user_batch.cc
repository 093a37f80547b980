#include "server/models/users/user_batch.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/files/group_names.h"

namespace bandana::server {
namespace {

constexpr int kFriendsMax = 10'000;
constexpr std::size_t kUserIdsMax = 1000;

absl::Status CheckId(std::string_view id) {
  if (!id.empty() && id.size() <= kUserIdBytesMax) return absl::OkStatus();
  return InvalidArgument("must have 1 to ", kUserIdBytesMax, " bytes, got ", id.size());
}

}  // namespace

absl::Status CheckUserIds(std::span<const std::string> ids) {
  if (ids.empty() || ids.size() > kUserIdsMax) {
    return InvalidArgument("ids: must be 1 to ", kUserIdsMax, ", got ", ids.size());
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    BANDANA_RETURN_IF_ERROR(Annotate(CheckId(ids[i]), absl::StrCat("ids[", i, "]")));
  }
  return absl::OkStatus();
}

UserBatch::UserBatch(const std::vector<std::string>& groups) : positions_(groups.size()) {
  users_.names.assign(groups.begin(), groups.end());
  users_.values.resize(groups.size());
}

UserBatch UserBatch::OfNodes(int nodes) {
  UserBatch batch({"node"});
  batch.users_.names = {"node"};  // the vector that was given lives no longer
  batch.nodes_ = nodes;
  return batch;
}

int UserBatch::NodeOf(std::string_view value, int nodes) {
  int node = -1;
  const bool number = absl::SimpleAtoi(ToAbsl(value), &node);
  return number && node >= 0 && node < nodes ? node : -1;
}

void UserBatch::SetValue(std::size_t user, std::size_t group, std::string_view value) {
  auto& positions = positions_[group];
  auto position = positions.find(value);
  if (position == positions.end()) {
    std::vector<std::string_view>& values = users_.values[group];
    text_bytes_ += value.size();
    values.push_back(texts_.emplace_back(value));
    position =
        positions.emplace(values.back(), static_cast<std::uint32_t>(values.size() - 1)).first;
  }
  users_.cells[user * groups() + group] = position->second;
}

void UserBatch::AddChecked(std::string_view id, std::span<const std::string_view> values) {
  const std::size_t user = size();
  text_bytes_ += id.size();
  keys_.push_back(UserKey(id));
  seen_.insert(keys_.back());
  users_.ids.push_back(texts_.emplace_back(id));
  users_.cells.resize(users_.cells.size() + groups(), UserGroups::kNone);
  friends_end_.push_back(friends_.size());
  for (std::size_t g = 0; g < groups(); ++g) {
    if (!values[g].empty()) SetValue(user, g, values[g]);
  }
}

absl::Status UserBatch::CheckNew(const std::string& field, std::string_view id) const {
  BANDANA_RETURN_IF_ERROR(Annotate(CheckId(id), field + ".id"));
  if (!seen_.contains(UserKey(id))) return absl::OkStatus();
  return InvalidArgument(field, ".id: is there twice in this call");
}

absl::Status UserBatch::CheckNode(bool given, std::uint64_t node) const {
  if (!given) return InvalidArgument("must be set: the model has a graph");
  if (node < static_cast<std::uint64_t>(nodes_)) return absl::OkStatus();
  return InvalidArgument("must be in [0, ", nodes_, "), got ", node);
}

absl::Status UserBatch::AddStored(std::string_view id, std::span<const std::string_view> values) {
  const std::string field = absl::StrCat("users[", size(), "]");
  BANDANA_RETURN_IF_ERROR(CheckNew(field, id));
  for (const std::string_view value : values) {
    if (nodes_ > 0 && NodeOf(value, nodes_) < 0) return InvalidArgument(field, ": no such node");
    if (!value.empty()) BANDANA_RETURN_IF_ERROR(Annotate(CheckGroupValue(value), field));
  }
  AddChecked(id, values);
  friends_end_.back() = friends_.size();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string_view>> UserBatch::ValuesOf(const std::string& field,
                                                                  const v1::User& user,
                                                                  std::string& node) const {
  std::vector<std::string_view> values(groups());
  if (nodes_ > 0) {
    BANDANA_RETURN_IF_ERROR(Annotate(CheckNode(user.has_node(), user.node()), field + ".node"));
    if (!user.groups().empty() || !user.friends().empty()) {
      return InvalidArgument(field, ": has groups or friends, and the model has a graph");
    }
    node = absl::StrCat(user.node());
    values[0] = node;
    return values;
  }
  if (user.has_node()) return InvalidArgument(field, ".node: the model has no graph");
  for (const auto& [name, value] : user.groups()) {
    const auto group = std::ranges::find(users_.names, std::string_view(name));
    if (group == users_.names.end()) {
      return InvalidArgument(field, ".groups: has a name that is not one of the model's ",
                             "user_groups");
    }
    BANDANA_RETURN_IF_ERROR(
        Annotate(CheckGroupValue(value), absl::StrCat(field, ".groups[", name, "]")));
    values[static_cast<std::size_t>(group - users_.names.begin())] = value;
  }
  return values;
}

absl::Status UserBatch::Add(const v1::User& user) {
  const std::string field = absl::StrCat("users[", size(), "]");
  BANDANA_RETURN_IF_ERROR(CheckNew(field, user.id()));
  std::string node;
  BANDANA_ASSIGN_OR_RETURN(const auto values, ValuesOf(field, user, node));
  AddChecked(user.id(), values);
  return Annotate(AddFriends(user), field + ".friends");
}

absl::Status UserBatch::AddFriends(const v1::User& user) {
  if (user.friends_size() > kFriendsMax) {
    return InvalidArgument("must be at most ", kFriendsMax, ", got ", user.friends_size());
  }
  const auto first = static_cast<std::ptrdiff_t>(friends_.size());
  for (const std::string& id : user.friends()) {
    BANDANA_RETURN_IF_ERROR(CheckId(id));
    friends_.push_back(UserKey(id));
  }
  std::sort(friends_.begin() + first, friends_.end());
  friends_.erase(std::unique(friends_.begin() + first, friends_.end()), friends_.end());
  friends_end_.back() = friends_.size();
  return absl::OkStatus();
}

std::span<const EffectKey> UserBatch::friends(std::size_t user) const {
  const std::size_t first = user == 0 ? 0 : friends_end_[user - 1];
  return std::span(friends_).subspan(first, friends_end_[user] - first);
}

std::size_t UserBatch::bytes() const {
  constexpr std::size_t kPerText = sizeof(std::string) + sizeof(std::string_view);
  return text_bytes_ + texts_.size() * kPerText + users_.cells.size() * sizeof(std::uint32_t) +
         (friends_.size() + 2 * keys_.size()) * sizeof(EffectKey);
}

}  // namespace bandana::server
