#include "server/ops/config/config_file.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "server/ops/config/config_text.h"

namespace bandana::server {
namespace {

// The last name of a path: `models[2].privacy.epsilon` -> `epsilon`.
std::string LastName(const std::string& path) { return path.substr(path.rfind('.') + 1); }

void SortByPosition(std::vector<ConfigMistake>& mistakes) {
  std::ranges::stable_sort(mistakes, [](const ConfigMistake& a, const ConfigMistake& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
}

// Missing fields come last: a mistake further down may be why.
void AppendSemanticMistakes(const std::vector<ConfigError>& errors, const ParsedText& parsed,
                            std::vector<ConfigMistake>& mistakes) {
  std::vector<ConfigMistake> wrong;
  std::vector<ConfigMistake> missing;
  for (const ConfigError& error : errors) {
    if (parsed.unread_fields.contains(LastName(error.field))) continue;
    ConfigMistake mistake{.field = error.field, .message = error.message};
    const bool is_there = Locate(*parsed.locations, mistake);
    (is_there ? wrong : missing).push_back(std::move(mistake));
  }
  for (std::vector<ConfigMistake>* found : {&wrong, &missing}) {
    SortByPosition(*found);
    std::ranges::move(*found, std::back_inserter(mistakes));
  }
}

}  // namespace

std::string ToString(std::string_view file, const ConfigMistake& mistake) {
  std::string text(file);
  if (mistake.line > 0) absl::StrAppend(&text, ":", mistake.line, ":", mistake.column);
  if (!mistake.field.empty()) absl::StrAppend(&text, ": ", mistake.field);
  return absl::StrCat(text, ": ", mistake.message);
}

ConfigResult ParseConfig(std::string_view text, std::string_view folder,
                         const ConfigOptions& options) {
  if (const std::optional<TextFault> fault = FindFault(text)) {
    return {.spec = std::nullopt,
            .mistakes = {{.line = static_cast<int>(fault->line),
                          .column = static_cast<int>(fault->byte),
                          .field = "",
                          .message = fault->why}}};
  }
  ParsedText parsed;
  ParseText(*WithoutMark(text), parsed);
  ConfigResult result{.spec = std::nullopt, .mistakes = parsed.mistakes};
  SortByPosition(result.mistakes);
  if (parsed.complete) {
    std::vector<ConfigError> errors;
    auto spec = ParseServerConfig(parsed.config, folder, options, errors);
    AppendSemanticMistakes(errors, parsed, result.mistakes);
    if (result.mistakes.empty() && options.try_out) {
      options.try_out(*spec, errors);
      AppendSemanticMistakes(errors, parsed, result.mistakes);
    }
    if (result.mistakes.empty()) result.spec = std::move(spec);
  }
  return result;
}

absl::StatusOr<ConfigResult> LoadConfig(const std::string& path, const ConfigOptions& options) {
  BANDANA_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kConfigFileBytesMax));
  return ParseConfig(text, std::filesystem::path(path).parent_path().string(), options);
}

}  // namespace bandana::server
