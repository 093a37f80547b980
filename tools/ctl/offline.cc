#include "tools/ctl/offline.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"
#include "server/models/folder/folder_check.h"
#include "server/models/folder/folder_restore.h"
#include "server/models/folder/noise_key_file.h"
#include "server/models/folder/recovery.h"
#include "server/models/folder/stored_config.h"
#include "server/ops/config/config_file.h"
#include "server/ops/config/data_dir.h"
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

absl::StatusOr<Place> OpenPlace(const OfflineOptions& options) {
  Place place{.data_dir = options.data_dir};
  if (!options.config.empty()) {
    server::ConfigOptions config_options;
    if (!options.data_dir.empty()) config_options.data_dir = options.data_dir;
    BANDANA_ASSIGN_OR_RETURN(auto config, server::LoadConfig(options.config, config_options));
    if (!config.spec) {
      std::vector<std::string> mistakes;
      for (const auto& m : config.mistakes) mistakes.push_back(ToString(options.config, m));
      return InvalidArgument(absl::StrJoin(mistakes, "\n"));
    }
    place.data_dir = config.spec->data_dir;
    place.models = std::move(config.spec->models);
    place.log = std::move(config.spec->log);
    place.noise_key_file = config.spec->noise_key_file;
    if (!config.spec->checkpoint_key_file.empty()) {
      BANDANA_ASSIGN_OR_RETURN(place.seal,
                               CheckpointSeal::FromFile(config.spec->checkpoint_key_file));
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

absl::Status Verify(const OfflineOptions& options, CommandOutput& output) {
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

absl::Status Restore(const OfflineOptions& options, CommandOutput& output) {
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

}  // namespace

bool IsOffline(const std::vector<std::string>& words) {
  return words.size() >= 2 && words[0] == "checkpoint" &&
         (words[1] == "verify" || words[1] == "restore");
}

absl::Status RunOffline(const std::vector<std::string>& words, const OfflineOptions& options,
                        CommandOutput& output) {
  if (words.size() > 2) return InvalidArgument("unexpected argument ", words[2]);
  return words[1] == "verify" ? Verify(options, output) : Restore(options, output);
}

std::string OfflineHelp() {
  return "  checkpoint verify [--model M]   every byte of the models' folders: checksums, log "
         "chain, ids\n"
         "  checkpoint restore --model M    a damaged model made anew from its newest sound "
         "state;\n"
         "                                  the old folder is set aside\n";
}

}  // namespace bandana
