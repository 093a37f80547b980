#include "server/log/postgresql/pg_lease.h"

#include <utility>

namespace bandana::server {
namespace {

constexpr char kRenew[] =
    "UPDATE bandana.logs SET lease_until = clock_timestamp() + $3 * interval '1 millisecond'"
    " WHERE id = $1 AND term = $2";
constexpr char kRelease[] =
    "UPDATE bandana.logs SET lease_until = '-infinity' WHERE id = $1 AND term = $2";

}  // namespace

PgLease::PgLease(PgOptions server, std::string log, std::int64_t term, absl::Duration lease)
    : server_(std::move(server)), log_(std::move(log)), term_(term), lease_(lease) {
  thread_ = std::thread([this] { Run(); });
}

PgLease::~PgLease() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void PgLease::Run() {
  const PgValue log = PgValue::Bytes(log_);
  const PgValue term = PgValue::Int(term_);
  std::unique_lock lock(mutex_);
  while (
      !changed_.wait_for(lock, absl::ToChronoMilliseconds(lease_ / 3), [this] { return stop_; })) {
    lock.unlock();
    Turn(kRenew, {log, term, PgValue::Int(absl::ToInt64Milliseconds(lease_))});
    lock.lock();
  }
  lock.unlock();
  Turn(kRelease, {log, term});
}

void PgLease::Turn(const char* sql, const PgValues& values) {
  if (connection_ == nullptr) {
    auto opened = PgConnection::Open(server_);
    if (!opened.ok()) return;
    connection_ = *std::move(opened);
  }
  if (!connection_->Run(sql, values).ok()) connection_.reset();
}

}  // namespace bandana::server
