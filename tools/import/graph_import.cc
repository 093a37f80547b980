#include "tools/import/graph_import.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "tools/import/unpack.h"

namespace bandana {
namespace {

absl::Status CheckOptions(const GraphImportOptions& options) {
  if (options.dimension < 1 || options.dimension > kDimensionMax) {
    return InvalidArgument("dimension must be in [1, ", kDimensionMax, "], got ",
                           options.dimension);
  }
  if (options.levels < 1 || options.levels > kLevelsMax) {
    return InvalidArgument("levels must be in [1, ", kLevelsMax, "], got ", options.levels);
  }
  if (options.seed < 0) return InvalidArgument("seed must be >= 0, got ", options.seed);
  return absl::OkStatus();
}

std::string SizeOf(const std::string& path) {
  std::error_code error;
  const std::uint64_t bytes = std::filesystem::file_size(path, error);
  return error ? "unknown size" : absl::StrCat(bytes >> 20, " MiB");
}

}  // namespace

absl::StatusOr<GraphImport> ImportGraph(const std::string& path, const GraphImportOptions& options,
                                        const std::function<void(std::string_view)>& progress) {
  BANDANA_RETURN_IF_ERROR(CheckOptions(options));
  const auto step = [&](std::string_view name) {
    if (progress) progress(name);
  };
  step(absl::StrCat("reading ", path, ", ", SizeOf(path)));
  EdgeListReader reader;
  BANDANA_RETURN_IF_ERROR(ReadText(path, options.bytes_max,
                                   [&](std::string_view block) { return reader.Take(block); }));
  absl::StatusOr<EdgeList> list = reader.Finish();
  if (!list.ok()) return Annotate(list.status(), path);

  const int users = static_cast<int>(list->users.size());
  step(absl::StrCat("cutting ", users, " users, ", list->pairs.size(), " pairs of friends"));
  GraphImport result;
  BANDANA_ASSIGN_OR_RETURN(
      result.levels,
      CutLevels(users, list->pairs, LevelParts(users, options.levels), options.seed, progress));
  result.pairs = list->pairs.size();
  result.counts = list->counts;
  result.users = std::move(list->users);
  return result;
}

}  // namespace bandana
