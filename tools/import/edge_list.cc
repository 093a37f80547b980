#include "tools/import/edge_list.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "tools/import/partition.h"

namespace bandana {
namespace {

// A line of two ids with room to spare: what is longer is no edge list, and must not fill memory.
constexpr std::size_t kLineBytesMax = 4096;
constexpr std::string_view kBlanks = " \t";

std::string_view TakeWord(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
  const std::string_view word = rest.substr(0, rest.find_first_of(kBlanks));
  rest.remove_prefix(word.size());
  return word;
}

std::uint64_t Packed(std::uint32_t first, std::uint32_t second) {
  return std::uint64_t{first} << 32 | second;
}

std::pair<std::uint32_t, std::uint32_t> Unpacked(std::uint64_t edge) {
  return {static_cast<std::uint32_t>(edge >> 32), static_cast<std::uint32_t>(edge)};
}

// Sorts; returns how many were there before.
std::uint64_t RemoveRepeated(std::vector<std::uint64_t>& edges) {
  std::sort(edges.begin(), edges.end());
  const auto end = std::unique(edges.begin(), edges.end());
  const auto repeated = static_cast<std::uint64_t>(edges.end() - end);
  edges.erase(end, edges.end());
  return repeated;
}

absl::Status TooLong() {
  return InvalidArgument("more than ", kLineBytesMax, " bytes: this is no edge list");
}

}  // namespace

absl::Status EdgeListReader::Take(std::string_view block) {
  while (true) {
    const std::size_t end = block.find('\n');
    if (end == std::string_view::npos) break;
    if (begun_.empty()) {
      BANDANA_RETURN_IF_ERROR(TakeLine(block.substr(0, end)));
    } else {
      begun_.append(block.substr(0, end));
      BANDANA_RETURN_IF_ERROR(TakeLine(begun_));
      begun_.clear();
    }
    block.remove_prefix(end + 1);
  }
  if (begun_.size() + block.size() > kLineBytesMax) {
    return Annotate(TooLong(), absl::StrCat("line ", line_ + 1));
  }
  begun_.append(block);
  return absl::OkStatus();
}

absl::Status EdgeListReader::TakeLine(std::string_view line) {
  ++line_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (const std::optional<TextFault> fault = FindFault(line)) {
    return InvalidArgument("line ", line_, ", byte ", fault->byte, ": ", fault->why);
  }
  if (line_ == 1) line = *WithoutMark(line);
  return Annotate(AddLine(line), absl::StrCat("line ", line_));
}

absl::Status EdgeListReader::AddLine(std::string_view line) {
  if (line.starts_with('#')) return absl::OkStatus();
  if (line.size() > kLineBytesMax) return TooLong();
  const std::string_view first = TakeWord(line);
  if (first.empty()) return absl::OkStatus();
  const std::string_view second = TakeWord(line);
  if (second.empty() || !TakeWord(line).empty()) {
    return InvalidArgument("expected two user ids, found ", second.empty() ? "one" : "more");
  }
  BANDANA_ASSIGN_OR_RETURN(const std::uint32_t a, PositionOf(first));
  BANDANA_ASSIGN_OR_RETURN(const std::uint32_t b, PositionOf(second));
  ++counts_.lines;
  if (a == b) {
    ++counts_.self_edges;
  } else {
    edges_.push_back(Packed(a, b));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::uint32_t> EdgeListReader::PositionOf(std::string_view id) {
  if (const auto found = positions_.find(id); found != positions_.end()) return found->second;
  if (id.size() > kUserIdBytesMax) {
    return InvalidArgument("a user id must have 1 to ", kUserIdBytesMax, " bytes, got ", id.size());
  }
  if (users_.size() == kUsersMax) return InvalidArgument("more than ", kUsersMax, " users");
  const auto position = static_cast<std::uint32_t>(users_.size());
  positions_.emplace(users_.emplace_back(id), position);
  return position;
}

absl::StatusOr<EdgeList> EdgeListReader::Finish() {
  if (!begun_.empty()) BANDANA_RETURN_IF_ERROR(TakeLine(begun_));
  counts_.repeated = RemoveRepeated(edges_);
  const std::uint64_t listed = edges_.size();
  for (std::uint64_t& edge : edges_) {
    const auto [a, b] = Unpacked(edge);
    edge = Packed(std::min(a, b), std::max(a, b));
  }
  const std::uint64_t two_way = RemoveRepeated(edges_);
  counts_.one_way = listed - 2 * two_way;
  if (edges_.empty()) return InvalidArgument("no pair of friends among ", line_, " lines");
  if (edges_.size() > CutGraph::kEdgesMax) {
    return InvalidArgument(edges_.size(), " pairs of friends, at most ", CutGraph::kEdgesMax,
                           " can be cut");
  }
  EdgeList list;
  list.counts = counts_;
  list.pairs.reserve(edges_.size());
  for (const std::uint64_t edge : edges_) list.pairs.emplace_back(Unpacked(edge));
  edges_ = {};
  positions_ = {};
  list.users.assign(std::make_move_iterator(users_.begin()), std::make_move_iterator(users_.end()));
  users_ = {};
  return list;
}

}  // namespace bandana
