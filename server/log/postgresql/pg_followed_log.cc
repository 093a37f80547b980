#include "server/log/postgresql/pg_followed_log.h"

#include <mutex>
#include <utility>
#include <vector>

#include "server/log/postgresql/pg_reader.h"

namespace bandana::server {
namespace {

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

}  // namespace

absl::StatusOr<std::unique_ptr<FollowedLog>> FollowPgLog(const PgLogOptions& options) {
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<PgSeal> seal, SealOf(options));
  return std::make_unique<PgFollowedLog>(options, std::move(seal));
}

}  // namespace bandana::server
