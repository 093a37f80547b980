#include "tools/ctl/offline.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"
#include "server/models/folder/folder_check.h"
#include "server/models/folder/folder_restore.h"
#include "server/models/folder/noise_key_file.h"
#include "server/models/folder/recovery.h"
#include "server/models/folder/stored_config.h"
#include "server/ops/config/config_file.h"
#include "server/ops/config/data_dir.h"
#include "tools/ctl/features.h"
#include "tools/ctl/json.h"

namespace bandana {
namespace {

namespace fs = std::filesystem;

using server::CheckpointSeal;

// Where to look, and what the configuration says of it.
struct Place {
  std::string data_dir;
  std::vector<ModelSpec> models;  // of the configuration
  std::shared_ptr<const server::LogEngine> log = server::DefaultLogEngine();
  std::shared_ptr<const CheckpointSeal> seal;
  std::string noise_key_file;  // "": data_dir/noise_key
  std::unique_ptr<server::DataDirLock> lock;
};

// Errors: INVALID_ARGUMENT every mistake.
absl::StatusOr<server::ServerSpec> LoadSpec(const OfflineOptions& options) {
  server::ConfigOptions config_options;
  if (!options.data_dir.empty()) config_options.data_dir = options.data_dir;
  BANDANA_ASSIGN_OR_RETURN(auto config, server::LoadConfig(options.config, config_options));
  if (config.spec) return *std::move(config.spec);
  std::vector<std::string> mistakes;
  for (const auto& m : config.mistakes) mistakes.push_back(ToString(options.config, m));
  return InvalidArgument(absl::StrJoin(mistakes, "\n"));
}

absl::StatusOr<std::vector<ModelSpec>> ModelsOf(const OfflineOptions& options) {
  BANDANA_ASSIGN_OR_RETURN(server::ServerSpec spec, LoadSpec(options));
  return std::move(spec.models);
}

absl::StatusOr<Place> OpenPlace(const OfflineOptions& options) {
  Place place{.data_dir = options.data_dir};
  if (!options.config.empty()) {
    BANDANA_ASSIGN_OR_RETURN(server::ServerSpec spec, LoadSpec(options));
    place.data_dir = spec.data_dir;
    place.models = std::move(spec.models);
    place.log = std::move(spec.log);
    place.noise_key_file = spec.noise_key_file;
    if (!spec.checkpoint_key_file.empty()) {
      BANDANA_ASSIGN_OR_RETURN(place.seal, CheckpointSeal::FromFile(spec.checkpoint_key_file));
    }
  }
  std::error_code error;
  if (!fs::is_directory(place.data_dir + "/models", error)) {
    return NotFound("\"", place.data_dir,
                    "\" is no data folder of a server: give --data_dir or --config");
  }
  BANDANA_ASSIGN_OR_RETURN(place.lock, server::DataDirLock::Acquire(place.data_dir));
  return place;
}

absl::StatusOr<std::vector<std::string>> ModelsIn(const Place& place, const std::string& model) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(place.data_dir + "/models", error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    // Folders that begin with a point are half made or half removed.
    if (!name.starts_with(".") && (model.empty() || name == model)) names.push_back(name);
  }
  if (error) return Unavailable("cannot list ", place.data_dir, "/models: ", error.message());
  if (names.empty() && !model.empty()) return NotFound("no model is named ", model);
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status Verify(const OfflineOptions& options, const std::string&, CommandOutput& output) {
  BANDANA_ASSIGN_OR_RETURN(const Place place, OpenPlace(options));
  BANDANA_ASSIGN_OR_RETURN(const auto names, ModelsIn(place, options.model));
  int damaged = 0;
  std::vector<std::string> models;
  std::error_code error;
  if (fs::exists(place.data_dir + "/noise_key", error)) {
    const absl::Status key = server::OpenNoiseKey(place.data_dir, SystemBits()).status();
    absl::StrAppend(&output.text,
                    "noise_key: ", key.ok() ? absl::string_view("sound") : key.message(), "\n");
    if (!key.ok()) ++damaged;
  }
  for (const std::string& name : names) {
    const auto verdict =
        server::CheckModelFolder(place.data_dir + "/models/" + name, place.seal, *place.log);
    std::vector<std::string> files;
    for (const server::FileVerdict& file : verdict.files) {
      const std::string what =
          file.status.ok() ? "sound" : absl::StrCat("DAMAGED: ", file.status.message());
      absl::StrAppend(&output.text, name, "/", file.file, ": ", what,
                      file.detail.empty() ? "" : ", ", file.detail, "\n");
      files.push_back(absl::StrCat(
          "{\"file\": ", JsonText(file.file), ", \"sound\": ", file.status.ok() ? "true" : "false",
          ", \"detail\": ", JsonText(file.status.ok() ? file.detail : what), "}"));
      if (!file.status.ok()) ++damaged;
    }
    absl::StrAppend(&output.text, name, ": ",
                    verdict.opens.ok()
                        ? "opens"
                        : "does not open; `checkpoint restore` makes what is sound a "
                          "model again",
                    "\n");
    models.push_back(absl::StrCat("{\"model\": ", JsonText(name),
                                  ", \"opens\": ", verdict.opens.ok() ? "true" : "false",
                                  ", \"files\": [", absl::StrJoin(files, ", "), "]}"));
  }
  output.json = absl::StrCat("{\"models\": [", absl::StrJoin(models, ",\n"), "]}\n");
  if (damaged == 0) return absl::OkStatus();
  return DataLoss(damaged, damaged == 1 ? " file is damaged" : " files are damaged");
}

absl::StatusOr<ModelSpec> SpecOf(Place& place, const std::string& model) {
  for (ModelSpec& spec : place.models) {
    if (spec.public_spec.name == model) return std::move(spec);
  }
  const std::string folder = place.data_dir + "/models/" + model;
  BANDANA_RETURN_IF_ERROR(server::TakeFromStore(folder, *place.log));
  const auto state = place.log->OpenState(folder, /*draws_noise=*/false);
  if (!state.ok() && !absl::IsNotFound(state.status())) return state.status();
  if (!state.ok() || !server::HasStoredConfig(**state).value_or(false)) {
    return NotFound("the configuration has no model ", model, ", and none was made at run time");
  }
  BANDANA_ASSIGN_OR_RETURN(const v1::ModelConfig config, server::ReadStoredConfig(**state));
  return server::ParseStoredConfig(config);
}

absl::Status Restore(const OfflineOptions& options, const std::string&, CommandOutput& output) {
  if (options.model.empty() || options.config.empty()) {
    return InvalidArgument(
        "usage: bandana-ctl checkpoint restore --config FILE --model M [--data_dir DIR] "
        "[--through SEQUENCE]");
  }
  BANDANA_ASSIGN_OR_RETURN(Place place, OpenPlace(options));
  BANDANA_ASSIGN_OR_RETURN(const ModelSpec spec, SpecOf(place, options.model));
  server::RestoreOptions restore{.data_dir = place.data_dir,
                                 .log = place.log,
                                 .checkpoint_seal = place.seal,
                                 .through = options.through};
  std::error_code error;
  if (!place.noise_key_file.empty()) {
    BANDANA_ASSIGN_OR_RETURN(restore.noise_key, server::ReadNoiseKey(place.noise_key_file));
  } else if (fs::exists(place.data_dir + "/noise_key", error)) {
    BANDANA_ASSIGN_OR_RETURN(restore.noise_key, server::OpenNoiseKey(place.data_dir, SystemBits()));
  }
  BANDANA_ASSIGN_OR_RETURN(const server::Restored restored,
                           server::RestoreModelFolder(spec, restore));
  output.text =
      absl::StrCat("restored ", options.model, ": the state after log entry ", restored.through,
                   ", from the checkpoint at entry ", restored.checkpoint, "\n");
  if (restored.log_end && *restored.log_end > restored.through) {
    absl::StrAppend(&output.text, "lost: log entries ", restored.through + 1, " to ",
                    *restored.log_end, "\n");
  } else if (!restored.log_end) {
    absl::StrAppend(&output.text, "lost: every log entry after ", restored.through, "\n");
  }
  for (const std::string& note : restored.notes)
    absl::StrAppend(&output.text, "note: ", note, "\n");
  absl::StrAppend(&output.text, "the old folder is ", restored.set_aside, "\n");
  std::vector<std::string> notes;
  for (const std::string& note : restored.notes) notes.push_back(JsonText(note));
  output.json =
      absl::StrCat("{\"model\": ", JsonText(options.model),
                   ", \"checkpoint\": ", restored.checkpoint, ", \"through\": ", restored.through,
                   ", \"log_end\": ", restored.log_end ? absl::StrCat(*restored.log_end) : "null",
                   ", \"set_aside\": ", JsonText(restored.set_aside), ", \"notes\": [",
                   absl::StrJoin(notes, ", "), "]}\n");
  return absl::OkStatus();
}

// As long as an example of the largest request that a server takes.
constexpr std::uint64_t kExampleBytesMax = std::uint64_t{kHotMessageBytesMax};
constexpr std::uint64_t kExamplesBytesMax = std::uint64_t{1} << 30;

absl::Status FeaturesExplain(const OfflineOptions& options, const std::string& file,
                             CommandOutput& output) {
  if (options.config.empty() || options.model.empty()) {
    return InvalidArgument(
        "usage: bandana-ctl features explain EXAMPLE.json --config FILE --model M");
  }
  BANDANA_ASSIGN_OR_RETURN(const std::vector<ModelSpec> models, ModelsOf(options));
  const auto model = std::ranges::find_if(
      models, [&](const ModelSpec& spec) { return spec.public_spec.name == options.model; });
  if (model == models.end()) {
    return NotFound("the configuration has no model ", options.model);
  }
  if (model->public_spec.features == nullptr) {
    return FailedPrecondition("model ", options.model, " has no schema of named features");
  }
  BANDANA_ASSIGN_OR_RETURN(const std::string json, ReadFile(file, kExampleBytesMax));
  const auto text = ExplainFeatures(*model->public_spec.features, json);
  if (!text.ok()) return Annotate(text.status(), file);
  output.text = *text;
  output.json = absl::StrCat("{\"text\": ", JsonText(*text), "}\n");
  return absl::OkStatus();
}

absl::Status FeaturesFit(const OfflineOptions&, const std::string& file, CommandOutput& output) {
  BANDANA_ASSIGN_OR_RETURN(const std::string jsonl, ReadFile(file, kExamplesBytesMax));
  const auto text = FitFeatures(jsonl);
  if (!text.ok()) return Annotate(text.status(), file);
  output.text = *text;
  output.json = absl::StrCat("{\"text\": ", JsonText(*text), "}\n");
  return absl::OkStatus();
}

struct Verb {
  std::string_view first;
  std::string_view second;
  std::size_t files = 0;  // that are named after it
  absl::Status (*run)(const OfflineOptions& options, const std::string& file,
                      CommandOutput& output) = nullptr;
};
constexpr Verb kVerbs[] = {{"checkpoint", "verify", 0, Verify},
                           {"checkpoint", "restore", 0, Restore},
                           {"features", "explain", 1, FeaturesExplain},
                           {"features", "fit", 1, FeaturesFit}};

// nullptr: none of them.
const Verb* FindVerb(const std::vector<std::string>& words) {
  if (words.size() < 2) return nullptr;
  const auto* const found = std::ranges::find_if(
      kVerbs, [&](const Verb& verb) { return words[0] == verb.first && words[1] == verb.second; });
  return found == std::end(kVerbs) ? nullptr : found;
}

}  // namespace

bool IsOffline(const std::vector<std::string>& words) { return FindVerb(words) != nullptr; }

absl::Status RunOffline(const std::vector<std::string>& words, const OfflineOptions& options,
                        CommandOutput& output) {
  const Verb& verb = *FindVerb(words);
  if (words.size() != 2 + verb.files) {
    return InvalidArgument("usage: bandana-ctl ", words[0], " ", words[1],
                           verb.files == 0 ? "" : " FILE", ", see --help");
  }
  return verb.run(options, verb.files == 0 ? "" : words[2], output);
}

std::string OfflineHelp() {
  return "  checkpoint verify [--model M]   every byte of the models' folders: checksums, log "
         "chain, ids\n"
         "  checkpoint restore --model M    a damaged model made anew from its newest sound "
         "state;\n"
         "                                  the old folder is set aside\n"
         "  features explain FILE --model M   an example (JSON) as the schema encodes it, with "
         "names\n"
         "  features fit FILE                 a schema for public examples (JSON, one a line)\n";
}

}  // namespace bandana
