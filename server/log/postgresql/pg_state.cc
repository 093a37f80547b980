#include "server/log/postgresql/pg_state.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <utility>

#include "common/base/bytes.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"
#include "server/log/postgresql/pg_rows.h"
#include "server/log/postgresql/pg_secret.h"

namespace bandana::server {
namespace {

constexpr std::size_t kPageBytes = std::size_t{1} << 20;
constexpr std::size_t kContentIdBytes = 16;
constexpr int kReadsMax = 4;  // of a file that its owner replaces meanwhile

// A change holds rows that whoever takes the model over must have. One whose server stands still
// between two statements is given up before the shortest lease (2 s) runs out.
constexpr char kBegin[] = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 1000";
constexpr char kMakeState[] =
    "INSERT INTO bandana.states SELECT id, NULL, 0, 0, 0 FROM bandana.logs WHERE id = $1"
    " ON CONFLICT DO NOTHING";
constexpr char kStateOf[] = "SELECT term, version FROM bandana.states WHERE log = $1";
constexpr char kChange[] = "SELECT bandana.change_state($1, $2, $3)";
constexpr char kConfirmState[] =
    "UPDATE bandana.states SET version = version + 1 WHERE log = $1 AND term = $2 AND version = $3"
    " RETURNING version";
constexpr char kOwn[] =
    "UPDATE bandana.states SET term = $2, version = version + 1 WHERE log = $1 AND term <= $2"
    " RETURNING version";
constexpr char kNames[] = "SELECT name FROM bandana.state_files WHERE log = $1";
constexpr char kFindFile[] =
    "SELECT content, bytes, pages, digest, wrapped FROM bandana.state_files"
    " WHERE log = $1 AND name = $2";
constexpr char kPage[] =
    "SELECT page FROM bandana.state_pages WHERE log = $1 AND content = $2 AND number = $3";
constexpr char kPutPage[] =
    "INSERT INTO bandana.state_pages SELECT $1, $2, $3, $4"
    " WHERE EXISTS (SELECT FROM bandana.states WHERE log = $1 AND term = $5)"
    " ON CONFLICT (log, content, number) DO UPDATE SET page = excluded.page RETURNING number";
constexpr char kPagesOf[] =
    "SELECT count(*) FROM bandana.state_pages WHERE log = $1 AND content = $2";
// Pages of no file, but for those that are on their way.
constexpr char kSweepPages[] =
    "DELETE FROM bandana.state_pages p WHERE p.log = $1 AND p.content <> ALL($2) AND NOT EXISTS"
    " (SELECT FROM bandana.state_files f WHERE f.log = $1 AND f.content = p.content)";
constexpr char kDropPages[] = "DELETE FROM bandana.state_pages WHERE log = $1 AND content = $2";
constexpr char kPutFile[] =
    "INSERT INTO bandana.state_files VALUES ($1, $2, $3, $4, $5, $6, $7)"
    " ON CONFLICT (log, name) DO UPDATE SET content = excluded.content, bytes = excluded.bytes,"
    " pages = excluded.pages, digest = excluded.digest, wrapped = excluded.wrapped";
constexpr char kRemoveFile[] = "DELETE FROM bandana.state_files WHERE log = $1 AND name = $2";
constexpr char kRenameFile[] =
    "UPDATE bandana.state_files SET name = $3 WHERE log = $1 AND name = $2";
constexpr char kFilesChanged[] = "UPDATE bandana.states SET files = version WHERE log = $1";
constexpr char kVersions[] =
    "SELECT s.files, coalesce(a.version, 0), coalesce(u.version, 0) FROM bandana.states s"
    " LEFT JOIN bandana.state_tables a ON a.log = s.log AND a.kind = 1"
    " LEFT JOIN bandana.state_tables u ON u.log = s.log AND u.kind = 2 WHERE s.log = $1";

absl::Status Gone() { return DataLoss("PostgreSQL has no such log"); }

absl::Status NoKey() {
  return FailedPrecondition("log.postgresql.key_file: the state is sealed, and no key is given");
}

}  // namespace

absl::StatusOr<std::shared_ptr<PgState>> PgState::Open(std::shared_ptr<PgPool> pool,
                                                       std::string log,
                                                       std::shared_ptr<const AeadKey> wrapping,
                                                       bool must_be_sealed) {
  std::shared_ptr<PgState> state(
      new PgState(std::move(pool), std::move(log), std::move(wrapping), must_be_sealed));
  BANDANA_RETURN_IF_ERROR(state->Begin());
  return state;
}

absl::Status PgState::Begin() {
  const PgValues log = {PgValue::Bytes(log_)};
  BANDANA_ASSIGN_OR_RETURN(PgResult row, pool_->Run(kStateOf, log));
  if (row.rows() == 0) {
    BANDANA_RETURN_IF_ERROR(pool_->Run(kMakeState, log).status());
    BANDANA_ASSIGN_OR_RETURN(row, pool_->Run(kStateOf, log));
  }
  if (row.rows() == 0) return Gone();
  version_ = row.Int(0, 1);
  return absl::OkStatus();
}

std::int64_t PgState::term() const {
  const std::lock_guard lock(mutex_);
  return term_;
}

absl::Status PgState::Own(std::int64_t term) {
  const std::lock_guard changing(change_mutex_);
  BANDANA_ASSIGN_OR_RETURN(const PgResult owned,
                           pool_->Run(kOwn, {PgValue::Bytes(log_), PgValue::Int(term)}));
  if (owned.rows() == 0) {
    BANDANA_ASSIGN_OR_RETURN(const PgResult row, pool_->Run(kStateOf, {PgValue::Bytes(log_)}));
    if (row.rows() == 0) return Gone();
    return absl::AbortedError(absl::StrCat("the model's state belongs to term ", row.Int(0, 0),
                                           "; this server has term ", term));
  }
  version_ = owned.Int(0, 0);
  unknown_ = false;
  const std::lock_guard lock(mutex_);
  term_ = term;
  return absl::OkStatus();
}

absl::Status PgState::Change(const Body& body) {
  const std::lock_guard changing(change_mutex_);
  BANDANA_RETURN_IF_ERROR(FindOut());
  for (int tried = 0;; ++tried) {
    absl::Status done = Try(body);
    if (done.ok()) ++version_;
    if (!unknown_) {
      // A connection that was lost before the end leaves nothing behind.
      if (absl::IsUnknown(done) && tried == 0) continue;
      return WithoutUnknown(done);
    }
    BANDANA_RETURN_IF_ERROR(FindOut());
    if (took_place_) return absl::OkStatus();
    if (tried > 0) return WithoutUnknown(done);
  }
}

absl::Status PgState::Try(const Body& body) {
  BANDANA_ASSIGN_OR_RETURN(PgPool::Lent connection, pool_->Take());
  absl::Status done = connection->Exec(kBegin);
  if (done.ok()) {
    done = connection
               ->Run(kChange, {PgValue::Bytes(log_), PgValue::Int(term()), PgValue::Int(version_)})
               .status();
  }
  if (done.ok()) done = body(*connection, version_ + 1);
  if (done.ok()) {
    done = connection->Exec("COMMIT");
    // Also an error of the server is found out all the same.
    unknown_ = !done.ok();
  }
  if (done.ok()) return done;
  // Whatever it began ends with it.
  connection.Drop();
  if (absl::IsUnknown(done)) pool_->Forget();
  return SqlStateOf(done) == "BD002" ? DataLoss(done.message()) : done;
}

absl::Status PgState::FindOut() {
  if (!unknown_) return absl::OkStatus();
  const PgValue log = PgValue::Bytes(log_);
  // Takes the version that the change would have: after this it cannot take place any more, if it
  // has not yet. A repeat of this statement finds what the first one did.
  for (int tried = 0; tried < 2; ++tried) {
    absl::StatusOr<PgPool::Lent> connection = pool_->Take();
    if (!connection.ok()) return WithoutUnknown(connection.status());
    const absl::StatusOr<PgResult> confirmed =
        (*connection)->Run(kConfirmState, {log, PgValue::Int(term()), PgValue::Int(version_)});
    if (absl::IsUnknown(confirmed.status())) {
      pool_->Forget();
      return WithoutUnknown(confirmed.status());
    }
    BANDANA_RETURN_IF_ERROR(confirmed.status());
    if (confirmed->rows() == 1) {
      version_ = confirmed->Int(0, 0);
      unknown_ = took_place_ = false;
      return absl::OkStatus();
    }
    BANDANA_ASSIGN_OR_RETURN(const PgResult row, (*connection)->Run(kStateOf, {log}));
    if (row.rows() == 0) return Gone();
    if (row.Int(0, 0) != term()) {
      return absl::AbortedError("the model's state belongs to another server now");
    }
    if (row.Int(0, 1) == version_ + 1) {
      version_ = row.Int(0, 1);
      unknown_ = false;
      took_place_ = true;
      return absl::OkStatus();
    }
  }
  return DataLoss("the state has changed without its owner");
}

absl::Status PgState::Look(
    const std::function<absl::Status(PgConnection& connection)>& body) const {
  for (int tried = 0;; ++tried) {
    absl::StatusOr<PgPool::Lent> connection = pool_->Take();
    if (!connection.ok()) return WithoutUnknown(connection.status());
    absl::Status done =
        (*connection)->Exec("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const bool begun = done.ok();
    if (done.ok()) done = body(**connection);
    if (done.ok()) done = (*connection)->Exec("COMMIT");
    if (done.ok()) return done;
    connection->Drop();
    if (absl::IsUnknown(done)) pool_->Forget();
    // Rows must not be given to `body` twice.
    if (begun || tried > 0) return WithoutUnknown(done);
  }
}

absl::StatusOr<std::vector<std::string>> PgState::Files() const {
  BANDANA_ASSIGN_OR_RETURN(const PgResult rows, pool_->Run(kNames, {PgValue::Bytes(log_)}));
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(rows.rows()));
  for (int row = 0; row < rows.rows(); ++row) names.emplace_back(rows.Bytes(row, 0));
  return names;
}

absl::StatusOr<bool> PgState::Has(std::string_view name) const {
  const absl::StatusOr<Stored> file = Find(name);
  if (absl::IsNotFound(file.status())) return false;
  BANDANA_RETURN_IF_ERROR(file.status());
  return true;
}

absl::StatusOr<PgState::Stored> PgState::Find(std::string_view name) const {
  BANDANA_ASSIGN_OR_RETURN(const PgResult rows,
                           pool_->Run(kFindFile, {PgValue::Bytes(log_), PgValue::Text(name)}));
  if (rows.rows() == 0) return NotFound(Where(name), " is missing");
  return Stored{.content = std::string(rows.Bytes(0, 0)),
                .bytes = static_cast<std::uint64_t>(rows.Int(0, 1)),
                .pages = rows.Int(0, 2),
                .digest = std::string(rows.Bytes(0, 3)),
                .wrapped = std::string(rows.Bytes(0, 4))};
}

std::string PgState::PurposeOf(std::string_view what, std::string_view content,
                               std::int64_t number) const {
  std::string purpose(what);
  purpose += log_;
  purpose += content;
  ByteWriter(purpose).U64(static_cast<std::uint64_t>(number));
  return purpose;
}

constexpr std::string_view kFileKey = "bandana state key 1 ";
constexpr std::string_view kPagePurpose = "bandana state page 1 ";

absl::StatusOr<std::shared_ptr<const AeadKey>> PgState::KeyOf(std::string_view name,
                                                              const Stored& file) const {
  if (file.wrapped.empty()) {
    // The configuration of a model decides what its mode hides.
    const bool matters = must_be_sealed_ || name == kConfigFile;
    if (wrapping_ == nullptr || !matters) return std::shared_ptr<const AeadKey>();
    return FailedPrecondition(
        Where(name),
        " is not sealed, and log.postgresql.key_file is given: whoever may write the database can "
        "have written it; if it is of before there was a key, export the model without key_file, "
        "and import it with it");
  }
  if (wrapping_ == nullptr) return NoKey();
  absl::StatusOr<std::string> secret =
      OpenUnder(*wrapping_, file.wrapped, PurposeOf(kFileKey, file.content, 0));
  if (!secret.ok() || secret->size() != kAeadKeyBytes) {
    return FailedPrecondition(
        "log.postgresql.key_file: the state is sealed under another key than that of the file");
  }
  auto key = std::make_shared<const AeadKey>(AsBytes(*secret).first<kAeadKeyBytes>());
  OPENSSL_cleanse(secret->data(), secret->size());
  return key;
}

absl::StatusOr<std::string> PgState::ReadPage(const Stored& file, std::int64_t number) const {
  BANDANA_ASSIGN_OR_RETURN(const PgResult rows,
                           pool_->Run(kPage, {PgValue::Bytes(log_), PgValue::Bytes(file.content),
                                              PgValue::Int(number)}));
  if (rows.rows() == 0) return NotFound("page ", number, " is missing");
  return std::string(rows.Bytes(0, 0));
}

absl::StatusOr<std::string> PgState::OpenPage(const Stored& file, const AeadKey* key,
                                              std::int64_t number, std::string_view stored) const {
  if (key == nullptr) return std::string(stored);
  return OpenUnder(*key, stored, PurposeOf(kPagePurpose, file.content, number));
}

absl::StatusOr<std::string> PgState::ReadWhole(std::string_view name, const Stored& file) const {
  BANDANA_ASSIGN_OR_RETURN(const std::shared_ptr<const AeadKey> key, KeyOf(name, file));
  std::string bytes;
  Sha256 digest;
  for (std::int64_t number = 0; number < file.pages; ++number) {
    BANDANA_ASSIGN_OR_RETURN(const std::string stored, ReadPage(file, number));
    digest.Update(stored);
    absl::StatusOr<std::string> page = OpenPage(file, key.get(), number, stored);
    if (!page.ok()) return Annotate(page.status(), Where(name));
    bytes += *page;
  }
  if (AsChars(digest.Finish()) != file.digest || bytes.size() != file.bytes) {
    return DataLoss(Where(name), ": checksum mismatch");
  }
  return bytes;
}

absl::StatusOr<std::string> PgState::Read(std::string_view name, std::uint64_t bytes_max) const {
  absl::Status lost;
  std::string content;
  for (int tried = 0; tried < kReadsMax; ++tried) {
    BANDANA_ASSIGN_OR_RETURN(const Stored file, Find(name));
    if (file.bytes > bytes_max) {
      return absl::ResourceExhaustedError(
          absl::StrCat(Where(name), " has ", file.bytes, " bytes, more than ", bytes_max));
    }
    if (file.content == content) break;  // it was not replaced meanwhile
    content = file.content;
    absl::StatusOr<std::string> bytes = ReadWhole(name, file);
    if (!absl::IsNotFound(bytes.status())) return bytes;
    lost = DataLoss(Where(name), ": ", bytes.status().message());
  }
  return lost;
}

absl::StatusOr<ReadAt> PgState::Open(std::string_view name) const {
  struct Reader {
    Stored file;
    std::shared_ptr<const AeadKey> key;
    std::int64_t number = -1;
    std::string page;
  };
  auto reader = std::make_shared<Reader>();
  BANDANA_ASSIGN_OR_RETURN(reader->file, Find(name));
  BANDANA_ASSIGN_OR_RETURN(reader->key, KeyOf(name, reader->file));
  const std::string where = Where(name);
  return [this, reader, where](std::uint64_t offset, std::span<char> out) -> absl::Status {
    if (offset > reader->file.bytes || reader->file.bytes - offset < out.size()) {
      return DataLoss(where, " is too short");
    }
    while (!out.empty()) {
      const auto number = static_cast<std::int64_t>(offset / kPageBytes);
      if (number != reader->number) {
        const absl::StatusOr<std::string> stored = ReadPage(reader->file, number);
        if (absl::IsNotFound(stored.status())) {
          return DataLoss(where, ": ", stored.status().message());
        }
        BANDANA_RETURN_IF_ERROR(stored.status());
        reader->number = -1;
        BANDANA_ASSIGN_OR_RETURN(reader->page,
                                 OpenPage(reader->file, reader->key.get(), number, *stored));
        reader->number = number;
      }
      const std::size_t at = offset % kPageBytes;
      if (at >= reader->page.size()) return DataLoss(where, " is too short");
      const std::size_t count = std::min(out.size(), reader->page.size() - at);
      std::copy_n(reader->page.data() + at, count, out.data());
      out = out.subspan(count);
      offset += count;
    }
    return absl::OkStatus();
  };
}

// Cuts a content into pages, each of which is durable before the next one comes.
class PgState::PageWriter {
 public:
  explicit PageWriter(PgState& state) : state_(state), term_(state.term()) {}
  ~PageWriter() {
    const std::lock_guard lock(state_.mutex_);
    state_.writing_.erase(file_.content);
  }

  absl::Status Begin() {
    std::array<std::byte, kContentIdBytes> id{};
    BANDANA_RETURN_IF_ERROR(SystemBits().Fill(id));
    file_.content = AsChars(id);
    {
      const std::lock_guard lock(state_.mutex_);
      state_.writing_.insert(file_.content);
    }
    if (state_.wrapping_ == nullptr) return absl::OkStatus();
    std::array<std::byte, kAeadKeyBytes> secret{};
    BANDANA_RETURN_IF_ERROR(SystemBits().Fill(secret));
    key_.emplace(secret);
    absl::StatusOr<std::string> wrapped =
        SealUnder(*state_.wrapping_, AsChars(secret), state_.PurposeOf(kFileKey, file_.content, 0));
    OPENSSL_cleanse(secret.data(), secret.size());
    BANDANA_ASSIGN_OR_RETURN(file_.wrapped, std::move(wrapped));
    return absl::OkStatus();
  }

  absl::Status Add(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t count = std::min(bytes.size(), kPageBytes - page_.size());
      page_ += bytes.substr(0, count);
      bytes.remove_prefix(count);
      if (page_.size() == kPageBytes) BANDANA_RETURN_IF_ERROR(Pass());
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Stored> Finish() {
    if (!page_.empty()) BANDANA_RETURN_IF_ERROR(Pass());
    file_.digest = AsChars(digest_.Finish());
    return file_;
  }

 private:
  absl::Status Pass() {
    std::string stored = page_;
    if (key_) {
      BANDANA_ASSIGN_OR_RETURN(
          stored,
          SealUnder(*key_, page_, state_.PurposeOf(kPagePurpose, file_.content, file_.pages)));
    }
    digest_.Update(stored);
    BANDANA_ASSIGN_OR_RETURN(
        const PgResult put,
        state_.pool_->Run(
            kPutPage, {PgValue::Bytes(state_.log_), PgValue::Bytes(file_.content),
                       PgValue::Int(file_.pages), PgValue::Bytes(stored), PgValue::Int(term_)}));
    if (put.rows() == 0) {
      return absl::AbortedError("the model's state belongs to another server now");
    }
    file_.bytes += page_.size();
    ++file_.pages;
    page_.clear();
    return absl::OkStatus();
  }

  PgState& state_;
  const std::int64_t term_;
  Stored file_;
  std::optional<AeadKey> key_;
  Sha256 digest_;
  std::string page_;
};

absl::Status PgState::Write(std::string_view name, const ByteSource& content) {
  PageWriter pages(*this);
  BANDANA_RETURN_IF_ERROR(pages.Begin());
  BANDANA_RETURN_IF_ERROR(content([&](std::string_view bytes) { return pages.Add(bytes); }));
  BANDANA_ASSIGN_OR_RETURN(const Stored file, pages.Finish());
  const PgValue log = PgValue::Bytes(log_);
  return Change([&](PgConnection& connection, std::int64_t) -> absl::Status {
    const PgValue id = PgValue::Bytes(file.content);
    BANDANA_ASSIGN_OR_RETURN(const PgResult count, connection.Run(kPagesOf, {log, id}));
    if (count.Int(0, 0) != file.pages) return Unavailable(Where(name), ": a page was lost");
    BANDANA_ASSIGN_OR_RETURN(const PgResult former,
                             connection.Run(kFindFile, {log, PgValue::Text(name)}));
    if (former.rows() > 0) {
      BANDANA_RETURN_IF_ERROR(
          connection.Run(kDropPages, {log, PgValue::Bytes(former.Bytes(0, 0))}).status());
    }
    BANDANA_RETURN_IF_ERROR(
        connection
            .Run(kPutFile, {log, PgValue::Text(name), id, PgValue::Unsigned(file.bytes),
                            PgValue::Int(file.pages), PgValue::Bytes(file.digest),
                            PgValue::Bytes(file.wrapped)})
            .status());
    return connection.Run(kFilesChanged, {log}).status();
  });
}

absl::Status PgState::Remove(std::string_view name) {
  const PgValue log = PgValue::Bytes(log_);
  return Change([&](PgConnection& connection, std::int64_t) -> absl::Status {
    BANDANA_ASSIGN_OR_RETURN(const PgResult former,
                             connection.Run(kFindFile, {log, PgValue::Text(name)}));
    if (former.rows() > 0) {
      BANDANA_RETURN_IF_ERROR(
          connection.Run(kDropPages, {log, PgValue::Bytes(former.Bytes(0, 0))}).status());
    }
    BANDANA_RETURN_IF_ERROR(connection.Run(kRemoveFile, {log, PgValue::Text(name)}).status());
    return connection.Run(kFilesChanged, {log}).status();
  });
}

absl::Status PgState::Rename(std::string_view from, std::string_view to) {
  BANDANA_RETURN_IF_ERROR(Find(from).status());
  BANDANA_RETURN_IF_ERROR(Remove(to));
  const PgValue log = PgValue::Bytes(log_);
  return Change([&](PgConnection& connection, std::int64_t) -> absl::Status {
    BANDANA_RETURN_IF_ERROR(
        connection.Run(kRenameFile, {log, PgValue::Text(from), PgValue::Text(to)}).status());
    return connection.Run(kFilesChanged, {log}).status();
  });
}

absl::Status PgState::RemoveHalfWritten(std::string_view /*prefix*/) {
  // Pages have no names before they are complete: all of them go, whatever they would become.
  return Change([&](PgConnection& connection, std::int64_t) {
    std::vector<std::string> writing;
    {
      const std::lock_guard lock(mutex_);
      writing.assign(writing_.begin(), writing_.end());
    }
    return connection.Run(kSweepPages, {PgValue::Bytes(log_), PgValue::ManyBytes(writing)})
        .status();
  });
}

absl::Status PgState::EraseRemoved() {
  // Sealed pages are nothing without the keys of their files, which are gone with these rows. Rows
  // of users stand in clear, and one that was removed before a crash may not have been swept out.
  BANDANA_RETURN_IF_ERROR(pool_->RunLong("VACUUM FULL bandana.state_files"));
  BANDANA_RETURN_IF_ERROR(EraseRows(TableKind::kUsers));
  return pool_->RunLong(wrapping_ == nullptr ? "VACUUM FULL bandana.state_pages"
                                             : "VACUUM bandana.state_pages");
}

absl::Status PgState::EraseRows(TableKind kind) {
  return pool_->RunLong(kind == TableKind::kUsers ? "VACUUM FULL bandana.users"
                                                  : "VACUUM FULL bandana.arms");
}

std::string PgState::Where(std::string_view name) const {
  return absl::StrCat(ToAbsl(name), " in PostgreSQL");
}

TablePlace PgState::Table(TableKind kind) { return PgTableOf(*this, kind); }

absl::StatusOr<StateVersions> PgState::Versions() const {
  BANDANA_ASSIGN_OR_RETURN(const PgResult row, pool_->Run(kVersions, {PgValue::Bytes(log_)}));
  if (row.rows() == 0) return NotFound("PostgreSQL has no such model any more");
  return StateVersions{.files = row.Int(0, 0), .arms = row.Int(0, 1), .users = row.Int(0, 2)};
}

}  // namespace bandana::server
