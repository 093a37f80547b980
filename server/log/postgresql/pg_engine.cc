#include "server/log/postgresql/pg_engine.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/strip.h"
#include "common/base/aead.h"
#include "common/base/file.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"
#include "server/log/postgresql/pg_log.h"
#include "server/log/postgresql/pg_pool.h"
#include "server/log/postgresql/pg_reader.h"
#include "server/log/postgresql/pg_secret.h"
#include "server/log/postgresql/pg_state.h"
#include "server/log/postgresql/pg_watch.h"
#include "server/log/state/state_store.h"
#include "server/log/store_watch.h"

namespace bandana::server {
namespace {

constexpr char kReadShared[] =
    "SELECT version, sealed, content FROM bandana.shared_files WHERE name = $1";
constexpr char kVersionOfShared[] = "SELECT version FROM bandana.shared_files WHERE name = $1";
constexpr char kMakeShared[] =
    "INSERT INTO bandana.shared_files VALUES ($1, 1, $2, $3) ON CONFLICT DO NOTHING"
    " RETURNING version";
constexpr char kReplaceShared[] =
    "UPDATE bandana.shared_files SET version = version + 1, sealed = $2, content = $3"
    " WHERE name = $1 AND version = $4 RETURNING version";

class PgShared final : public SharedFiles {
 public:
  PgShared(std::shared_ptr<PgPool> pool, std::shared_ptr<const AeadKey> wrapping)
      : pool_(std::move(pool)), wrapping_(std::move(wrapping)) {}

  absl::StatusOr<File> Read(std::string_view name) const override {
    BANDANA_ASSIGN_OR_RETURN(const PgResult row, pool_->Run(kReadShared, {PgValue::Text(name)}));
    if (row.rows() == 0) return NotFound(ToAbsl(name), " is not in PostgreSQL");
    File file{.content = std::string(row.Bytes(0, 2)), .version = row.Int(0, 0)};
    if (row.Int(0, 1) == 0) return file;
    if (wrapping_ == nullptr) {
      return FailedPrecondition("log.postgresql.key_file: ", ToAbsl(name),
                                " are sealed, and no key is given");
    }
    absl::StatusOr<std::string> content = OpenUnder(*wrapping_, file.content, PurposeOf(name));
    if (absl::IsDataLoss(content.status())) {
      return FailedPrecondition("log.postgresql.key_file: ", ToAbsl(name),
                                " are sealed under another key, or damaged");
    }
    BANDANA_ASSIGN_OR_RETURN(file.content, std::move(content));
    file.sealed = true;
    return file;
  }

  absl::StatusOr<std::int64_t> Version(std::string_view name) const override {
    BANDANA_ASSIGN_OR_RETURN(const PgResult row,
                             pool_->Run(kVersionOfShared, {PgValue::Text(name)}));
    return row.rows() == 0 ? 0 : row.Int(0, 0);
  }

  bool keeps_secrets() const override { return wrapping_ != nullptr; }

  absl::StatusOr<std::int64_t> Replace(std::string_view name, std::int64_t version,
                                       std::string_view content, bool secret) override {
    std::string stored(content);
    if (secret && wrapping_ == nullptr) {
      return FailedPrecondition("log.postgresql.key_file: is required: the database must not hold ",
                                ToAbsl(name), " in clear");
    }
    if (secret) {
      BANDANA_ASSIGN_OR_RETURN(stored, SealUnder(*wrapping_, content, PurposeOf(name)));
    }
    PgValues values = {PgValue::Text(name), PgValue::Int(secret ? 1 : 0), PgValue::Bytes(stored)};
    if (version != 0) values.push_back(PgValue::Int(version));
    // Not tried again: a second try would find what the first one did.
    absl::StatusOr<PgPool::Lent> connection = pool_->Take();
    if (!connection.ok()) return WithoutUnknown(connection.status());
    const absl::StatusOr<PgResult> row =
        (*connection)->Run(version == 0 ? kMakeShared : kReplaceShared, values);
    if (absl::IsUnknown(row.status())) pool_->Forget();
    if (!row.ok()) return WithoutUnknown(row.status());
    if (row->rows() == 1) return row->Int(0, 0);
    return absl::AbortedError(absl::StrCat(ToAbsl(name), " were changed by another server"));
  }

 private:
  static std::string PurposeOf(std::string_view name) {
    return absl::StrCat("bandana shared file 1 ", ToAbsl(name));
  }

  const std::shared_ptr<PgPool> pool_;
  const std::shared_ptr<const AeadKey> wrapping_;
};

// `wrapping`: seals what is secret; null: such files are refused.
std::shared_ptr<SharedFiles> MakePgShared(std::shared_ptr<PgPool> pool,
                                          std::shared_ptr<const AeadKey> wrapping) {
  return std::make_shared<PgShared>(std::move(pool), std::move(wrapping));
}

// A log in PostgreSQL that another server owns.
class PgFollowedLog final : public FollowedLog {
 public:
  PgFollowedLog(const PgLogOptions& options, std::unique_ptr<PgSeal> seal)
      : seal_(std::move(seal)),
        reader_(options.server, options.id, seal_.get(), options.must_seal) {}

  absl::Status Read(const LogPosition& after, int entries_max,
                    std::vector<LogEntry>& out) const override {
    return reader_.Read(after.sequence, &after, last(), entries_max, out);
  }
  absl::Status ReadLeft(std::uint64_t sequence, int entries_max,
                        std::vector<LogEntry>& out) const override {
    return reader_.Read(sequence, nullptr, last(), entries_max, out);
  }
  LogPosition last() const override {
    const std::lock_guard lock(mutex_);
    return last_;
  }
  std::uint64_t trimmed() const override {
    const std::lock_guard lock(mutex_);
    return trimmed_;
  }
  void Advance(const LogPosition& last, std::uint64_t trimmed) override {
    const std::lock_guard lock(mutex_);
    last_ = last;
    trimmed_ = trimmed;
  }

 private:
  const std::unique_ptr<PgSeal> seal_;  // null: records are plain
  const PgReader reader_;
  mutable std::mutex mutex_;
  LogPosition last_;
  std::uint64_t trimmed_ = 0;
};

// Takes no lease and changes nothing. Errors: FAILED_PRECONDITION no key file for a log that must
// be sealed; those of the key file.
absl::StatusOr<std::unique_ptr<FollowedLog>> FollowPgLog(const PgLogOptions& options) {
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<PgSeal> seal, SealOf(options));
  return std::make_unique<PgFollowedLog>(options, std::move(seal));
}

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
  std::string holder() const override { return settings_.holder; }
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
