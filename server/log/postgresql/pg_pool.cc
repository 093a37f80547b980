#include "server/log/postgresql/pg_pool.h"

#include "common/base/status.h"
#include "server/log/postgresql/pg_state_tables.h"

namespace bandana::server {
namespace {

constexpr std::size_t kIdleMax = 2;
constexpr absl::Duration kLongPatience = absl::Minutes(10);

}  // namespace

absl::Status WithoutUnknown(const absl::Status& status) {
  return absl::IsUnknown(status) ? absl::UnavailableError(status.message()) : status;
}

absl::StatusOr<std::unique_ptr<PgConnection>> PgPool::Connect(const PgOptions& server) {
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<PgConnection> connection, PgConnection::Open(server));
  {
    const std::lock_guard lock(mutex_);
    if (has_tables_) return connection;
  }
  BANDANA_RETURN_IF_ERROR(EnsureStateTables(*connection));
  const std::lock_guard lock(mutex_);
  has_tables_ = true;
  return connection;
}

absl::StatusOr<PgPool::Lent> PgPool::Take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<PgConnection> connection = std::move(idle_.back());
      idle_.pop_back();
      return Lent(*this, std::move(connection));
    }
  }
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<PgConnection> connection, Connect(server_));
  return Lent(*this, std::move(connection));
}

void PgPool::TakeBack(std::unique_ptr<PgConnection> connection) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kIdleMax) idle_.push_back(std::move(connection));
}

void PgPool::Forget() {
  std::vector<std::unique_ptr<PgConnection>> idle;
  const std::lock_guard lock(mutex_);
  idle.swap(idle_);
}

absl::StatusOr<PgResult> PgPool::Run(const char* sql, const PgValues& values) {
  for (int tried = 0;; ++tried) {
    absl::StatusOr<Lent> connection = Take();
    if (!connection.ok()) return WithoutUnknown(connection.status());
    absl::StatusOr<PgResult> result = (*connection)->Run(sql, values);
    if (!absl::IsUnknown(result.status())) return result;
    Forget();
    if (tried > 0) return WithoutUnknown(result.status());
  }
}

absl::Status PgPool::RunLong(const std::string& sql) {
  PgOptions patient = server_;
  patient.patience = kLongPatience;
  const auto connection = Connect(patient);
  if (!connection.ok()) return WithoutUnknown(connection.status());
  return WithoutUnknown((*connection)->Exec(sql));
}

}  // namespace bandana::server
