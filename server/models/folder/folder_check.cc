#include "server/models/folder/folder_check.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/identity.h"
#include "common/model/entries/records.h"
#include "server/log/log_engine.h"
#include "server/log/log_reader.h"
#include "server/models/catalogue/arm_store.h"
#include "server/models/folder/checkpoint_store.h"
#include "server/models/folder/publication.h"
#include "server/models/folder/recovery.h"
#include "server/models/folder/stored_config.h"
#include "server/models/users/user_store.h"

namespace bandana::server {
namespace {

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// The facts of a valid checkpoint that the log is compared with.
struct Known {
  LogPosition position;
  LogPosition published;
  int dimension = 0;
};

struct Check {
  const std::string& folder;
  const std::shared_ptr<const CheckpointSeal>& seal;
  const LogEngine& engine;
  const std::shared_ptr<StateStore> state;
  FolderVerdict verdict;
  std::optional<Identity> identity;
  std::vector<Known> sound;  // of the valid checkpoints, ascending
  LogPosition published;

  void Add(std::string file, absl::Status status, std::string detail = "") {
    verdict.files.push_back({std::move(file), std::move(status), std::move(detail)});
  }

  void Identify() {
    const absl::StatusOr<std::string> text = ReadIdentityFile(*state);
    absl::StatusOr<Identity> parsed =
        text.ok() ? ParseIdentity(*text) : absl::StatusOr<Identity>(text.status());
    Add("identity", parsed.status());
    if (parsed.ok()) identity = *std::move(parsed);
  }

  void Checkpoints() {
    const CheckpointStore store({.state = state, .seal = seal}, [](const std::string&) {});
    const auto files = store.Files();
    if (!files.ok()) return Add("checkpoints", files.status());
    for (const CheckpointFile& file : *files) {
      absl::StatusOr<Checkpoint> checkpoint = store.Load(file);
      absl::Status status = checkpoint.status();
      if (status.ok() && identity &&
          (checkpoint->instance != identity->instance || !IsOfModel(*checkpoint, *identity))) {
        status = DataLoss("is of another model or instance");
      }
      const std::string name = CheckpointStore::NameOf(file);
      if (!status.ok()) {
        Add(name, status);
        continue;
      }
      Add(name, status,
          absl::StrCat("the state after log entry ", file.sequence, ", ",
                       checkpoint->statistics.size(), " nodes"));
      sound.push_back({checkpoint->state.position, checkpoint->published, checkpoint->dimension});
    }
  }

  void Published() {
    if (!identity || !Exists(folder + "/published")) return;
    const auto read = ReadPublished(folder, identity->instance);
    Add("published", read.status(),
        read.ok() ? absl::StrCat("published after log entry ", read->position.sequence) : "");
    if (read.ok()) published = read->position;
  }

  absl::Status Entries(const UpdateLog& log, std::string& detail) {
    LogPosition at;
    if (log.trimmed() > 0) {
      // A base may be older than what the log begins with.
      const auto first = std::ranges::find_if(
          sound, [&](const Known& known) { return known.position.sequence >= log.trimmed(); });
      if (first == sound.end()) {
        return DataLoss("begins at entry ", log.trimmed() + 1,
                        ", and no valid checkpoint reaches it");
      }
      at = first->position;
    }
    int dimension = sound.empty() ? 0 : sound.front().dimension;
    if (identity && dimension == 0) {
      for (const auto& [name, value] : identity->fixed) {
        if (name == "dimension" && !absl::SimpleAtoi(value, &dimension)) dimension = 0;
      }
    }
    const PublishedCheck check(published, at,
                               sound.empty() ? LogPosition{} : sound.back().published);
    const std::uint64_t first = at.sequence + 1;
    BANDANA_RETURN_IF_ERROR(ForEachEntry(log, at, [&](const LogEntry& entry) {
      at = entry.position;
      BANDANA_RETURN_IF_ERROR(check.See(at));
      if (dimension == 0) return absl::OkStatus();
      return Annotate(Decode(entry.record, dimension).status(),
                      absl::StrCat("entry ", at.sequence));
    }));
    BANDANA_RETURN_IF_ERROR(check.Finish(at));
    std::uint64_t ids = 0;
    BANDANA_RETURN_IF_ERROR(log.ForEachId([&](const RememberedId&) { ++ids; }));
    BANDANA_RETURN_IF_ERROR(
        log.ForEachChunk([&](const IdChunk& chunk) { ids += KnownIds(chunk.bits); }));
    std::uint64_t open = 0;
    BANDANA_RETURN_IF_ERROR(log.ForEachCell([&](const Cell& cell) { open += cell.live; }));
    detail = absl::StrCat("entries ", first, " to ", at.sequence, ", ", ids, " decision ids");
    if (open > 0) absl::StrAppend(&detail, ", ", open, " open decisions");
    return absl::OkStatus();
  }

  // Where a server would begin.
  absl::Status Start(const UpdateLog& log) const {
    const std::uint64_t from = sound.empty() ? 0 : sound.back().position.sequence;
    if (log.trimmed() > from) {
      return DataLoss("the log begins at entry ", log.trimmed() + 1,
                      " and the newest valid checkpoint ends at entry ", from);
    }
    if (from > log.last().sequence) {
      return DataLoss("the log ends at entry ", log.last().sequence,
                      ", before the newest checkpoint, entry ", from);
    }
    return absl::OkStatus();
  }

  void Log() {
    const auto log = OpenLog(engine, folder);
    const std::string file(engine.file());
    if (!log.ok()) return Add(file, log.status());
    std::string detail;
    absl::Status status = Start(**log);
    if (status.ok()) status = Entries(**log, detail);
    Add(file, status, detail);
  }

  void Arms() {
    const TablePlace place = state->Table(TableKind::kArms);
    const std::string name = NameOf(place);
    if (!place.exists().value_or(true)) return;
    absl::StatusOr<ArmStore> store = ArmStore::Open(place);
    if (!store.ok()) return Add(name, store.status());
    const auto arms = store->Load();
    absl::Status whole = arms.status();
    if (whole.ok()) whole = store->table().LeftKeys().status();
    Add(name, whole, whole.ok() ? absl::StrCat(arms->size(), " arms") : "");
  }

  void Users() {
    const TablePlace place = state->Table(TableKind::kUsers);
    const std::string name = NameOf(place);
    if (!place.exists().value_or(true)) return;
    absl::StatusOr<UserStore> store = UserStore::Open(place);
    if (!store.ok()) return Add(name, store.status());
    absl::Status whole = store->ForEach([](auto, auto) { return absl::OkStatus(); });
    if (whole.ok()) whole = store->table().LeftKeys().status();
    Add(name, whole, whole.ok() ? absl::StrCat(store->size(), " users") : "");
  }

  void Config() {
    const absl::StatusOr<bool> has = HasStoredConfig(*state);
    if (!has.ok()) return Add(kConfigFile, has.status());
    if (*has) Add(kConfigFile, ReadStoredConfig(*state).status());
  }

  static std::string NameOf(const TablePlace& place) {
    return std::filesystem::path(place.where).filename().string();
  }
};

}  // namespace

bool FolderVerdict::whole() const {
  return std::ranges::all_of(files, [](const FileVerdict& file) { return file.status.ok(); });
}

FolderVerdict CheckModelFolder(const std::string& folder,
                               const std::shared_ptr<const CheckpointSeal>& seal,
                               const LogEngine& log) {
  auto state = log.OpenState(folder, /*draws_noise=*/false);
  if (!state.ok()) {
    const absl::Status why = absl::IsNotFound(state.status())
                                 ? DataLoss("the folder has no log of ", ToAbsl(log.name()))
                                 : state.status();
    return {.files = {{.file = std::string(log.file()), .status = why}}, .opens = why};
  }
  Check check{.folder = folder, .seal = seal, .engine = log, .state = *std::move(state)};
  check.Identify();
  check.Checkpoints();
  check.Published();
  check.Log();
  check.Arms();
  check.Users();
  check.Config();
  for (const FileVerdict& file : check.verdict.files) {
    // A checkpoint may be damaged as long as another one reaches the log.
    const bool spare = file.file.starts_with("checkpoint-") && absl::IsDataLoss(file.status);
    if (file.status.ok() || spare) continue;
    check.verdict.opens = Annotate(file.status, file.file);
    break;
  }
  return std::move(check.verdict);
}

}  // namespace bandana::server
