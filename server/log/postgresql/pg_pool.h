// Connections that the states of all models share: each is for one user at a time.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/log/postgresql/pg_connection.h"

namespace bandana::server {

// Threads: safe. Must outlive what it lends.
class PgPool {
 public:
  explicit PgPool(PgOptions server) : server_(std::move(server)) {}
  PgPool(const PgPool&) = delete;
  PgPool& operator=(const PgPool&) = delete;

  // Goes back to the pool when it is destroyed, unless it is lost or was dropped.
  class Lent {
   public:
    Lent(PgPool& pool, std::unique_ptr<PgConnection> connection)
        : pool_(&pool), connection_(std::move(connection)) {}
    Lent(Lent&&) = default;
    Lent& operator=(Lent&&) = delete;
    ~Lent() {
      if (connection_ != nullptr && !connection_->lost()) pool_->TakeBack(std::move(connection_));
    }
    PgConnection* operator->() { return connection_.get(); }
    PgConnection& operator*() { return *connection_; }
    // Closes the connection.
    void Drop() { connection_.reset(); }

   private:
    PgPool* pool_;
    std::unique_ptr<PgConnection> connection_;
  };

  // To a database with the tables of states. A connection that was idle may have been lost
  // meanwhile: then its first statement fails, and Forget makes all others new. Errors: as
  // PgConnection::Open, and EnsureStateTables.
  absl::StatusOr<Lent> Take();
  void Forget();

  // A statement that changes nothing, or that may be run again: it is tried twice. Errors: as
  // PgConnection::Run, with UNAVAILABLE for UNKNOWN.
  absl::StatusOr<PgResult> Run(const char* sql, const PgValues& values);
  // A statement outside of transactions that may take minutes. Errors: the same.
  absl::Status RunLong(const std::string& sql);

 private:
  absl::StatusOr<std::unique_ptr<PgConnection>> Connect(const PgOptions& server);
  void TakeBack(std::unique_ptr<PgConnection> connection);

  const PgOptions server_;
  std::mutex mutex_;
  bool has_tables_ = false;
  std::vector<std::unique_ptr<PgConnection>> idle_;
};

// UNAVAILABLE for UNKNOWN, for who need not find out.
absl::Status WithoutUnknown(const absl::Status& status);

}  // namespace bandana::server
