#include "server/log/postgresql/pg_engine.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/strip.h"
#include "common/base/file.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"
#include "server/log/postgresql/pg_followed_log.h"
#include "server/log/postgresql/pg_log.h"
#include "server/log/postgresql/pg_pool.h"
#include "server/log/postgresql/pg_secret.h"
#include "server/log/postgresql/pg_shared.h"
#include "server/log/postgresql/pg_state.h"
#include "server/log/postgresql/pg_watch.h"

namespace bandana::server {
namespace {

constexpr std::size_t kIdBytes = 16;
// With a look at all models: who waits longer learns late that an owner is gone.
constexpr absl::Duration kWatchPatience = absl::Seconds(2);
constexpr char kHead[] = "bandana-log-postgresql 1\nlog ";

// Which log a folder has: a line of its format and one of the log's id.
std::string FormatFile(std::string_view id) { return kHead + ToHex(AsBytes(id)) + "\n"; }

absl::StatusOr<std::string> ParseFile(const std::string& path, std::string_view text) {
  absl::string_view digits = ToAbsl(text);
  const bool known = absl::ConsumePrefix(&digits, kHead) && absl::ConsumeSuffix(&digits, "\n");
  const bool hexadecimal = std::all_of(digits.begin(), digits.end(), [](char c) {
    return absl::ascii_isxdigit(static_cast<unsigned char>(c));
  });
  if (!known || !hexadecimal || digits.size() != 2 * kIdBytes) {
    return DataLoss(path, ": does not say which log it is");
  }
  return absl::HexStringToBytes(digits);
}

constexpr char kNamed[] = "SELECT log FROM bandana.states WHERE name = $1";
constexpr char kName[] = "SELECT bandana.name_state($1, $2, $3)";
constexpr char kWithdraw[] = "UPDATE bandana.states SET name = NULL WHERE log = $1";
constexpr char kModels[] =
    "SELECT s.name, s.log, (f.name IS NOT NULL)::int::bigint, s.files, coalesce(a.version, 0),"
    " coalesce(u.version, 0) FROM bandana.states s"
    " LEFT JOIN bandana.state_files f ON f.log = s.log AND f.name = $1"
    " LEFT JOIN bandana.state_tables a ON a.log = s.log AND a.kind = 1"
    " LEFT JOIN bandana.state_tables u ON u.log = s.log AND u.kind = 2"
    " WHERE s.name IS NOT NULL ORDER BY s.name";

std::string NameOf(const std::string& folder) {
  return std::filesystem::path(folder).filename().string();
}

class PgEngine final : public LogEngine {
 public:
  explicit PgEngine(PgSettings settings)
      : settings_(std::move(settings)),
        pool_(std::make_shared<PgPool>(
            PgOptions{.connection = settings_.connection, .patience = settings_.patience})) {}

  std::string_view name() const override { return "postgresql"; }
  bool apart() const override { return true; }
  std::string_view file() const override { return kPgLogFile; }
  bool Holds(const std::string& folder) const override {
    std::error_code error;
    return std::filesystem::exists(PathIn(folder), error);
  }

  absl::Status Create(const std::string& folder, const LogPosition& start) const override {
    BANDANA_RETURN_IF_ERROR(Remove(folder));
    std::array<std::byte, kIdBytes> id{};
    BANDANA_RETURN_IF_ERROR(SystemBits().Fill(id));
    const std::string bytes(AsChars(id));
    BANDANA_RETURN_IF_ERROR(CreatePgLog(OptionsOf(bytes, {}), start));
    return WriteFileDurably(PathIn(folder), FormatFile(bytes), 0600);
  }

  absl::StatusOr<std::unique_ptr<UpdateLog>> Open(const std::string& folder,
                                                  const LogUse& use) const override {
    if (use.stepped) return FailedPrecondition("a log in PostgreSQL has threads of its own");
    BANDANA_ASSIGN_OR_RETURN(const std::string id, IdIn(folder));
    return OpenPgLog(OptionsOf(id, use));
  }

  absl::Status Remove(const std::string& folder) const override {
    if (!Holds(folder)) return absl::OkStatus();
    BANDANA_ASSIGN_OR_RETURN(const std::string id, IdIn(folder));
    BANDANA_RETURN_IF_ERROR(RemovePgLog(OptionsOf(id, {})));
    std::error_code error;
    std::filesystem::remove(PathIn(folder), error);
    if (error) return Unavailable("cannot remove ", PathIn(folder), ": ", error.message());
    return absl::OkStatus();
  }

  absl::StatusOr<std::shared_ptr<StateStore>> OpenState(const std::string& folder,
                                                        bool draws_noise) const override {
    if (!Holds(folder)) return NotFound(PathIn(folder), " is missing");
    BANDANA_ASSIGN_OR_RETURN(const std::string id, IdIn(folder));
    BANDANA_ASSIGN_OR_RETURN(const std::shared_ptr<const AeadKey> key, KeyOf("state"));
    if (draws_noise && key == nullptr) {
      return FailedPrecondition(
          "log.postgresql.key_file: is required for models whose state holds raw rewards that the"
          " server releases with noise");
    }
    BANDANA_ASSIGN_OR_RETURN(std::shared_ptr<PgState> state,
                             PgState::Open(pool_, id, key, draws_noise));
    return std::shared_ptr<StateStore>(std::move(state));
  }

  absl::StatusOr<bool> Adopt(const std::string& folder) const override {
    BANDANA_ASSIGN_OR_RETURN(const PgResult row,
                             pool_->Run(kNamed, {PgValue::Text(NameOf(folder))}));
    if (row.rows() == 0) return false;
    BANDANA_RETURN_IF_ERROR(WriteFileDurably(PathIn(folder), FormatFile(row.Bytes(0, 0)), 0600));
    return true;
  }
  absl::Status Publish(const std::string& folder, bool replace) const override {
    BANDANA_ASSIGN_OR_RETURN(const std::string id, IdIn(folder));
    absl::Status named = pool_
                             ->Run(kName, {PgValue::Bytes(id), PgValue::Text(NameOf(folder)),
                                           PgValue::Int(replace ? 1 : 0)})
                             .status();
    if (SqlStateOf(named) != "23505") return named;
    return absl::AlreadyExistsError(
        absl::StrCat("PostgreSQL has a model ", NameOf(folder), " of another server"));
  }
  absl::Status Withdraw(const std::string& folder) const override {
    if (!Holds(folder)) return absl::OkStatus();
    BANDANA_ASSIGN_OR_RETURN(const std::string id, IdIn(folder));
    return pool_->Run(kWithdraw, {PgValue::Bytes(id)}).status();
  }
  absl::StatusOr<std::vector<StoredModel>> Models() const override {
    BANDANA_ASSIGN_OR_RETURN(const PgResult rows,
                             pool_->Run(kModels, {PgValue::Text(kConfigFile)}));
    std::vector<StoredModel> models;
    models.reserve(static_cast<std::size_t>(rows.rows()));
    for (int row = 0; row < rows.rows(); ++row) {
      models.push_back(
          {.name = std::string(rows.Bytes(row, 0)),
           .made_at_run_time = rows.Int(row, 2) != 0,
           .log = std::string(rows.Bytes(row, 1)),
           .versions = {
               .files = rows.Int(row, 3), .arms = rows.Int(row, 4), .users = rows.Int(row, 5)}});
    }
    return models;
  }
  std::unique_ptr<StoreWatch> Watch(const std::string& address) const override {
    return MakePgWatch({.connection = settings_.connection, .patience = kWatchPatience},
                       settings_.key_file, settings_.holder, address);
  }
  absl::StatusOr<std::unique_ptr<FollowedLog>> Follow(const std::string& folder,
                                                      const LogUse& use) const override {
    BANDANA_ASSIGN_OR_RETURN(const std::string id, IdIn(folder));
    return FollowPgLog(OptionsOf(id, use));
  }
  absl::Status Reach() const override {
    return WithoutUnknown(
        PgConnection::Open({.connection = settings_.connection, .patience = settings_.patience})
            .status());
  }
  absl::StatusOr<std::shared_ptr<SharedFiles>> Shared() const override {
    BANDANA_ASSIGN_OR_RETURN(std::shared_ptr<const AeadKey> key, KeyOf("shared"));
    return MakePgShared(pool_, std::move(key));
  }

 private:
  // The key that seals a kind of content; null without a key file.
  absl::StatusOr<std::shared_ptr<const AeadKey>> KeyOf(std::string_view what) const {
    if (settings_.key_file.empty()) return std::shared_ptr<const AeadKey>();
    BANDANA_ASSIGN_OR_RETURN(
        AeadKey key,
        DeriveFromKeyFile(settings_.key_file, absl::StrCat("bandana ", ToAbsl(what), " seal 1")));
    return std::make_shared<const AeadKey>(std::move(key));
  }
  static std::string PathIn(const std::string& folder) {
    return folder + "/" + std::string(kPgLogFile);
  }
  static absl::StatusOr<std::string> IdIn(const std::string& folder) {
    const std::string path = PathIn(folder);
    const absl::StatusOr<std::string> text = ReadFile(path, 4096);
    if (absl::IsNotFound(text.status())) return DataLoss(path, " is missing");
    if (!text.ok()) return text.status();
    return ParseFile(path, *text);
  }
  PgLogOptions OptionsOf(const std::string& id, const LogUse& use) const {
    return {.server = {.connection = settings_.connection, .patience = settings_.patience},
            .id = id,
            .holder = settings_.holder,
            .lease = settings_.lease,
            .key_file = settings_.key_file,
            .must_seal = use.erase_trimmed};
  }

  const PgSettings settings_;
  const std::shared_ptr<PgPool> pool_;
};

}  // namespace

std::shared_ptr<const LogEngine> MakePgEngine(PgSettings settings) {
  return std::make_shared<const PgEngine>(std::move(settings));
}

}  // namespace bandana::server
