#include "tools/ctl/model_file.h"

#include <google/protobuf/util/json_util.h>

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/design/files/arms_tsv.h"
#include "common/design/files/mistyped.h"
#include "common/design/model_spec.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"

namespace bandana {
namespace {

class Collector final : public google::protobuf::io::ErrorCollector {
 public:
  explicit Collector(const std::string& path) : path_(path) {}
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    absl::StrAppend(&text, text.empty() ? "" : "\n", path_, ":", line + 1, ":", column + 1, ": ",
                    WithHint(message));
  }
  std::string text;

 private:
  const std::string& path_;
};

// An Arm in JSON per line.
absl::StatusOr<std::vector<v1::Arm>> ParseArmLines(std::string_view text) {
  std::vector<v1::Arm> arms;
  BANDANA_ASSIGN_OR_RETURN(TextLines lines, TextLines::Of(text));
  for (std::string_view line; lines.Next(line);) {
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    const auto parsed = google::protobuf::util::JsonStringToMessage(
        google::protobuf::StringPiece(line.data(), line.size()), &arms.emplace_back());
    if (!parsed.ok()) return InvalidArgument("line ", lines.number(), ": ", parsed.ToString());
  }
  return arms;
}

}  // namespace

absl::StatusOr<v1::ModelConfig> ReadModelChange(const std::string& path) {
  BANDANA_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kConfigFileBytesMax));
  Collector collector(path);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&collector);
  v1::ModelConfig config;
  const absl::StatusOr<std::string_view> plain = PlainText(text);
  if (!plain.ok()) return Annotate(plain.status(), path);
  if (!parser.ParseFromString(std::string(*plain), &config)) return InvalidArgument(collector.text);
  return config;
}

absl::StatusOr<ModelFile> ReadModelFile(const std::string& path) {
  BANDANA_ASSIGN_OR_RETURN(const v1::ModelConfig config, ReadModelChange(path));
  std::vector<ConfigError> errors;
  auto spec = ParseModelConfig(config, std::filesystem::path(path).parent_path().string(),
                               /*allow_files=*/true, errors);
  if (spec) {
    std::string users_file = spec->effects ? std::move(spec->effects->users_file) : "";
    return ModelFile{std::move(spec->config), std::move(spec->arms_file), std::move(users_file)};
  }
  std::string mistakes;
  for (const ConfigError& error : errors) {
    absl::StrAppend(&mistakes, mistakes.empty() ? "" : "\n", path, ": ", error.field, ": ",
                    error.message);
  }
  return absl::InvalidArgumentError(mistakes);
}

absl::StatusOr<std::vector<v1::Arm>> ReadArms(const std::string& path, int dimension) {
  BANDANA_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kAdminStreamBytesMax));
  if (path.ends_with(".jsonl")) {
    auto lines = ParseArmLines(text);
    return lines.ok() ? std::move(lines) : Annotate(lines.status(), path);
  }
  const auto parsed = ParseArmsTsv(text, dimension, kArmsMaxMax);
  BANDANA_RETURN_IF_ERROR(Annotate(parsed.status(), path));
  std::vector<v1::Arm> arms;
  arms.reserve(parsed->size());
  for (const TsvArm& arm : *parsed) {
    v1::Arm& out = arms.emplace_back();
    out.set_id(arm.id);
    out.mutable_features()->Assign(arm.features.begin(), arm.features.end());
    out.mutable_tags()->Assign(arm.tags.begin(), arm.tags.end());
    for (const auto& [name, value] : arm.groups) (*out.mutable_groups())[name] = value;
    out.set_name(arm.name);
    FillFacts(arm.facts, out);
  }
  return arms;
}

void FillUser(const UserGroups& users, std::size_t position, v1::User& user) {
  user.set_id(std::string(users.ids[position]));
  for (std::size_t g = 0; g < users.names.size(); ++g) {
    const std::uint32_t value = users.cell(position, g);
    if (value == UserGroups::kNone) continue;
    (*user.mutable_groups())[std::string(users.names[g])] = std::string(users.values[g][value]);
  }
}

}  // namespace bandana
