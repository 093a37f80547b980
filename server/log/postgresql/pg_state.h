// The state of one model in PostgreSQL. Tables: docs/formats/log.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/aead.h"
#include "server/log/postgresql/pg_pool.h"
#include "server/log/state/state_store.h"

namespace bandana::server {

// Threads: safe.
class PgState final : public StateStore {
 public:
  // The state beside the log with this id. `wrapping`: null: content is not sealed.
  // `must_be_sealed`: with a key, no file is believed that somebody without it could have written.
  // Errors: DATA_LOSS there is no such log; UNAVAILABLE.
  static absl::StatusOr<std::shared_ptr<PgState>> Open(std::shared_ptr<PgPool> pool,
                                                       std::string log,
                                                       std::shared_ptr<const AeadKey> wrapping,
                                                       bool must_be_sealed);

  absl::StatusOr<std::vector<std::string>> Files() const override;
  absl::StatusOr<bool> Has(std::string_view name) const override;
  absl::StatusOr<std::string> Read(std::string_view name, std::uint64_t bytes_max) const override;
  absl::StatusOr<ReadAt> Open(std::string_view name) const override;
  using StateStore::Write;
  absl::Status Write(std::string_view name, const ByteSource& content) override;
  absl::Status Remove(std::string_view name) override;
  absl::Status Rename(std::string_view from, std::string_view to) override;
  absl::Status RemoveHalfWritten(std::string_view prefix) override;
  absl::Status EraseRemoved() override;
  std::string Where(std::string_view name) const override;
  TablePlace Table(TableKind kind) override;
  absl::StatusOr<StateVersions> Versions() const override;
  absl::Status Own(std::int64_t term) override;

  // For the tables of rows.

  // One transaction: `body` runs its statements, with the version that the state has after it. It
  // may be called more than once. Errors: as StateStore::Write, and those of `body`.
  using Body = std::function<absl::Status(PgConnection& connection, std::int64_t version)>;
  absl::Status Change(const Body& body);
  // Statements that see one state of the database.
  absl::Status Look(const std::function<absl::Status(PgConnection& connection)>& body) const;
  // Nothing is left of the bytes of removed rows.
  absl::Status EraseRows(TableKind kind);
  const std::string& log() const { return log_; }

 private:
  // A row of bandana.state_files.
  struct Stored {
    std::string content;  // its id
    std::uint64_t bytes = 0;
    std::int64_t pages = 0;
    std::string digest;   // of the pages as they are stored
    std::string wrapped;  // "": they are not sealed
  };
  class PageWriter;

  PgState(std::shared_ptr<PgPool> pool, std::string log, std::shared_ptr<const AeadKey> wrapping,
          bool must_be_sealed)
      : pool_(std::move(pool)),
        log_(std::move(log)),
        wrapping_(std::move(wrapping)),
        must_be_sealed_(must_be_sealed) {}

  absl::Status Begin();
  // Finds the outcome of the change before, where that is not known yet. Errors: UNAVAILABLE it
  // cannot be told; ABORTED.
  absl::Status FindOut();
  absl::Status Try(const Body& body);

  absl::StatusOr<Stored> Find(std::string_view name) const;
  // Null: its pages are not sealed. Errors: FAILED_PRECONDITION they must be, or are under another
  // key.
  absl::StatusOr<std::shared_ptr<const AeadKey>> KeyOf(std::string_view name,
                                                       const Stored& file) const;
  // As it is stored. Errors: NOT_FOUND.
  absl::StatusOr<std::string> ReadPage(const Stored& file, std::int64_t number) const;
  absl::StatusOr<std::string> OpenPage(const Stored& file, const AeadKey* key, std::int64_t number,
                                       std::string_view stored) const;
  absl::StatusOr<std::string> ReadWhole(std::string_view name, const Stored& file) const;
  std::string PurposeOf(std::string_view what, std::string_view content, std::int64_t number) const;
  std::int64_t term() const;

  const std::shared_ptr<PgPool> pool_;
  const std::string log_;
  const std::shared_ptr<const AeadKey> wrapping_;
  const bool must_be_sealed_;

  std::mutex change_mutex_;  // held by a change
  // A change may have taken place: that is found out before the next one.
  bool unknown_ = false;
  bool took_place_ = false;  // what FindOut found
  std::int64_t version_ = 0;

  mutable std::mutex mutex_;  // for what follows
  std::int64_t term_ = 0;
  std::set<std::string> writing_;  // ids of contents that are on their way
};

}  // namespace bandana::server
