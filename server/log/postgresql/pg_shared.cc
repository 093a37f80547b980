#include "server/log/postgresql/pg_shared.h"

#include <string>
#include <utility>

#include "common/base/status.h"
#include "server/log/postgresql/pg_secret.h"

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

}  // namespace

std::shared_ptr<SharedFiles> MakePgShared(std::shared_ptr<PgPool> pool,
                                          std::shared_ptr<const AeadKey> wrapping) {
  return std::make_shared<PgShared>(std::move(pool), std::move(wrapping));
}

}  // namespace bandana::server
