// A lease on a log, renewed from a thread and a connection of its own. It decides who may try to
// own the log, never who may write to it: every change names the owner's term.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "server/log/postgresql/pg_connection.h"

namespace bandana::server {

class PgLease {
 public:
  PgLease(PgOptions server, std::string log, std::int64_t term, absl::Duration lease);
  // Gives the lease back where the server can be reached.
  ~PgLease();
  PgLease(const PgLease&) = delete;
  PgLease& operator=(const PgLease&) = delete;

 private:
  void Run();
  // A turn that fails is tried again at the next one.
  void Turn(const char* sql, const PgValues& values);

  const PgOptions server_;
  const std::string log_;
  const std::int64_t term_;
  const absl::Duration lease_;
  std::unique_ptr<PgConnection> connection_;  // null: lost; of the thread
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace bandana::server
