// The differences between two schemas, for people.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "common/features/schema.h"
#include "common/features/schema_text.h"

namespace bandana {
namespace {

// The parts of an identity text: encoding and bound, then per block its first entry and its line.
// No value of a schema has a control character.
constexpr char kSeparator = '\t';

std::vector<std::string> PartsOf(std::string_view text) {
  if (text.empty()) return {};
  return absl::StrSplit(ToAbsl(text), kSeparator);
}

std::string PartOr(const std::vector<std::string>& parts, std::size_t i) {
  return i < parts.size() ? parts[i] : "nothing";
}

}  // namespace

std::string IdentityText(const FeatureSchema& schema) {
  std::vector<std::string> parts = {"1", absl::StrCat("l2_max ", ExactNumber(schema.l2_max()))};
  // The scale is of the number of blocks, so a block less or more changes all of them.
  parts.push_back(absl::StrCat("blocks ", schema.blocks().size()));
  const std::vector<std::string> lines = SchemaLines(schema.message());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    parts.push_back(absl::StrCat("entry ", schema.blocks()[i].begin, ": ", lines[i]));
  }
  return absl::StrJoin(parts, std::string(1, kSeparator));
}

std::string SchemaChange(std::string_view before, std::string_view after) {
  if (before == after) return "";
  if (before.empty())
    return "has raw vectors in the stored state and a schema in the configuration";
  if (after.empty()) return "has a schema in the stored state and none in the configuration";
  const std::vector<std::string> was = PartsOf(before);
  const std::vector<std::string> is = PartsOf(after);
  std::size_t first = 0;
  while (first < std::min(was.size(), is.size()) && was[first] == is[first]) ++first;
  constexpr std::size_t kBlocks = 2;
  if (first != kBlocks) {
    return absl::StrCat("changes what the vector means: ", PartOr(was, first),
                        " in the stored state, ", PartOr(is, first), " in the configuration");
  }
  // Another number of blocks: which came or went says more than how many there are.
  std::size_t block = kBlocks + 1;
  while (block < std::min(was.size(), is.size()) && was[block] == is[block]) ++block;
  return absl::StrCat("changes the scale of every entry: ", was[kBlocks], " in the stored state, ",
                      is[kBlocks], " in the configuration, and ", PartOr(was, block), " against ",
                      PartOr(is, block));
}

}  // namespace bandana
