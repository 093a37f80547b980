#include "common/design/files/arms_tsv.h"

#include <charconv>
#include <cmath>
#include <system_error>

#include "absl/container/flat_hash_set.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/design/files/group_names.h"

namespace bandana {
namespace {

template <typename Number>
bool ParseNumber(std::string_view text, Number& value) {
  const char* end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && parsed == end;
}

absl::Status ParseTags(std::string_view field, std::vector<std::string>& tags) {
  if (field == "-") return absl::OkStatus();
  if (field.ends_with(',')) return InvalidArgument("the tags end with a comma");
  do {
    const std::string_view tag = TakeField(field, ',');
    if (tag.empty() || tag.size() > kTagBytesMax) {
      return InvalidArgument("a tag of ", tag.size(), " bytes, it must have 1 to ", kTagBytesMax);
    }
    if (tags.size() == kTagsPerArmMax) {
      return InvalidArgument("more than ", kTagsPerArmMax, " tags");
    }
    tags.emplace_back(tag);
  } while (!field.empty());
  return absl::OkStatus();
}

absl::Status ParseFeatures(std::string_view field, int dimension, std::vector<double>& features) {
  features.reserve(dimension);
  while (!field.empty()) {
    const std::string_view text = TakeField(field, ' ');
    if (text.empty()) continue;
    double value = 0;
    if (!ParseNumber(text, value) || !std::isfinite(value)) {
      return InvalidArgument("feature ", features.size() + 1, " is not a finite number");
    }
    if (features.size() == static_cast<std::size_t>(dimension)) {
      return InvalidArgument("more than ", dimension, " features, the model's dimension");
    }
    features.push_back(value);
  }
  if (features.size() < static_cast<std::size_t>(dimension)) {
    return InvalidArgument(features.size(), " features, the model's dimension is ", dimension);
  }
  return absl::OkStatus();
}

absl::Status ParseGroups(std::string_view field, std::map<std::string, std::string>& groups) {
  if (field == "-") return absl::OkStatus();
  if (field.ends_with(',')) return InvalidArgument("the groups end with a comma");
  do {
    std::string_view value = TakeField(field, ',');
    if (value.find('=') == std::string_view::npos) {
      return InvalidArgument("the fourth field must be `-` or NAME=VALUE,NAME=VALUE");
    }
    const std::string_view name = TakeField(value, '=');
    BANDANA_RETURN_IF_ERROR(CheckGroupName(name));
    const absl::Status fits = CheckGroupValue(value);
    if (!fits.ok()) return Annotate(fits, absl::StrCat("group ", ToAbsl(name)));
    if (!groups.emplace(name, value).second) {
      return InvalidArgument("two values of the group ", ToAbsl(name));
    }
    if (groups.size() > kGroupsMax) return InvalidArgument("more than ", kGroupsMax, " groups");
  } while (!field.empty());
  return absl::OkStatus();
}

absl::Status ParseName(std::string_view text, std::string& name) {
  if (text.empty() || text.size() > kArmNameBytesMax) {
    return InvalidArgument("a name of ", text.size(), " bytes, it must have 1 to ",
                           kArmNameBytesMax, ", or be `-` for none");
  }
  if (text != "-") name = text;
  return absl::OkStatus();
}

absl::StatusOr<TsvArm> ParseLine(std::string_view line, int dimension) {
  TsvArm arm;
  if (!ParseNumber(TakeField(line, '\t'), arm.id)) {
    return InvalidArgument("the id is not a whole number below 2^32");
  }
  if (line.empty()) return InvalidArgument("the line needs id, tags and features, tab-separated");
  BANDANA_RETURN_IF_ERROR(ParseTags(TakeField(line, '\t'), arm.tags));
  bool more = line.find('\t') != std::string_view::npos;
  // The field that comes next, where there is one.
  const auto next = [&] {
    more = line.find('\t') != std::string_view::npos;
    return TakeField(line, '\t');
  };
  BANDANA_RETURN_IF_ERROR(ParseFeatures(next(), dimension, arm.features));
  if (more) BANDANA_RETURN_IF_ERROR(ParseGroups(next(), arm.groups));
  if (more) BANDANA_RETURN_IF_ERROR(ParseName(next(), arm.name));
  if (more) BANDANA_RETURN_IF_ERROR(ParseFields(next(), arm.facts));
  if (more) BANDANA_RETURN_IF_ERROR(ParseAvailability(next(), arm.facts));
  if (more) return InvalidArgument("more than seven fields; features are separated by spaces");
  BANDANA_RETURN_IF_ERROR(CheckFacts(arm.facts));
  return arm;
}

}  // namespace

absl::StatusOr<std::vector<TsvArm>> ParseArmsTsv(std::string_view text, int dimension,
                                                 std::uint64_t arms_max) {
  std::vector<TsvArm> arms;
  absl::flat_hash_set<std::uint32_t> ids;
  BANDANA_ASSIGN_OR_RETURN(TextLines lines, TextLines::Of(text));
  for (std::string_view line; lines.Next(line);) {
    const std::uint64_t number = lines.number();
    if (line.empty() || line.starts_with('#') || (number == 1 && line.starts_with("id\t"))) {
      continue;
    }
    absl::StatusOr<TsvArm> arm = ParseLine(line, dimension);
    if (!arm.ok()) return Annotate(arm.status(), absl::StrCat("line ", number));
    if (!ids.insert(arm->id).second) {
      return InvalidArgument("line ", number, ": arm ", arm->id, " is there twice");
    }
    if (arms.size() == arms_max) {
      return InvalidArgument("line ", number, ": more than arms_max = ", arms_max, " arms");
    }
    arms.push_back(*std::move(arm));
  }
  return arms;
}

}  // namespace bandana
